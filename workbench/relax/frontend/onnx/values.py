"""Values known while a model is imported: shapes, and small constants computed from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.ir.expr import Expr, IntImm

#: Larger constants are tensors, not shapes.
MAX_HOST_ITEMS = 256


@dataclass(frozen=True)
class HostValue:
    """A small tensor whose items are Python numbers or symbolic dimensions, in row-major order."""

    items: tuple[Any, ...]
    shape: tuple[int, ...]
    dtype: str = "int64"

    @staticmethod
    def vector(items: Sequence[Any], dtype: str = "int64") -> HostValue:
        """A one-dimensional value."""
        return HostValue(tuple(map(plain, items)), (len(items),), dtype)

    @staticmethod
    def from_array(array: np.ndarray[Any, Any]) -> HostValue | None:
        """The value of a small array of integers, floats or bools; None if it is too large."""
        if array.size > MAX_HOST_ITEMS or array.dtype.kind not in "iubf":
            return None
        return HostValue(tuple(array.reshape(-1).tolist()), array.shape, str(array.dtype))

    def as_array(self) -> np.ndarray[Any, Any] | None:
        """The array, if no item is symbolic."""
        if any(isinstance(i, Expr) for i in self.items):
            return None
        return np.array(self.items, dtype=self.dtype).reshape(self.shape)

    def like(self, items: Sequence[Any], dtype: str | None = None) -> HostValue:
        """Other items in the same shape."""
        return HostValue(tuple(map(plain, items)), self.shape, dtype or self.dtype)

    def positions(self) -> np.ndarray[Any, Any]:
        """The positions of the items in the value's shape (for moving items with NumPy)."""
        return np.arange(math.prod(self.shape)).reshape(self.shape)

    def moved(self, positions: np.ndarray[Any, Any]) -> HostValue:
        """The items at `positions`, in the shape of `positions`."""
        picked = tuple(self.items[int(p)] for p in positions.reshape(-1))
        return HostValue(picked, positions.shape, self.dtype)


#: What an ONNX name stands for during the import.
Value = Expr | HostValue


def plain(item: Any) -> Any:
    """Constants as Python numbers; symbolic expressions as they are."""
    return item.value if isinstance(item, IntImm) else item


__all__ = ["MAX_HOST_ITEMS", "HostValue", "Value", "plain"]
