from pathlib import Path

import numpy as np
import pytest

from workbench import runtime
from workbench.runtime.params import ParamsError

TYPES = ["bool", "int8", "uint16", "int64", "float16", "bfloat16", "float8_e4m3fn", "float64"]


def test_round_trip(tmp_path: Path) -> None:
    params = {
        f"p.{name}": np.array([[1, 0, 1]]).astype(runtime.DataType(name).numpy()) for name in TYPES
    }
    params["scalar"] = np.float32(3).reshape(())
    runtime.save_param_dict_to_file(params, tmp_path / "p.bin")
    back = runtime.load_param_dict_from_file(tmp_path / "p.bin")
    assert list(back) == list(params)
    for name, value in params.items():
        assert back[name].dtype == value.dtype.name
        assert (back[name].numpy() == value).all()


def test_known_bytes() -> None:
    data = runtime.save_param_dict({"w": np.array([1.0], "float32")})
    assert data.hex() == (
        "b79c04054f8de5f70000000000000000010000000000000001000000000000007701000000000000003fa1b496"
        "f0405edd000000000000000001000000000000000100000002200100010000000000000004000000000000000000"
        "803f"
    )


def test_damaged() -> None:
    data = runtime.save_param_dict({"w": np.ones(8)})
    with pytest.raises(ParamsError, match="expected a parameter file"):
        runtime.load_param_dict(b"x" * 64)
    for length in (4, 30, 50, len(data) - 1):
        with pytest.raises(ParamsError):
            runtime.load_param_dict(data[:length])
