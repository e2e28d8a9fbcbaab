"""Pooling over windows, over everything, and to a given output size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench import te
from workbench.core.errors import WorkbenchError
from workbench.ir.expr import Expr, IntImm
from workbench.te.tensor import Tensor
from workbench.tirx import op as tir
from workbench.topi.dims import as_ints, const_int, product
from workbench.topi.nn.conv import output_size
from workbench.topi.nn.pad import pad, spatial_padding
from workbench.topi.reduction import lowest, max_reducer


def _spatial_places(layout: str, count: int) -> list[int]:
    """Positions of the spatial dimensions in a layout."""
    wanted = "DHW"[-count:]
    places = [layout.find(letter) for letter in wanted]
    if -1 in places or len(layout) < count + 2:
        raise WorkbenchError(f"pool: layout {layout!r} has no dimensions {wanted}")
    return places


def _check_type(pool_type: str) -> None:
    if pool_type not in ("max", "avg"):
        raise WorkbenchError(f"pool: the type is max or avg, got {pool_type!r}")


def _ceil_extra(size: Any, kernel: int, low: int, high: int, stride: int, dilation: int) -> int:
    """Additional padding at the end so that the last, partial window is counted too."""
    total = const_int(size)
    if total is None:
        return stride - 1
    window = (kernel - 1) * dilation + 1
    rest = total + low + high - window
    count = -(-rest // stride) + 1
    if (count - 1) * stride >= total + low:  # a window that would start in the padding is left out
        count -= 1
    return max((count - 1) * stride + window - (total + low + high), 0)


def pool(
    data: Tensor,
    pool_size: Any,
    strides: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    layout: str = "NCHW",
    kind: str = "max",
) -> Tensor:
    """Pooling over windows of all spatial dimensions of `layout`.

    Parameters
    ----------
    kind : "max" or "avg". ceil_mode : whether a partial window at the end counts.
    count_include_pad : whether an average divides by padded elements too.
    """
    ndim = len(layout) - 2
    _check_type(kind)
    places = _spatial_places(layout, ndim)
    sizes = as_ints(pool_size, ndim, "pool: kernel")
    steps = as_ints(strides, ndim, "pool: stride")
    spread = as_ints(dilation, ndim, "pool: dilation")
    window = [(k - 1) * d + 1 for k, d in zip(sizes, spread, strict=True)]
    low, high = spatial_padding(padding, window, "pool")
    extra = [0] * ndim
    if ceil_mode:
        extra = [
            _ceil_extra(data.shape[p], sizes[k], low[k], high[k], steps[k], spread[k])
            for k, p in enumerate(places)
        ]
    shape = list(data.shape)
    for k, p in enumerate(places):
        shape[p] = output_size(
            data.shape[p], sizes[k], low[k], high[k] + extra[k], steps[k], spread[k]
        )
    source = _padded(data, places, low, [h + e for h, e in zip(high, extra, strict=True)], kind)
    axes = [te.reduce_axis((0, size), f"rv{k}") for k, size in enumerate(sizes)]
    reducer = max_reducer if kind == "max" else te.sum

    def element(*i: Any) -> Expr:
        at = list(i)
        for k, p in enumerate(places):
            at[p] = i[p] * steps[k] + axes[k].var * spread[k]
        return reducer(source(*at), axis=axes)

    name = f"pool_{'max' if kind == 'max' else 'sum'}"
    total = te.compute(
        shape, element, name=name, tag=name, varargs_names=[f"ax{k}" for k in range(len(shape))]
    )
    if kind == "max":
        return total
    count = _Count(data, places, sizes, steps, spread, low, high, extra, count_include_pad)
    return te.compute(
        shape,
        lambda *i: tir.div(total(*i), tir.cast(data.dtype, count.at(i))),
        name="pool_avg",
        tag="elemwise",
        varargs_names=[f"ax{k}" for k in range(len(shape))],
    )


def _padded(
    data: Tensor, places: Sequence[int], low: Sequence[int], high: Sequence[int], pool_type: str
) -> Tensor:
    if not any(low) and not any(high):
        return data
    before, after = [0] * data.ndim, [0] * data.ndim
    for k, p in enumerate(places):
        before[p], after[p] = low[k], high[k]
    value = lowest(data.dtype) if pool_type == "max" else tir.const(0, data.dtype)
    return pad(data, before, after, value, name="pad_temp")


class _Count:
    """The number of elements that an average divides by."""

    def __init__(
        self,
        data: Tensor,
        places: Sequence[int],
        sizes: Sequence[int],
        steps: Sequence[int],
        spread: Sequence[int],
        low: Sequence[int],
        high: Sequence[int],
        extra: Sequence[int],
        include_pad: bool,
    ) -> None:
        self.fields = [
            (p, data.shape[p], sizes[k], steps[k], spread[k], low[k], high[k], extra[k])
            for k, p in enumerate(places)
        ]
        self.include_pad = include_pad

    def at(self, indices: Sequence[Any]) -> Any:
        """The number for the window of the given output element (at least 1)."""
        total: Any = 1
        for p, size, kernel, step, spread, low, high, extra in self.fields:
            padded = 0 if self.include_pad else low + high
            if padded == 0 and extra == 0:
                total = total * kernel
                continue
            first = indices[p] * step - low
            begin = -low if self.include_pad else 0
            end = size + high if self.include_pad else size
            total = tir.maximum(_inside(first, kernel, spread, begin, end), 1) * total
        return total


def _inside(first: Any, kernel: int, spread: int, begin: Any, end: Any) -> Any:
    """How many of first, first + spread, … (`kernel` of them) lie in [begin, end)."""
    if spread == 1:
        low = tir.maximum(first, begin)
        return tir.minimum(first + kernel, end) - low
    before = tir.floordiv(tir.maximum(begin - first, 0) + (spread - 1), spread)
    past = tir.floordiv(tir.maximum(end - first, 0) + (spread - 1), spread)
    return tir.minimum(past, kernel) - before


def pool1d(
    data: Tensor,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCW",
    count_include_pad: bool = True,
) -> Tensor:
    """Pooling over windows of one dimension."""
    return pool(
        data, kernel, stride, padding, dilation, ceil_mode, count_include_pad, layout, pool_type
    )


def pool2d(
    data: Tensor,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCHW",
    count_include_pad: bool = True,
) -> Tensor:
    """Pooling over windows of two dimensions."""
    return pool(
        data, kernel, stride, padding, dilation, ceil_mode, count_include_pad, layout, pool_type
    )


def pool3d(
    data: Tensor,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCDHW",
    count_include_pad: bool = True,
) -> Tensor:
    """Pooling over windows of three dimensions."""
    return pool(
        data, kernel, stride, padding, dilation, ceil_mode, count_include_pad, layout, pool_type
    )


def global_pool(data: Tensor, pool_type: str, layout: str = "NCHW") -> Tensor:
    """Pooling over all spatial dimensions, which keep size 1."""
    return adaptive_pool_nd(data, [1] * (len(layout) - 2), layout, pool_type)


def adaptive_pool_nd(
    data: Tensor, output_size: Any, layout: str = "NCHW", kind: str = "avg"
) -> Tensor:
    """Pooling to `output_size`: window k of n over [k * size // n, ceil((k + 1) * size / n))."""
    _check_type(kind)
    ndim = len(layout) - 2
    places = _spatial_places(layout, ndim)
    if output_size is None:  # as large as the data
        return te.compute(data.shape, lambda *i: data(*i), name="T_copy", tag="elemwise")
    wanted = as_ints(output_size, ndim, "adaptive_pool: output size")
    windows = [_Window(data.shape[p], wanted[k], f"rv{k}") for k, p in enumerate(places)]
    shape: list[Any] = list(data.shape)
    for k, p in enumerate(places):
        shape[p] = IntImm(data.shape[p].dtype, wanted[k])
    maximum = kind == "max"
    reducer = max_reducer if maximum else te.sum
    neutral = lowest(data.dtype) if maximum else tir.const(0, data.dtype)

    def element(*i: Any) -> Expr:
        at, inside = list(i), []
        for window, p in zip(windows, places, strict=True):
            at[p] = window.start(i[p]) + window.axis.var
            if window.uneven:
                inside.append(tir.less(at[p], window.end(i[p])))
        value = data(*at)
        if inside:
            value = tir.if_then_else(tir.all(*inside), value, neutral)
        return reducer(value, axis=[w.axis for w in windows])

    names = [f"ax{k}" for k in range(len(shape))]
    name = f"adaptive_pool_{'max' if maximum else 'sum'}"
    total = te.compute(shape, element, name=name, tag=name, varargs_names=names)
    if maximum:
        return total

    def average(*i: Any) -> Expr:
        count = product([w.length(i[p]) for w, p in zip(windows, places, strict=True)])
        return tir.div(total(*i), tir.cast(data.dtype, count))

    return te.compute(shape, average, name="adaptive_pool_avg", tag="elemwise", varargs_names=names)


class _Window:
    """The windows of one dimension of adaptive pooling."""

    def __init__(self, size: Any, count: int, name: str) -> None:
        self.size, self.count = size, count
        total = const_int(size)
        self.uneven = count != 1 and (total is None or total % count != 0)
        if count == 1:
            longest: Any = size
        elif total is None:
            longest = tir.floordiv(size + (count - 1), count) + 1
        elif self.uneven:
            longest = IntImm(
                size.dtype,
                max(-(-(k + 1) * total // count) - k * total // count for k in range(count)),
            )
        else:
            longest = IntImm(size.dtype, total // count)
        self.longest = longest
        self.axis = te.reduce_axis((IntImm(size.dtype, 0), longest), name)

    def start(self, index: Any) -> Any:
        if self.count == 1:
            return 0
        if not self.uneven:
            return index * self.longest
        return tir.floordiv(index * self.size, self.count)

    def end(self, index: Any) -> Any:
        return tir.floordiv((index + 1) * self.size + (self.count - 1), self.count)

    def length(self, index: Any) -> Any:
        return self.end(index) - self.start(index) if self.uneven else self.longest


def adaptive_pool1d(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCW") -> Tensor:
    """Pooling of one dimension to a given size."""
    return adaptive_pool_nd(data, output_size, layout, pool_type)


def adaptive_pool(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCHW") -> Tensor:
    """Pooling of two dimensions to a given size."""
    return adaptive_pool_nd(data, output_size, layout, pool_type)


def adaptive_pool3d(
    data: Tensor, output_size: Any, pool_type: str, layout: str = "NCDHW"
) -> Tensor:
    """Pooling of three dimensions to a given size."""
    return adaptive_pool_nd(data, output_size, layout, pool_type)
