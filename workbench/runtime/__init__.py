"""Runtime: everything needed to run compiled code, and nothing of the compiler.

Importing it loads NumPy only; tvm-ffi, which carries values across the call boundary, comes in with
the first compiled call.
"""

from workbench.core.node import Node as Object
from workbench.runtime.benchmark import BenchmarkResult
from workbench.runtime.device import (
    Device,
    cpu,
    cuda,
    device,
    enabled,
    ext_dev,
    metal,
    opencl,
    rocm,
    vulkan,
)
from workbench.runtime.dtype import DataType, DataTypeCode
from workbench.runtime.executable import Executable, Stage
from workbench.runtime.function import (
    PackedFunc,
    convert,
    get_global_func,
    register_global_func,
    remove_global_func,
)
from workbench.runtime.module import Module, load_module, system_lib
from workbench.runtime.params import (
    load_param_dict,
    load_param_dict_from_file,
    save_param_dict,
    save_param_dict_to_file,
)
from workbench.runtime.tensor import Tensor, empty, from_dlpack, tensor
from workbench.runtime.threads import num_threads, set_num_threads

#: Shapes are tuples of integers.
ShapeTuple = tuple

__all__ = [
    "BenchmarkResult",
    "DataType",
    "DataTypeCode",
    "Device",
    "Executable",
    "Module",
    "Object",
    "PackedFunc",
    "ShapeTuple",
    "Stage",
    "Tensor",
    "convert",
    "cpu",
    "cuda",
    "device",
    "empty",
    "enabled",
    "ext_dev",
    "from_dlpack",
    "get_global_func",
    "load_module",
    "load_param_dict",
    "load_param_dict_from_file",
    "metal",
    "num_threads",
    "opencl",
    "register_global_func",
    "remove_global_func",
    "rocm",
    "save_param_dict",
    "save_param_dict_to_file",
    "set_num_threads",
    "system_lib",
    "tensor",
    "vulkan",
]
