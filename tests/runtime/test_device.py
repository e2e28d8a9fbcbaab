import pickle

import pytest
import tvm_ffi

from workbench import runtime
from workbench.runtime.device import DeviceError


def test_forms() -> None:
    assert runtime.cpu() == runtime.device("cpu") == runtime.device("cpu:0") == runtime.device(1)
    assert runtime.cuda(1) == runtime.device("cuda:1") == runtime.device("cuda", 1)
    assert runtime.device("llvm") == runtime.cpu()
    assert str(runtime.cuda(1)) == "cuda:1"
    assert repr(runtime.cpu()) == "device(type='cpu', index=0)"
    assert runtime.cpu() != runtime.cpu(1)
    assert len({runtime.cpu(), runtime.cpu()}) == 1
    assert pickle.loads(pickle.dumps(runtime.rocm(2))) == runtime.rocm(2)


def test_numbers_are_those_of_dlpack() -> None:
    for name in ("cpu", "cuda", "opencl", "vulkan", "metal", "rocm", "ext_dev"):
        assert runtime.device(name).device_type == tvm_ffi.device(name).dlpack_device_type()


def test_existence() -> None:
    assert runtime.cpu().exist
    assert not runtime.cuda().exist
    assert runtime.enabled("llvm -mcpu=znver4")
    assert not runtime.enabled("cuda")
    runtime.cpu().sync()
    with pytest.raises(DeviceError):
        runtime.cuda().sync()


@pytest.mark.parametrize("bad", ["cpuu", "cpu:x", "cpu:-1", 99])
def test_errors(bad: object) -> None:
    with pytest.raises(DeviceError):
        runtime.device(bad)  # type: ignore[arg-type]
