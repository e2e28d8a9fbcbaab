"""Convolutions of any number of spatial dimensions, any layout, with groups.

One formula serves all: a layout is a word such as "NCHW" (data), "OIHW" (weights). Padding is a
block of its own, so that a schedule can inline or place it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench import te
from workbench.core.errors import WorkbenchError
from workbench.ir.expr import Expr, IntImm
from workbench.te.tensor import Tensor
from workbench.tirx import op as tir
from workbench.topi.dims import as_ints, const_int, require_int, require_tensor
from workbench.topi.nn.pad import dilate, pad, spatial_padding

_SPATIAL = {1: "W", 2: "HW", 3: "DHW"}
_OUT_AXES = {"N": "nn", "C": "ff", "D": "zz", "H": "yy", "W": "xx"}
_KERNEL_AXES = {"D": "rz", "H": "ry", "W": "rx"}


def output_size(size: Any, kernel: int, low: int, high: int, stride: int, dilation: int) -> Any:
    """Number of windows along one dimension."""
    window = (kernel - 1) * dilation + 1
    total = const_int(size)
    if total is not None:
        count = (total + low + high - window) // stride + 1
        if count <= 0:
            raise WorkbenchError(
                f"a window of {window} does not fit into {total} elements padded by {low}, {high}"
            )
        return IntImm(size.dtype, count)
    rest = low + high - window
    if stride != 1:
        return tir.floordiv(size + rest, stride) + 1
    # Plainly `size` where padding and window cancel out, so that loops can be fused.
    return size + (rest + 1) if rest != -1 else size


class _Geometry:
    """Where the dimensions of a convolution are, and their sizes."""

    def __init__(self, data: Tensor, weight: Tensor, data_layout: str, kernel_layout: str) -> None:
        n = len(data_layout) - 2
        if n not in _SPATIAL or sorted(data_layout) != sorted("NC" + _SPATIAL[n]):
            raise WorkbenchError(f"conv: unknown data layout {data_layout!r} (such as NCHW, NHWC)")
        if sorted(kernel_layout) != sorted("OI" + _SPATIAL[n]):
            raise WorkbenchError(
                f"conv: kernel layout {kernel_layout!r} does not fit {data_layout}"
            )
        if data.ndim != n + 2 or weight.ndim != n + 2:
            raise WorkbenchError(
                f"conv: layout {data_layout} needs {n + 2} dimensions, got {data} and {weight}"
            )
        self.spatial = _SPATIAL[n]
        self.data_layout = data_layout
        self.kernel_layout = kernel_layout
        self.kernel = [
            require_int(weight.shape[kernel_layout.index(s)], "conv: kernel size")
            for s in self.spatial
        ]

    def data_size(self, data: Tensor, letter: str) -> Any:
        return data.shape[self.data_layout.index(letter)]

    def weight_size(self, weight: Tensor, letter: str) -> Any:
        return weight.shape[self.kernel_layout.index(letter)]

    def at(self, layout: str, values: dict[str, Any]) -> list[Any]:
        return [values[letter] for letter in layout]


def _default_kernel_layout(data_layout: str) -> str:
    spatial = "".join(s for s in data_layout if s not in "NC")
    return f"OI{spatial}" if data_layout.startswith("NC") else f"{spatial}IO"


def conv(
    inp: Tensor,
    filt: Tensor,
    strides: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_layout: str = "NCHW",
    kernel_layout: str = "",
    out_dtype: str | None = None,
    out_layout: str | None = None,
    name: str = "",
) -> Tensor:
    """The convolution (cross-correlation) of `inp` with `filt`.

    Parameters
    ----------
    strides, dilation : one number, or one per spatial dimension.
    padding : one number, one per dimension, or all before then all after.
    groups : channels are split into that many independent groups; as many as input channels is a
        depthwise convolution.
    out_dtype : type in which products are added; that of the data if left out.

    Raises WorkbenchError if channels do not fit the groups or a window does not fit the data.
    """
    if out_layout not in (None, "", data_layout):
        raise WorkbenchError(
            f"conv: the output has the layout {data_layout} of the data, not {out_layout}"
        )
    require_tensor(inp, "conv")
    require_tensor(filt, "conv")
    geo = _Geometry(inp, filt, data_layout, kernel_layout or _default_kernel_layout(data_layout))
    n = len(geo.spatial)
    steps = as_ints(strides, n, "conv: stride")
    dilations = as_ints(dilation, n, "conv: dilation")
    windows = [(k - 1) * d + 1 for k, d in zip(geo.kernel, dilations, strict=True)]
    low, high = spatial_padding(padding, windows, "conv")
    channels, filters = geo.data_size(inp, "C"), geo.weight_size(filt, "O")
    per_group = geo.weight_size(filt, "I")
    _check_groups(channels, filters, per_group, groups)
    sizes = {
        s: output_size(
            geo.data_size(inp, s), geo.kernel[k], low[k], high[k], steps[k], dilations[k]
        )
        for k, s in enumerate(geo.spatial)
    }
    if any(low) or any(high):
        before = {s: low[k] for k, s in enumerate(geo.spatial)}
        after = {s: high[k] for k, s in enumerate(geo.spatial)}
        inp = pad(
            inp,
            [before.get(c, 0) for c in data_layout],
            [after.get(c, 0) for c in data_layout],
            name="pad_temp",
        )
    return _products(inp, filt, geo, steps, dilations, groups, sizes, out_dtype, name)


def _check_groups(channels: Any, filters: Any, per_group: Any, groups: int) -> None:
    c, f, p = const_int(channels), const_int(filters), const_int(per_group)
    if c is not None and p is not None and c != p * groups:
        raise WorkbenchError(
            f"conv: the data has {c} channels, the weights expect {p} in each of {groups} groups"
        )
    if f is not None and f % groups:
        raise WorkbenchError(f"conv: {f} filters do not divide into {groups} groups")


def _products(
    data: Tensor,
    filt: Tensor,
    geo: _Geometry,
    strides: Sequence[int],
    dilations: Sequence[int],
    groups: int,
    sizes: dict[str, Any],
    out_dtype: str | None,
    name: str,
) -> Tensor:
    """The block of the convolution over data that is padded already."""
    filters, per_group = geo.weight_size(filt, "O"), geo.weight_size(filt, "I")
    depthwise = groups > 1 and const_int(per_group) == 1
    channel = None if depthwise else te.reduce_axis((IntImm(per_group.dtype, 0), per_group), "rc")
    kernel_axes = {
        s: te.reduce_axis((0, k), _KERNEL_AXES[s])
        for s, k in zip(geo.spatial, geo.kernel, strict=True)
    }
    group_size = tir.floordiv(filters, groups) if groups > 1 else None
    kind = out_dtype or data.dtype

    def element(*i: Any) -> Expr:
        out = dict(zip(geo.data_layout, i, strict=True))
        at = {"N": out["N"]}
        for k, s in enumerate(geo.spatial):
            at[s] = out[s] * strides[k] + kernel_axes[s].var * dilations[k]
        inner: Any = 0 if channel is None else channel.var
        first = inner
        if groups > 1:
            group = out["C"] if const_int(group_size) == 1 else tir.floordiv(out["C"], group_size)
            first = group if depthwise else group * per_group + inner
        at["C"] = first
        weight = {"O": out["C"], "I": inner, **{s: a.var for s, a in kernel_axes.items()}}
        x, w = data(*geo.at(geo.data_layout, at)), filt(*geo.at(geo.kernel_layout, weight))
        axes = ([] if channel is None else [channel]) + list(kernel_axes.values())
        return te.sum(tir.cast(kind, x) * tir.cast(kind, w), axis=axes)

    whole = {"N": geo.data_size(data, "N"), "C": filters, **sizes}
    n = len(geo.spatial)
    default = f"conv{n}d_{geo.data_layout.lower()}"
    if depthwise:
        default = f"depthwise_{default}"
    elif groups > 1:
        default = f"group_{default}"
    return te.compute(
        geo.at(geo.data_layout, whole),
        element,
        name=name or default,
        tag=name or default,
        varargs_names=[_OUT_AXES[c] for c in geo.data_layout],
    )


def conv1d(
    data: Tensor,
    kernel: Tensor,
    strides: Any = 1,
    padding: Any = "VALID",
    dilation: Any = 1,
    groups: int = 1,
    data_layout: str = "NCW",
    kernel_layout: str = "",
    out_dtype: str | None = None,
) -> Tensor:
    """One-dimensional convolution."""
    return conv(
        data, kernel, strides, padding, dilation, groups, data_layout, kernel_layout, out_dtype
    )


def conv2d(
    input: Tensor,
    filter: Tensor,
    strides: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    data_layout: str = "NCHW",
    kernel_layout: str = "",
    out_dtype: str | None = None,
    groups: int = 1,
) -> Tensor:
    """Two-dimensional convolution."""
    return conv(
        input, filter, strides, padding, dilation, groups, data_layout, kernel_layout, out_dtype
    )


def conv2d_nchw(
    Input: Tensor, Filter: Tensor, stride: Any, padding: Any, dilation: Any, out_dtype: Any = None
) -> Tensor:
    """Two-dimensional convolution, channels first."""
    return conv(Input, Filter, stride, padding, dilation, 1, "NCHW", "OIHW", out_dtype)


def conv2d_nhwc(
    Input: Tensor, Filter: Tensor, stride: Any, padding: Any, dilation: Any, out_dtype: Any = None
) -> Tensor:
    """Two-dimensional convolution, channels last, weights HWIO."""
    return conv(Input, Filter, stride, padding, dilation, 1, "NHWC", "HWIO", out_dtype)


def group_conv2d_nchw(
    Input: Tensor,
    Filter: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    out_dtype: Any = None,
) -> Tensor:
    """Two-dimensional convolution in groups of channels."""
    return conv(Input, Filter, stride, padding, dilation, groups, "NCHW", "OIHW", out_dtype)


def conv3d_ncdhw(
    Input: Tensor,
    Filter: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int = 1,
    out_dtype: Any = None,
) -> Tensor:
    """Three-dimensional convolution, channels first."""
    return conv(Input, Filter, stride, padding, dilation, groups, "NCDHW", "OIDHW", out_dtype)


def conv_transpose(
    data: Tensor,
    kernel: Tensor,
    strides: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    out_dtype: str | None = None,
    data_layout: str = "",
    kernel_layout: str = "",
) -> Tensor:
    """The transposed convolution (gradient of a convolution), channels first.

    `kernel` is (input channels, output channels / groups, …). `output_padding` adds elements at the
    end of each dimension. Computed as a convolution of the data spread out by the strides.
    """
    n = data.ndim - 2
    if n not in _SPATIAL or kernel.ndim != n + 2:
        raise WorkbenchError(f"conv_transpose: expected 3 to 5 dimensions, got {data} and {kernel}")
    letters = _SPATIAL[n]
    if data_layout not in ("", f"NC{letters}") or kernel_layout not in ("", f"IO{letters}"):
        raise WorkbenchError(
            f"conv_transpose: layouts are NC{letters} and IO{letters}, "
            f"got {data_layout} and {kernel_layout}"
        )
    step = as_ints(strides, n, "conv_transpose: stride")
    spread = as_ints(dilation, n, "conv_transpose: dilation")
    extra = as_ints(output_padding, n, "conv_transpose: output padding")
    sizes = [require_int(d, "conv_transpose: kernel size") for d in kernel.shape[2:]]
    window = [(k - 1) * d + 1 for k, d in zip(sizes, spread, strict=True)]
    low, high = spatial_padding(padding, window, "conv_transpose")
    for k in range(n):
        if extra[k] and extra[k] >= max(step[k], spread[k]):
            raise WorkbenchError(
                f"conv_transpose: output padding {extra[k]} must be below the stride or dilation"
            )
    channels, per_group = kernel.shape[0], kernel.shape[1]
    data = dilate(data, [1, 1, *step], name="data_dilate") if any(s > 1 for s in step) else data
    before = [window[k] - 1 - low[k] for k in range(n)]
    after = [window[k] - 1 - high[k] + extra[k] for k in range(n)]
    if any(before) or any(after):
        data = pad(data, [0, 0, *before], [0, 0, *after], name="data_pad")
    in_group = tir.floordiv(channels, groups) if groups > 1 else channels
    rc = te.reduce_axis((IntImm(channels.dtype, 0), in_group), "rc")
    axes = [
        te.reduce_axis((0, k), _KERNEL_AXES[s]) for s, k in zip(_SPATIAL[n], sizes, strict=True)
    ]
    kind = out_dtype or data.dtype

    def element(b: Any, c: Any, *i: Any) -> Expr:
        group: Any = 0 if groups == 1 else tir.floordiv(c, per_group)
        source = rc.var if groups == 1 else group * in_group + rc.var
        inner = c if groups == 1 else tir.floormod(c, per_group)
        place = [v + a.var * d for v, a, d in zip(i, axes, spread, strict=True)]
        mirrored = [(k - 1) - a.var for k, a in zip(sizes, axes, strict=True)]
        x, w = data(b, source, *place), kernel(source, inner, *mirrored)
        return te.sum(tir.cast(kind, x) * tir.cast(kind, w), axis=[rc, *axes])

    shape = [output_size(data.shape[2 + k], sizes[k], 0, 0, 1, spread[k]) for k in range(n)]
    name = f"conv{n}d_transpose_nc{_SPATIAL[n].lower()}"
    return te.compute(
        [data.shape[0], per_group * groups, *shape],
        element,
        name=name,
        tag=name,
        varargs_names=[_OUT_AXES[s] for s in _SPATIAL[n]],
    )


def conv2d_transpose_nchw(
    Input: Tensor,
    Filter: Tensor,
    strides: Any,
    padding: Any,
    out_dtype: str | None = None,
    output_padding: Any = 0,
) -> Tensor:
    """Two-dimensional transposed convolution."""
    return conv_transpose(Input, Filter, strides, padding, output_padding, 1, 1, out_dtype)


def group_conv2d_transpose_nchw(
    data: Tensor,
    kernel: Tensor,
    stride: Any,
    padding: Any,
    out_dtype: str | None,
    output_padding: Any,
    groups: int,
) -> Tensor:
    """Two-dimensional transposed convolution in groups of channels."""
    return conv_transpose(data, kernel, stride, padding, output_padding, 1, groups, out_dtype)
