import pickle

import ml_dtypes
import numpy as np
import pytest
import tvm_ffi

from workbench import runtime
from workbench.runtime.tensor import ALIGNMENT, TensorError


def test_copy_in_and_out() -> None:
    source = np.arange(6, dtype="float32").reshape(2, 3)
    t = runtime.tensor(source)
    source[0, 0] = 9
    out = t.numpy()
    assert out[0, 0] == 0
    assert t.shape == (2, 3)
    assert t.dtype == "float32"
    assert t.ndim == 2
    out[0, 0] = 7
    assert t.numpy()[0, 0] == 0


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 5), (17, 1, 2)])
@pytest.mark.parametrize("dtype", ["bool", "int8", "bfloat16", "float64", "float8_e4m3fn"])
def test_empty_is_aligned(shape: tuple[int, ...], dtype: str) -> None:
    t = runtime.empty(shape, dtype)
    assert t.size == 0 or t.data_ptr() % ALIGNMENT == 0
    assert t.numpy().shape == shape
    assert t.dtype == dtype
    assert t.is_contiguous()


def test_shares_memory_with_numpy_both_ways() -> None:
    source = np.arange(4, dtype="int32")
    t = runtime.from_dlpack(source)
    source[0] = 5
    assert t.numpy()[0] == 5
    np.from_dlpack(t)[1] = 6
    assert source[1] == 6


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint16", "float16", "float32", "bfloat16", "float8_e5m2"]
)
def test_through_tvm_ffi_and_back(dtype: str) -> None:
    t = runtime.tensor(np.array([[0, 1], [1, 0]]).astype(runtime.DataType(dtype).numpy()))
    over = tvm_ffi.from_dlpack(t)
    assert over.data_ptr() == t.data_ptr()
    assert str(over.dtype) == dtype
    back = runtime.from_dlpack(over)
    assert back.dtype == dtype
    assert back.shape == (2, 2)
    assert (back.numpy() == t.numpy()).all()
    del t, over
    assert back.numpy()[0, 1] == 1


def test_read_only_and_strided_sources() -> None:
    fixed = np.arange(4.0)
    fixed.flags.writeable = False
    assert tvm_ffi.from_dlpack(runtime.from_dlpack(fixed)).shape == (4,)
    columns = runtime.from_dlpack(np.arange(12.0).reshape(3, 4)[:, ::2])
    assert columns.strides == (4, 2)
    assert not columns.is_contiguous()
    assert tuple(tvm_ffi.from_dlpack(columns).strides) == (4, 2)
    capsule_only = runtime.tensor(np.ones((2, 3), ml_dtypes.bfloat16))
    for _ in range(100):
        capsule_only.__dlpack__()
    from workbench.runtime import dlpack

    assert len(dlpack._LIVE) < 50


def test_strided_ffi_tensor_is_seen_right() -> None:
    base = np.arange(12.0).reshape(3, 4)
    over = tvm_ffi.from_dlpack(base[:, ::2])
    assert (runtime.from_dlpack(over).numpy() == base[:, ::2]).all()


def test_memory_that_cannot_be_shared_is_refused() -> None:
    packed = np.zeros(3, dtype=[("tag", "u1"), ("value", "f4")])["value"]
    with pytest.raises(TensorError, match="multiples of 4 bytes"):
        runtime.from_dlpack(packed)
    swapped = np.arange(3, dtype=">f4")
    with pytest.raises(TensorError, match="byte order of this machine, got '>f4'"):
        runtime.from_dlpack(swapped)
    assert runtime.tensor(swapped).numpy().tolist() == [0, 1, 2]  # a copy is in our order
    assert runtime.tensor(packed).numpy().tolist() == [0, 0, 0]
    for value in ({"a": 1}, "text", [[1], [1, 2]], np.zeros(2, "datetime64[s]")):
        with pytest.raises(TensorError, match="expected"):
            runtime.tensor(value)


def test_copyfrom_and_copyto() -> None:
    t = runtime.empty((2, 2), "float32").copyfrom([[1, 2], [3, 4]])
    u = runtime.empty((2, 2), "float32")
    assert t.copyto(u) is u
    assert (u.numpy() == t.numpy()).all()
    assert t.copyto(runtime.cpu()).numpy()[1, 1] == 4
    with pytest.raises(TensorError, match=r"expected an array of shape \(2, 2\), got \(3,\)"):
        t.copyfrom(np.zeros(3))
    with pytest.raises(TensorError, match="dtype float32, got float64"):
        t.copyto(runtime.empty((2, 2), "float64"))


def test_view() -> None:
    t = runtime.tensor(np.arange(8, dtype="float32"))
    part = t._create_view((2, 2), "float32", 8)
    part[0, 0] = 99
    assert t.numpy()[2] == 99
    with pytest.raises(TensorError, match="does not fit"):
        t._create_view((8,), "float32", 4)


def test_errors() -> None:
    with pytest.raises(TensorError, match="only the CPU"):
        runtime.empty((2,), "float32", runtime.cuda())
    with pytest.raises(TensorError, match="not negative"):
        runtime.empty((-1,))
    with pytest.raises(TensorError, match="__dlpack__"):
        runtime.from_dlpack("text")
    with pytest.raises(TypeError, match=r"use runtime\.tensor"):
        runtime.Tensor()


def test_pickle_and_text() -> None:
    t = runtime.tensor(np.ones((2,), ml_dtypes.bfloat16))
    again = pickle.loads(pickle.dumps(t))
    assert again.dtype == "bfloat16"
    assert (again.numpy() == t.numpy()).all()
    assert "shape=(2,), dtype=bfloat16, cpu:0" in repr(t)
    assert float(runtime.tensor(np.float32(2.5))) == 2.5


def test_array_protocol_shares() -> None:
    t = runtime.tensor(np.arange(3.0))
    np.asarray(t)[0] = 4
    assert t.numpy()[0] == 4
