import pickle

import numpy as np
import pytest

from workbench.runtime import DataType, DataTypeCode
from workbench.runtime.dtype import DataTypeError


@pytest.mark.parametrize(
    ("name", "code", "bits", "lanes", "itemsize"),
    [
        ("float32", DataTypeCode.FLOAT, 32, 1, 4),
        ("float32x4", DataTypeCode.FLOAT, 32, 4, 16),
        ("int8x16", DataTypeCode.INT, 8, 16, 16),
        ("uint1", DataTypeCode.UINT, 1, 1, 1),
        ("int4x8", DataTypeCode.INT, 4, 8, 4),
        ("bool", DataTypeCode.BOOL, 8, 1, 1),
        ("boolx2", DataTypeCode.BOOL, 8, 2, 2),
        ("bfloat16", DataTypeCode.BFLOAT, 16, 1, 2),
        ("float8_e4m3fn", DataTypeCode.Float8E4M3FN, 8, 1, 1),
        ("float8_e5m2x4", DataTypeCode.Float8E5M2, 8, 4, 4),
        ("handle", DataTypeCode.HANDLE, 64, 1, 8),
        ("void", DataTypeCode.HANDLE, 0, 1, 0),
        ("complex64", DataTypeCode.COMPLEX, 64, 1, 8),
    ],
)
def test_parts(name: str, code: int, bits: int, lanes: int, itemsize: int) -> None:
    dtype = DataType(name)
    assert (dtype.type_code, dtype.bits, dtype.lanes, dtype.itemsize) == (
        code,
        bits,
        lanes,
        itemsize,
    )
    assert dtype == name
    assert hash(dtype) == hash(name)
    assert {name: 1}[dtype] == 1


def test_interned_and_pickled() -> None:
    assert DataType("float32x4") is DataType("float32x4")
    assert DataType("float32x1") is DataType("float32")
    assert pickle.loads(pickle.dumps(DataType("int8x4"))) is DataType("int8x4")


def test_from_python_and_numpy() -> None:
    assert DataType(np.float32) == "float32"
    assert DataType(np.dtype("int64")) == "int64"
    assert DataType(bool) == "bool"
    assert DataType(DataType("bfloat16").numpy()) == "bfloat16"


def test_lanes_of_named_types() -> None:
    assert DataType("float8_e4m3fn").with_lanes(4) == "float8_e4m3fnx4"
    assert DataType("float8_e4m3fnx4").base == "float8_e4m3fn"
    assert DataType("boolx8").base == "bool"


@pytest.mark.parametrize(
    "name", ["bool", "int4", "int8", "uint64", "float16", "bfloat16", "float8_e5m2", "float64"]
)
def test_numpy_round_trip(name: str) -> None:
    assert DataType(DataType(name).numpy().name) == name


@pytest.mark.parametrize("name", ["flot32", "int33", "float32x0", "float32x", "", "x4", "float"])
def test_unknown_names(name: str) -> None:
    with pytest.raises(DataTypeError):
        DataType(name)


def test_unknown_name_suggests() -> None:
    with pytest.raises(DataTypeError, match="float32"):
        DataType("flot32")
    with pytest.raises(DataTypeError, match="NumPy"):
        DataType("handle").numpy()
