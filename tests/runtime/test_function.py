import ml_dtypes
import numpy as np
import pytest

from workbench import runtime
from workbench.core.errors import RegistryError
from workbench.runtime.function import FunctionNotFoundError, convert_func


def test_tensors_numbers_and_text_cross_the_boundary() -> None:
    seen = []

    def keep(*args: object) -> object:
        seen.extend(args)
        return args[0]

    f = convert_func(keep)
    x = runtime.tensor(np.arange(3, dtype="float32"))
    back = f(x, 3, 2.5, "text", None, True, np.float32(1.5))
    assert isinstance(back, runtime.Tensor)
    assert back.data_ptr() == x.data_ptr()
    assert isinstance(seen[0], runtime.Tensor)
    assert seen[1:] == [3, 2.5, "text", None, True, 1.5]


def test_arrays_numpy_does_not_export() -> None:
    f = convert_func(lambda a: (a.dtype, a.shape))
    fixed = np.zeros((2, 2))
    fixed.flags.writeable = False
    assert f(fixed) == ("float64", (2, 2))
    assert f(np.zeros(4, ml_dtypes.bfloat16)) == ("bfloat16", (4,))


def test_errors_keep_kind_and_message() -> None:
    def fail() -> None:
        raise ValueError("this is why")

    with pytest.raises(ValueError, match="this is why"):
        convert_func(fail)()


def test_global_functions() -> None:
    name = "workbench.tests.runtime.twice"
    try:

        @runtime.register_global_func(name)
        def twice(a: runtime.Tensor) -> runtime.Tensor:
            return runtime.tensor(a.numpy() * 2)

        found = runtime.get_global_func(name)
        assert found is not None
        assert (found(np.ones(2)).numpy() == 2).all()
        with pytest.raises(RegistryError, match=name):
            runtime.register_global_func(name, twice)
        runtime.register_global_func(name, lambda a: a, override=True)
    finally:
        runtime.remove_global_func(name)
    assert runtime.get_global_func(name, allow_missing=True) is None
    with pytest.raises(FunctionNotFoundError, match=name):
        runtime.get_global_func(name)
