"""Padding: with a constant, by reflection, by repetition of the edge, or circular."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench import te
from workbench.core.errors import WorkbenchError
from workbench.ir.expr import Expr, IntImm
from workbench.te.tensor import Tensor
from workbench.tirx import op as tir
from workbench.tirx.expr import Select
from workbench.topi.dims import const_int, require_int, require_tensor
from workbench.topi.transform import INJECTIVE


def _amounts(data: Tensor, before: Any, after: Any, what: str) -> tuple[list[Any], list[Any]]:
    """Padding per dimension; a constant is a Python integer."""
    after = before if after is None else after
    for amounts in (before, after):
        if len(amounts) != data.ndim:
            raise WorkbenchError(
                f"{what}: {len(amounts)} amounts for a tensor with {data.ndim} dimensions"
            )

    def plain(value: Any) -> Any:
        number = const_int(value)
        return value if number is None else number

    return [plain(v) for v in before], [plain(v) for v in after]


def _padded_shape(data: Tensor, before: Sequence[Any], after: Sequence[Any]) -> list[Any]:
    return [d + (b + a) for d, b, a in zip(data.shape, before, after, strict=True)]


def _is_zero(value: Any) -> bool:
    return isinstance(value, int) and value == 0


def pad(
    data: Tensor,
    pad_before: Sequence[Any],
    pad_after: Sequence[Any] | None = None,
    pad_value: Any = 0.0,
    name: str = "PadInput",
    attrs: Any = None,
) -> Tensor:
    """The data with `pad_value` before and after it in every dimension.

    Negative amounts remove elements.
    """
    require_tensor(data, "pad")
    before, after = _amounts(data, pad_before, pad_after, "pad")
    value = pad_value if isinstance(pad_value, Expr) else tir.const(pad_value, data.dtype)

    def element(*i: Any) -> Expr:
        inside: list[Any] = []
        index: list[Any] = []
        for v, size, b, a in zip(i, data.shape, before, after, strict=True):
            index.append(v if _is_zero(b) else v - b)
            if not _is_zero(b):
                inside.append(tir.less_equal(b, v))
            if not _is_zero(a):
                inside.append(tir.less(v, size + b))
        if not inside:
            return data(*index)
        return tir.if_then_else(tir.all(*inside), data(*index), value)

    shape = _padded_shape(data, before, after)
    return te.compute(shape, element, name=name, tag=f"{INJECTIVE},pad", attrs=attrs)


def _pad_by_index(
    data: Tensor,
    pad_before: Sequence[Any],
    pad_after: Sequence[Any] | None,
    name: str,
    pick: Callable[[Any, Any], Any],
) -> Tensor:
    """Padding with elements of the data: `pick(position, size)` is the index used."""
    before, after = _amounts(data, pad_before, pad_after, name)

    def element(*i: Any) -> Expr:
        index: list[Any] = []
        for v, size, b, a in zip(i, data.shape, before, after, strict=True):
            index.append(v if _is_zero(b) and _is_zero(a) else pick(v - b, size))
        return data(*index)

    shape = _padded_shape(data, before, after)
    return te.compute(shape, element, name=name, tag=f"{INJECTIVE},pad")


def reflect_pad(
    data: Tensor, pad_before: Any, pad_after: Any = None, name: str = "ReflectPadInput"
) -> Tensor:
    """Padding by reflection at the edge elements, which are not repeated (NumPy's "reflect").

    The amounts must be smaller than the size of their dimension.
    """
    _check_reflection(data, pad_before, pad_after, 1, name)

    def pick(p: Any, size: Any) -> Any:
        low = Select(p < 0, -p, p)
        last = size - 1
        return Select(tir.greater(low, last), last * 2 - low, low)

    return _pad_by_index(data, pad_before, pad_after, name, pick)


def mirror_pad(
    data: Tensor,
    pad_before: Any,
    pad_after: Any = None,
    mode: str = "SYMMETRIC",
    name: str = "MirrorPadInput",
) -> Tensor:
    """Padding by reflection: mode "SYMMETRIC" repeats the edge elements, "REFLECT" does not."""
    if mode == "REFLECT":
        return reflect_pad(data, pad_before, pad_after, name)
    if mode != "SYMMETRIC":
        raise WorkbenchError(f"mirror_pad: mode is SYMMETRIC or REFLECT, got {mode!r}")
    _check_reflection(data, pad_before, pad_after, 0, name)

    def pick(p: Any, size: Any) -> Any:
        low = Select(p < 0, -1 - p, p)
        return Select(tir.greater_equal(low, size), size * 2 - 1 - low, low)

    return _pad_by_index(data, pad_before, pad_after, name, pick)


def _check_reflection(data: Tensor, before: Any, after: Any, less: int, name: str) -> None:
    low, high = _amounts(data, before, after, name)
    for k, (size, b, a) in enumerate(zip(data.shape, low, high, strict=True)):
        total = const_int(size)
        for amount in (b, a):
            if total is not None and isinstance(amount, int) and amount > total - less:
                raise WorkbenchError(
                    f"{name}: dimension {k} of size {total} cannot be reflected over {amount}"
                )


def replicate_pad(
    data: Tensor, pad_before: Any, pad_after: Any = None, name: str = "ReplicatePadInput"
) -> Tensor:
    """Padding with the edge elements (NumPy's "edge")."""
    return _pad_by_index(
        data,
        pad_before,
        pad_after,
        name,
        lambda p, size: tir.maximum(tir.minimum(p, size - 1), IntImm(p.dtype, 0)),
    )


def circular_pad(
    data: Tensor, pad_before: Any, pad_after: Any = None, name: str = "CircularPadInput"
) -> Tensor:
    """Padding with the elements from the other end (NumPy's "wrap")."""
    return _pad_by_index(data, pad_before, pad_after, name, lambda p, size: tir.floormod(p, size))


def pad_nd(
    data: Tensor, pad_width: Sequence[int], pad_value: float = 0.0, pad_mode: str = "constant"
) -> Tensor:
    """Padding by (before0, after0, before1, …) amounts; the mode names one of the functions above.

    pad_mode : "constant", "reflect", "replicate", "circular" or "symmetric".
    """
    before, after = list(pad_width[0::2]), list(pad_width[1::2])
    modes = {
        "reflect": reflect_pad,
        "replicate": replicate_pad,
        "circular": circular_pad,
        "symmetric": mirror_pad,
    }
    if pad_mode == "constant":
        return pad(data, before, after, pad_value)
    if pad_mode not in modes:
        raise WorkbenchError(f"pad: the mode is constant, {', '.join(modes)}; got {pad_mode!r}")
    return modes[pad_mode](data, before, after)


def dilate(
    data: Tensor, strides: Sequence[Any], dilation_value: Any = 0.0, name: str = "DilatedInput"
) -> Tensor:
    """`strides - 1` times `dilation_value` between the elements of every dimension."""
    step = [require_int(s, "dilate: stride") for s in strides]
    value = tir.const(dilation_value, data.dtype)
    shape = [d if s == 1 else (d - 1) * s + 1 for d, s in zip(data.shape, step, strict=True)]

    def element(*i: Any) -> Expr:
        hit = [tir.equal(tir.floormod(v, s), 0) for v, s in zip(i, step, strict=True) if s != 1]
        index = [v if s == 1 else tir.floordiv(v, s) for v, s in zip(i, step, strict=True)]
        return tir.if_then_else(tir.all(*hit), data(*index), value) if hit else data(*index)

    return te.compute(shape, element, name=name, tag=f"{INJECTIVE},dilate")


def spatial_padding(padding: Any, kernel: Sequence[int], what: str) -> tuple[list[int], list[int]]:
    """Amounts before and after each spatial dimension.

    `padding` is one number, one per dimension, all of before followed by all of after, or "VALID" /
    "SAME" (for stride 1). `kernel` holds the dilated kernel sizes.
    """
    n = len(kernel)
    if isinstance(padding, str):
        if padding == "VALID":
            return [0] * n, [0] * n
        if padding == "SAME":
            return [(k - 1) // 2 for k in kernel], [k - 1 - (k - 1) // 2 for k in kernel]
        raise WorkbenchError(f"{what}: padding is numbers, VALID or SAME, got {padding!r}")
    if not isinstance(padding, (list, tuple)):
        return [require_int(padding, what)] * n, [require_int(padding, what)] * n
    items = [require_int(p, f"{what}: padding") for p in padding]
    if len(items) == 1:
        return items * n, items * n
    if len(items) == n:
        return items, list(items)
    if len(items) == 2 * n:
        return items[:n], items[n:]
    raise WorkbenchError(
        f"{what}: expected 1, {n} or {2 * n} amounts of padding, got {len(items)}: {items}"
    )
