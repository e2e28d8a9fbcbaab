"""Einstein summation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench import te
from workbench.core.errors import WorkbenchError
from workbench.ir.expr import Expr, IntImm
from workbench.te.tensor import Tensor
from workbench.topi.dims import const_int, is_one


def parse_subscripts(subscripts: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """The letters of each operand and of the result.

    Without "->" the result has the letters that occur once, in alphabetical order. Raises
    WorkbenchError for ellipses, and where letters and dimensions do not agree in number.
    """
    text = subscripts.replace(" ", "")
    if "." in text:
        raise WorkbenchError(f"einsum: an ellipsis is not supported: {subscripts!r}")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(ranks):
        raise WorkbenchError(
            f"einsum: {subscripts!r} is for {len(parts)} operands, got {len(ranks)}"
        )
    for part, rank in zip(parts, ranks, strict=True):
        if rank not in (-1, len(part)):
            raise WorkbenchError(
                f"einsum: {part!r} in {subscripts!r} is for {len(part)} dimensions, got {rank}"
            )
    if not arrow:
        right = "".join(sorted(c for c in set(left) - {","} if left.count(c) == 1))
    for letter in right:
        if letter not in left or right.count(letter) > 1:
            raise WorkbenchError(f"einsum: {letter!r} of the result in {subscripts!r}")
    return parts, right


def letter_extents(parts: Sequence[str], shapes: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """The extent that each letter stands for; 1 is broadcast against others."""
    extents: dict[str, Any] = {}
    for part, shape in zip(parts, shapes, strict=True):
        for letter, extent in zip(part, shape, strict=True):
            known = extents.get(letter)
            if known is None or is_one(known):
                extents[letter] = extent
                continue
            a, b = const_int(known), const_int(extent)
            if a is not None and b is not None and b not in (1, a):
                raise WorkbenchError(f"einsum: {letter!r} has the extents {a} and {b}")
    return extents


def einsum(subscripts: str, *operand: Any) -> Tensor:
    """Products of elements, summed over the letters that the result does not have.

    Parameters
    ----------
    subscripts : "ij,jk->ik"; repeated letters of one operand take its diagonal.
    operand : the tensors, one by one or as a list.
    """
    tensors: list[Tensor] = []
    for item in operand:
        tensors.extend(item if isinstance(item, (list, tuple)) else [item])
    parts, out = parse_subscripts(subscripts, [t.ndim for t in tensors])
    extents = letter_extents(parts, [t.shape for t in tensors])
    summed = [c for c in extents if c not in out]
    axes = {c: te.reduce_axis((IntImm(extents[c].dtype, 0), extents[c]), c) for c in summed}

    def element(*i: Any) -> Expr:
        index = {**axes, **dict(zip(out, i, strict=True))}
        product: Any = None
        for part, tensor in zip(parts, tensors, strict=True):
            place = [
                0 if is_one(d) and not is_one(extents[c]) else index[c]
                for c, d in zip(part, tensor.shape, strict=True)
            ]
            value = tensor(*place)
            product = value if product is None else product * value
        return te.sum(product, axis=list(axes.values())) if axes else product

    return te.compute([extents[c] for c in out], element, name="T_einsum")


__all__ = ["einsum", "letter_extents", "parse_subscripts"]
