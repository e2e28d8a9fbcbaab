"""Functions that move elements: every result element is one input element."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from workbench import te
from workbench.core.errors import WorkbenchError
from workbench.core.structural import structural_hash
from workbench.ir.expr import Expr, IntImm, as_expr
from workbench.te.tensor import Tensor
from workbench.tirx import op as tir
from workbench.tirx.expr import Mul, Select
from workbench.topi.broadcast import axis_names
from workbench.topi.dims import (
    const_int,
    is_one,
    normalize_axes,
    normalize_axis,
    product,
    require_int,
    require_tensor,
)

INJECTIVE = "injective"


def injective(shape: Sequence[Any], element: Any, name: str, attrs: Any = None) -> Tensor:
    """A tensor of moved elements."""
    return te.compute(
        list(shape),
        element,
        name=name,
        tag=INJECTIVE,
        attrs=attrs,
        varargs_names=axis_names(len(shape)),
    )


def expand_dims(a: Tensor, axis: int, num_newaxis: int = 1) -> Tensor:
    """New dimensions of size 1 before `axis` (after the last for axis = -1)."""
    require_tensor(a, "expand_dims")
    at = normalize_axis(axis, a.ndim + 1, "expand_dims")
    one = IntImm(a.shape[0].dtype if a.shape else "int32", 1)
    shape = [*a.shape[:at], *[one] * num_newaxis, *a.shape[at:]]
    return injective(shape, lambda *i: a(*i[:at], *i[at + num_newaxis :]), "T_expand_dims")


def squeeze(a: Tensor, axis: Any = None) -> Tensor:
    """Without the given dimensions (all of size 1 if None). They must have size 1."""
    require_tensor(a, "squeeze")
    if axis is None:
        drop = {k for k, d in enumerate(a.shape) if is_one(d)}
    else:
        drop = set(normalize_axes(axis, a.ndim, "squeeze"))
        for k in drop:
            size = const_int(a.shape[k])
            if size is not None and size != 1:
                raise WorkbenchError(f"squeeze: dimension {k} has size {size}, expected 1")

    def element(*i: Any) -> Expr:
        rest = iter(i)
        return a(*[0 if k in drop else next(rest) for k in range(a.ndim)])

    shape = [d for k, d in enumerate(a.shape) if k not in drop]
    return injective(shape, element, "T_squeeze")


def transpose(a: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    """The dimensions in the order of `axes` (reversed if None)."""
    require_tensor(a, "transpose")
    if axes is None:
        order = list(range(a.ndim))[::-1]
    else:
        order = [normalize_axis(k, a.ndim, "transpose") for k in axes]
    if sorted(order) != list(range(a.ndim)):
        raise WorkbenchError(f"transpose: {axes} is no order of {a.ndim} dimensions")
    place = {old: new for new, old in enumerate(order)}
    return injective(
        [a.shape[k] for k in order],
        lambda *i: a(*[i[place[k]] for k in range(a.ndim)]),
        "T_transpose",
    )


def flip(a: Tensor, axis: int = 0) -> Tensor:
    """The elements in reverse order along `axis`."""
    at = normalize_axis(axis, a.ndim, "flip")
    last = a.shape[at] - 1
    return injective(
        a.shape, lambda *i: a(*[last - v if k == at else v for k, v in enumerate(i)]), "T_flip"
    )


# ---------------------------------------------------------------------------------------------
# Reshape: matching groups of dimensions, so that indices are divided only where needed


class _Size:
    """A product of dimensions: the constant factor and the symbolic factors with their powers."""

    __slots__ = ("number", "symbols")

    def __init__(self) -> None:
        self.number = 1
        self.symbols: Counter[int] = Counter()

    def multiply(self, dim: Any) -> None:
        stack = [as_expr(dim)]
        while stack:
            e = stack.pop()
            if isinstance(e, Mul):
                stack.extend((e.a, e.b))
            elif isinstance(e, IntImm):
                self.number *= e.value
            else:
                self.symbols[structural_hash(e)] += 1

    def same(self, other: _Size) -> bool:
        return self.number == other.number and self.symbols == other.symbols

    def below(self, other: _Size) -> bool | None:
        """Whether self is the smaller one (None if that is not evident)."""
        if self.symbols == other.symbols:
            return self.number < other.number
        if not self.symbols - other.symbols:
            return True
        return False if not other.symbols - self.symbols else None


def reshape_groups(old: Sequence[Any], new: Sequence[Any]) -> list[tuple[range, range]]:
    """Splits two shapes of equal size into groups of dimensions with equal products, in order."""
    groups: list[tuple[range, range]] = []
    i = j = 0
    while i < len(old) or j < len(new):
        start = (i, j)
        left, right = _Size(), _Size()
        if i < len(old):
            left.multiply(old[i])
            i += 1
        if j < len(new):
            right.multiply(new[j])
            j += 1
        while not left.same(right):
            lower = left.below(right)
            if lower is True and i < len(old):
                left.multiply(old[i])
                i += 1
            elif lower is False and j < len(new):
                right.multiply(new[j])
                j += 1
            else:  # the sizes cannot be compared, or one shape is used up
                i, j = len(old), len(new)
                break
        groups.append((range(start[0], i), range(start[1], j)))
    return groups


def ravel(indices: Sequence[Any], shape: Sequence[Any]) -> Any:
    """The position in row-major order."""
    total: Any = None
    for index, size in zip(indices, shape, strict=True):
        total = index if total is None else total * size + index
    return 0 if total is None else total


def unravel(position: Any, shape: Sequence[Any]) -> list[Any]:
    """The indices of a row-major position that is in range."""
    out: list[Any] = [0] * len(shape)
    live = [k for k, d in enumerate(shape) if not is_one(d)]
    rest = position
    for n, k in enumerate(reversed(live)):
        first = n == len(live) - 1
        out[k] = rest if first else tir.floormod(rest, shape[k])
        rest = rest if first else tir.floordiv(rest, shape[k])
    return out


def _regroup(
    groups: Sequence[tuple[range, range]],
    old: Sequence[Any],
    new: Sequence[Any],
    indices: Sequence[Any],
) -> list[Any]:
    """The indices into the old shape for indices into the new one."""
    out: list[Any] = [0] * len(old)
    for source, target in groups:
        wanted = [k for k in source if not is_one(old[k])]
        given = [k for k in target if not is_one(new[k])]
        if len(wanted) == 1 and len(given) == 1:
            out[wanted[0]] = indices[given[0]]
            continue
        position = ravel([indices[k] for k in given], [new[k] for k in given])
        for k, index in zip(wanted, unravel(position, [old[k] for k in wanted]), strict=True):
            out[k] = index
    return out


def reshape(a: Tensor, newshape: Sequence[Any]) -> Tensor:
    """The elements in row-major order under another shape of the same size."""
    require_tensor(a, "reshape")
    new = [as_expr(d) for d in newshape]
    sizes = [const_int(product(a.shape)), const_int(product(new))]
    if None not in sizes and sizes[0] != sizes[1]:
        raise WorkbenchError(
            f"reshape: ({', '.join(map(str, a.shape))}) has {sizes[0]} elements, "
            f"({', '.join(map(str, new))}) has {sizes[1]}"
        )
    if sizes[0] == 0:
        zero = tir.const(0, a.dtype)
        return injective(new, lambda *i: zero, "T_reshape")
    groups = reshape_groups(a.shape, new)
    return injective(new, lambda *i: a(*_regroup(groups, a.shape, new, i)), "T_reshape")


def flatten(a: Tensor) -> Tensor:
    """One dimension."""
    return reshape(a, [product(a.shape)])


# ---------------------------------------------------------------------------------------------
# Joining and splitting


def concatenate(a_tuple: Sequence[Tensor], axis: int | None = 0) -> Tensor:
    """Tensors one after another along `axis` (flattened first if None)."""
    parts = [require_tensor(t, "concatenate") for t in a_tuple]
    if not parts:
        raise WorkbenchError("concatenate: expected at least one tensor")
    if axis is None:
        parts, axis = [flatten(t) for t in parts], 0
    at = normalize_axis(axis, parts[0].ndim, "concatenate")
    starts: list[Any] = [IntImm(parts[0].shape[at].dtype, 0)]
    for part in parts:
        if part.ndim != parts[0].ndim or part.dtype != parts[0].dtype:
            raise WorkbenchError(
                f"concatenate: expected tensors like {parts[0]}, got {part}",
                hint="cast or reshape them first",
            )
        for k, (size, first) in enumerate(zip(part.shape, parts[0].shape, strict=True)):
            if k == at or not isinstance(size, IntImm) or not isinstance(first, IntImm):
                continue
            if size.value != first.value:
                raise WorkbenchError(
                    f"concatenate along {at}: dimension {k} differs, {first} in {parts[0]} and"
                    f" {size} in {part}"
                )
        starts.append(starts[-1] + part.shape[at])
    shape = list(parts[0].shape)
    shape[at] = starts[-1]

    def element(*i: Any) -> Expr:
        value = parts[0](*i)
        for part, start in zip(parts[1:], starts[1:-1], strict=True):
            inner = [v - start if k == at else v for k, v in enumerate(i)]
            value = tir.if_then_else(tir.less_equal(start, i[at]), part(*inner), value)
        return value

    return injective(shape, element, "T_concat")


def stack(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Tensors of one shape side by side along a new dimension `axis`."""
    parts = [require_tensor(t, "stack") for t in tensors]
    at = normalize_axis(axis, parts[0].ndim + 1, "stack")
    like = parts[0].shape[0].dtype if parts[0].shape else "int32"
    shape = [*parts[0].shape[:at], IntImm(like, len(parts)), *parts[0].shape[at:]]

    def element(*i: Any) -> Expr:
        inner = [*i[:at], *i[at + 1 :]]
        value = parts[-1](*inner)
        for number in range(len(parts) - 2, -1, -1):
            value = tir.if_then_else(tir.equal(i[at], number), parts[number](*inner), value)
        return value

    return injective(shape, element, "T_stack")


