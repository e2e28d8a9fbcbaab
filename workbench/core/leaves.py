"""Leaf values in node fields: how they compare, hash and are written as JSON.

Python's own scalars need no declaration. Other value types (data types, arrays) register here.
"""

from __future__ import annotations

import base64
import enum
import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class LeafType:
    """A registered leaf type: `key` is hashable and stable across processes."""

    name: str
    key: Callable[[Any], Any]
    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


_by_type: dict[type, LeafType] = {}
_by_name: dict[str, LeafType] = {}


def register_leaf(
    cls: type,
    name: str,
    *,
    key: Callable[[Any], Any],
    encode: Callable[[Any], Any],
    decode: Callable[[Any], Any],
) -> None:
    """Declares a value type that node fields may hold.

    `key(value)` is what equality and hash see; `encode`/`decode` convert to and from JSON values.
    """
    assert name not in _by_name, f"leaf type {name} is declared twice"
    _by_type[cls] = _by_name[name] = LeafType(name, key, encode, decode)


def find_leaf(cls: type) -> LeafType | None:
    """The declaration of a leaf type, or None."""
    found = _by_type.get(cls)
    if found is None:
        for base in cls.__mro__[1:]:
            if base in _by_type:
                found = _by_type[cls] = _by_type[base]
                break
    return found


def leaf_by_name(name: str) -> LeafType:
    """The declaration under a JSON name."""
    return _by_name[name]


def same_leaf(a: Any, b: Any) -> bool:
    """Equality of leaves: same type, same value; NaN equals NaN, 0.0 differs from -0.0."""
    if a is b:
        return True
    cls = type(a)
    if cls is not type(b):
        return False
    if cls is float:
        return repr(a) == repr(b)
    leaf = find_leaf(cls)
    if leaf is not None:
        return bool(leaf.key(a) == leaf.key(b))
    if cls is tuple:
        return len(a) == len(b) and all(map(same_leaf, a, b))
    return bool(a == b)


def leaf_key(value: Any) -> Any:
    """A token of a leaf whose `repr` is the same in every process."""
    cls = type(value)
    if cls is str or cls is int or cls is bool or value is None or cls is float:
        return value
    leaf = find_leaf(cls)
    if leaf is not None:
        return (leaf.name, leaf.key(value))
    if isinstance(value, enum.Enum):
        return (cls.__name__, value.name)
    if cls is tuple:
        return tuple(map(leaf_key, value))
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    raise TypeError(
        f"a node field holds a {cls.__name__}, which is no declared leaf type; "
        "declare it with core.leaves.register_leaf"
    )


def _array_key(a: np.ndarray[Any, Any]) -> Any:
    data = np.ascontiguousarray(a)
    digest = hashlib.blake2b(data.view(np.uint8).reshape(-1).data if data.size else b"").hexdigest()
    return (str(a.dtype), a.shape, digest)


def _encode_array(a: np.ndarray[Any, Any]) -> Any:
    data = np.ascontiguousarray(a)
    raw = data.tobytes()
    return [str(a.dtype), list(a.shape), base64.b64encode(raw).decode("ascii")]


def _decode_array(value: Any) -> np.ndarray[Any, Any]:
    dtype, shape, text = value
    if dtype.startswith(("bfloat", "float8", "float6", "float4", "int4", "int2", "uint4", "uint2")):
        import ml_dtypes

        kind: Any = np.dtype(getattr(ml_dtypes, dtype))
    else:
        kind = np.dtype(dtype)
    return np.frombuffer(base64.b64decode(text), dtype=kind).reshape(shape).copy()


register_leaf(np.ndarray, "ndarray", key=_array_key, encode=_encode_array, decode=_decode_array)


def encode_float(value: float) -> Any:
    """JSON form of a float: a number where JSON has one."""
    return value if math.isfinite(value) else {"f": repr(value)}