def split(ary: Tensor, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """Parts along `axis`: a number of equal ones, or those between the given indices."""
    at = normalize_axis(axis, ary.ndim, "split")
    size: Any = ary.shape[at]
    like = size.dtype
    if const_int(indices_or_sections) is not None:
        count = require_int(indices_or_sections, "split: sections")
        total = const_int(size)
        if total is not None:  # the last sections are smaller if they do not divide evenly
            step = -(-total // count)
            edges: list[Any] = [IntImm(like, min(step * k, total)) for k in range(count + 1)]
        else:
            edges = [tir.floordiv(size, count) * k for k in range(count)] + [size]
    else:
        inner = [IntImm(like, d) if const_int(d) is not None else d for d in indices_or_sections]
        edges = [IntImm(like, 0), *inner, size]

    def part(begin: Any, end: Any) -> Tensor:
        shape = list(ary.shape)
        shape[at] = end - begin
        return injective(
            shape,
            lambda *i: ary(*[v + begin if k == at else v for k, v in enumerate(i)]),
            "T_split",
        )

    return [part(b, e) for b, e in pairwise(edges)]


def tile(a: Tensor, reps: Any) -> Tensor:
    """The tensor repeated as a whole, `reps` times per dimension."""
    counts = list(reps) if isinstance(reps, (list, tuple)) else [reps]
    rank = max(a.ndim, len(counts))
    counts = [1] * (rank - len(counts)) + counts
    like = a.shape[0].dtype if a.shape else "int32"
    sizes: list[Any] = [IntImm(like, 1)] * (rank - a.ndim) + list(a.shape)
    skip = rank - a.ndim

    def element(*i: Any) -> Expr:
        return a(*[_wrapped(i[skip + k], a.shape[k], counts[skip + k]) for k in range(a.ndim)])

    shape = [size * count for size, count in zip(sizes, counts, strict=True)]
    return injective(shape, element, "T_tile")


def _wrapped(index: Any, size: Any, count: Any) -> Any:
    if const_int(count) == 1:
        return index
    return 0 if is_one(size) else tir.floormod(index, size)


def repeat(a: Tensor, repeats: int, axis: int | None = None) -> Tensor:
    """Every element `repeats` times along `axis` (of the flattened tensor if None)."""
    if axis is None:
        a, axis = flatten(a), 0
    at = normalize_axis(axis, a.ndim, "repeat")
    shape = list(a.shape)
    shape[at] = shape[at] * repeats
    return injective(
        shape,
        lambda *i: a(*[tir.floordiv(v, repeats) if k == at else v for k, v in enumerate(i)]),
        "T_repeat",
    )


# ---------------------------------------------------------------------------------------------
# Slices


def _slice_bounds(begin: Any, end: Any, step: int, size: Any) -> tuple[Any, Any]:
    """First index and number of elements of one dimension of a slice, as Python counts them."""
    total, first, last = const_int(size), const_int(begin), const_int(end)
    if (
        total is not None
        and (begin is None or first is not None)
        and (end is None or last is not None)
    ):
        picked = range(*slice(first, last, step).indices(total))
        return picked.start, len(picked)
    if step < 0 and (begin is None or end is None):
        raise WorkbenchError("strided_slice: a negative stride needs constant bounds and sizes")
    low: Any = 0 if begin is None else begin
    if first is not None and first < 0:
        low = size + first
    high: Any = size
    if end is not None and not (last is not None and last >= (1 << 30)):
        high = size + last if last is not None and last < 0 else end
    span = high - low if step > 0 else low - high
    magnitude = abs(step)
    count = span if magnitude == 1 else tir.floordiv(span + (magnitude - 1), magnitude)
    return low, count


def strided_slice(
    a: Tensor,
    begin: Sequence[Any],
    end: Sequence[Any],
    strides: Sequence[Any] | None = None,
    axes: Sequence[int] | None = None,
    out_shape: Sequence[Any] | None = None,
    slice_mode: str = "end",
) -> Tensor:
    """a[begin:end:stride] along `axes` (the first ones if None), with Python's meaning of bounds.

    slice_mode "size": `end` holds the numbers of elements, -1 for all that remain. `out_shape`
    gives the result's shape where symbolic bounds do not tell it simply.
    """
    require_tensor(a, "strided_slice")
    where = [normalize_axis(k, a.ndim, "strided_slice") for k in (axes or range(len(begin)))]
    steps = [require_int(s, "strided_slice: stride") for s in (strides or [1] * len(where))]
    steps += [1] * (len(where) - len(steps))
    shape: list[Any] = list(a.shape)
    first: list[Any] = [0] * a.ndim
    stride = [1] * a.ndim
    for k, low, high, step in zip(where, begin, end, steps, strict=True):
        if step == 0:
            raise WorkbenchError("strided_slice: a stride of 0")
        size: Any = a.shape[k]
        if slice_mode == "size":
            step, high = 1, None if const_int(high) == -1 else low + high
        start, count = _slice_bounds(low, high, step, size)
        first[k], stride[k] = start, step
        shape[k] = IntImm(size.dtype, count) if isinstance(count, int) else count
    if out_shape is not None:
        shape = list(out_shape)

    def element(*i: Any) -> Expr:
        return a(*[v * stride[k] + first[k] for k, v in enumerate(i)])

    return injective(shape, element, "T_strided_slice")


def sliding_window(data: Tensor, axis: int, window_shape: Any, strides: Any) -> Tensor:
    """Windows of the dimensions from `axis` on; their contents become the last dimensions."""
    at = normalize_axis(axis, data.ndim, "sliding_window")
    window = [require_int(w, "sliding_window: window") for w in window_shape]
    step = [require_int(s, "sliding_window: stride") for s in strides]
    moved = [tir.floordiv(data.shape[at + k] - window[k], step[k]) + 1 for k in range(len(window))]
    shape = [*data.shape[:at], *moved, *window]

    def element(*i: Any) -> Expr:
        inner = i[at + len(window) :]
        return data(*i[:at], *[i[at + k] * step[k] + inner[k] for k in range(len(window))])

    return injective(shape, element, "T_sliding_window")


def trilu(data: Tensor, k: Any = 0, upper: bool = True) -> Tensor:
    """The upper (or lower) triangle from diagonal `k` on; zero elsewhere."""
    if data.ndim < 2:
        raise WorkbenchError(f"trilu: expected at least 2 dimensions, got {data}")
    zero = tir.const(0, data.dtype)

    def element(*i: Any) -> Expr:
        row, column = i[-2], i[-1]
        kept = column >= row + k if upper else column <= row + k
        return Select(kept, data(*i), zero)

    return injective(data.shape, element, "trilu")


def shape(array: Tensor, dtype: str = "int32") -> Tensor:
    """The shape as a one-dimensional tensor."""

    def element(i: Any) -> Expr:
        value: Any = tir.const(0, dtype)
        for k in range(array.ndim - 1, -1, -1):
            value = tir.if_then_else(tir.equal(i, k), tir.cast(dtype, array.shape[k]), value)
        return value

    return te.compute((array.ndim,), element, name="T_shape", tag=INJECTIVE)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: str = "float32") -> Tensor:
    """start, start + step, … below stop; `arange(n)` counts from 0."""
    if stop is None:
        start, stop = 0, start
    first, last, delta = (as_expr(v) for v in (start, stop, step))
    values: list[Any] = [getattr(v, "value", None) for v in (first, last, delta)]
    if None not in values:
        import math

        count: Any = max(0, math.ceil((values[1] - values[0]) / values[2]))
        if last.dtype == "int64":
            count = IntImm("int64", count)
    else:
        count = tir.ceildiv(last - first, delta)

    def element(i: Any) -> Expr:
        return tir.cast(dtype, first + delta * i)

    return te.compute((count,), element, name="T_arange", tag=INJECTIVE)


def eye(n: Any, m: Any = None, k: int = 0, dtype: str = "float32") -> Tensor:
    """Ones on diagonal `k`, zeros elsewhere."""
    one, zero = tir.const(1, dtype), tir.const(0, dtype)
    return te.compute(
        (n, n if m is None else m),
        lambda i, j: Select(tir.equal(i + k, j), one, zero),
        name="T_eye",
        tag=INJECTIVE,
    )


def hamming_window(
    window_size: Any, periodic: bool, alpha: float, beta: float, dtype: str
) -> Tensor:
    """alpha - beta * cos(2 pi k / n), where n is the size (less 1 unless `periodic`)."""
    import math

    size = as_expr(window_size)
    period = tir.cast(dtype, size if periodic else size - 1)

    def element(k: Any) -> Expr:
        turn = tir.cast(dtype, k) * tir.const(2 * math.pi, dtype) / period
        return tir.const(alpha, dtype) - tir.const(beta, dtype) * tir.cos(turn)

    return te.compute((size,), element, name="T_hamming_window", tag=INJECTIVE)


def meshgrid(a_tuple: Sequence[Tensor], indexing: str = "ij") -> list[Tensor]:
    """Coordinate grids of vectors."""
    sizes = [t.shape[0] if t.ndim else 1 for t in a_tuple]
    order = list(range(len(sizes)))
    if indexing == "xy" and len(order) > 1:
        order[0], order[1] = 1, 0
    grid = [sizes[k] for k in order]
    return [
        injective(grid, lambda *i, t=t, k=k: t(i[order.index(k)]) if t.ndim else t(), "T_meshgrid")
        for k, t in enumerate(a_tuple)
    ]


def depth_to_space(
    data: Tensor, block_size: int, layout: str = "NCHW", mode: str = "DCR"
) -> Tensor:
    """Channels moved into blocks of pixels (NCHW); mode "DCR" or "CRD" orders the channels."""
    if layout != "NCHW" or mode not in ("DCR", "CRD"):
        raise WorkbenchError(f"depth_to_space: layout NCHW, mode DCR or CRD; got {layout}, {mode}")
    n, c, h, w = data.shape
    b = block_size
    depth = tir.floordiv(c, b * b)

    def element(i: Any, j: Any, y: Any, x: Any) -> Expr:
        inner = tir.floormod(y, b) * b + tir.floormod(x, b)
        channel = inner * depth + j if mode == "DCR" else j * (b * b) + inner
        return data(i, channel, tir.floordiv(y, b), tir.floordiv(x, b))

    return te.compute((n, depth, h * b, w * b), element, name="depth_to_space", tag=INJECTIVE)


def space_to_depth(data: Tensor, block_size: int, layout: str = "NCHW") -> Tensor:
    """Blocks of pixels moved into channels (NCHW)."""
    if layout != "NCHW":
        raise WorkbenchError(f"space_to_depth: layout NCHW, got {layout}")
    n, c, h, w = data.shape
    b = block_size

    def element(i: Any, j: Any, y: Any, x: Any) -> Expr:
        inner = tir.floordiv(j, c)
        return data(
            i,
            tir.floormod(j, c),
            y * b + tir.floordiv(inner, b),
            x * b + tir.floormod(inner, b),
        )

    shape = (n, c * (b * b), tir.floordiv(h, b), tir.floordiv(w, b))
    return te.compute(shape, element, name="space_to_depth", tag=INJECTIVE)
