"""Building tensor expressions: placeholder, compute, extern, axes and variables."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.core.traverse import iter_nodes, substitute
from workbench.ir.expr import Expr, IntImm, Range, Var, as_expr
from workbench.runtime.dtype import DataType
from workbench.te.tensor import ComputeOp, ExternOp, PlaceholderOp, Tensor, TensorSlice
from workbench.tirx.buffer import decl_buffer
from workbench.tirx.expr import IterType, IterVar, ProducerLoad, Reduce
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import Evaluate, Stmt

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _as_shape(shape: Any) -> tuple[Expr, ...]:
    if isinstance(shape, (int, Expr)):
        shape = (shape,)
    dims = tuple(map(as_expr, shape))
    for dim in dims:
        if not dim.dtype.startswith(("int", "uint")):
            raise WorkbenchError(f"a shape holds integers, got {dim} of type {dim.dtype}")
        if isinstance(dim, IntImm) and dim.value < 0:
            raise WorkbenchError(
                f"a shape holds no negative sizes, got ({', '.join(map(str, dims))})",
                hint="te.var('n') is a size that is not known yet",
            )
    return dims


def placeholder(shape: Any, dtype: str | None = None, name: str = "placeholder") -> Tensor:
    """An input tensor; `dtype` is float32 if left out."""
    return PlaceholderOp(name, _as_shape(shape), dtype or "float32").output(0)


def var(name: str = "tindex", dtype: str = "int32", span: Any = None) -> Var:
    """A scalar variable, such as a symbolic dimension."""
    return Var(name, dtype, span)


def size_var(name: str = "size", dtype: str = "int32", span: Any = None) -> Var:
    """A scalar variable that is used as a size (a plain variable since TVM 0.26)."""
    return Var(name, dtype, span)


def reduce_axis(dom: Any, name: str = "rv", thread_tag: str = "", span: Any = None) -> IterVar:
    """A reduction axis over `(begin, end)` or a `Range`."""
    if not isinstance(dom, Range) and not (isinstance(dom, (tuple, list)) and len(dom) == 2):
        raise WorkbenchError(
            f"reduce_axis {name}: expected a Range or (begin, end), got {type(dom).__name__} {dom}",
            hint=f"te.reduce_axis((0, {dom}), {name!r})" if isinstance(dom, (int, Expr)) else "",
        )
    domain = dom if isinstance(dom, Range) else Range(*dom)
    variable = Var(name, domain.extent.dtype)
    return IterVar(domain, variable, IterType.COMM_REDUCE, thread_tag, span=span)


def _axis_names(fcompute: Callable[..., Any], ndim: int, varargs: Any, name: str) -> list[str]:
    """The names of the axes: the parameters of `fcompute`, or i0, i1 … for `*i`."""
    names: list[str] = []
    variadic = False
    for parameter in inspect.signature(fcompute).parameters.values():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            variadic = True
        elif parameter.kind in _POSITIONAL and parameter.default is inspect.Parameter.empty:
            names.append(parameter.name)
    if variadic:
        rest = ndim - len(names)
        if varargs is not None:
            if len(varargs) != rest:
                raise WorkbenchError(
                    f"compute {name}: varargs_names has {len(varargs)} names for {rest} dimensions"
                )
            return names + list(varargs)
        return names + [f"i{k}" for k in range(len(names), ndim)]
    if (names and len(names) != ndim) or (not names and ndim):
        raise WorkbenchError(
            f"compute {name}: the function takes {len(names)} indices ({', '.join(names)}) "
            f"but the shape has {ndim} dimensions"
        )
    return names


def _reads(body: Sequence[Expr]) -> list[Tensor]:
    found: dict[int, Tensor] = {}
    for load in iter_nodes(tuple(body), ProducerLoad):
        found.setdefault(id(load.producer), load.producer)
    return list(found.values())


def _element(value: Any) -> Expr:
    return value.__as_expr__() if isinstance(value, TensorSlice) else as_expr(value)


def compute(
    shape: Any,
    fcompute: Callable[..., Any],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
    varargs_names: Sequence[str] | None = None,
) -> Any:
    """A tensor whose element at indices is `fcompute(*indices)`.

    Parameters
    ----------
    shape : integers or expressions; an axis has the data type of its extent.
    fcompute : from indices to an element, or to a list of elements for several outputs; a reduction
        may only be the outermost expression.
    tag : the kind of operation ("injective" …). attrs : annotations of the block.

    Returns one tensor, or a list of them. Raises WorkbenchError if the numbers of indices and
    dimensions differ, or a reduction is not outermost.
    """
    dims = _as_shape(shape)
    names = _axis_names(fcompute, len(dims), varargs_names, name)
    axis = [
        IterVar(Range(dim), Var(n, dim.dtype), IterType.DATA_PAR)
        for n, dim in zip(names, dims, strict=True)
    ]
    result = fcompute(*[iv.var for iv in axis])
    several = isinstance(result, (list, tuple))
    body = [_element(e) for e in (result if several else [result])]
    reductions = [e for e in body if isinstance(e, Reduce)]
    for e in body:
        if e.dtype in ("handle", "void"):
            raise WorkbenchError(f"compute {name}: expected a number as element, got {e}")
        inner = e.source if isinstance(e, Reduce) else (e,)
        nested = next(iter_nodes(tuple(inner), Reduce), None)
        if nested is not None:
            raise WorkbenchError(
                f"compute {name}: a reduction may only be the outermost expression of an element",
                nodes=(nested,),
                hint="make the reduction a tensor of its own and use that",
            )
    if reductions and len(reductions) != len(body):
        raise WorkbenchError(f"compute {name}: either all outputs are reductions or none")
    reduced = reductions[0].axis if reductions else ()
    op = ComputeOp(name, tag, attrs, axis, reduced, body, _reads(body))
    return list(op.outputs) if several else op.output(0)


def _shapes(shape: Any) -> list[Any]:
    """`extern` takes one shape, or a list of shapes."""
    if isinstance(shape, (int, Expr)):
        return [(shape,)]
    return [shape] if not shape or isinstance(shape[0], (int, Expr)) else list(shape)


def extern(
    shape: Any,
    inputs: Sequence[Tensor],
    fcompute: Callable[[list[Var], list[Var]], Any],
    name: str = "extern",
    dtype: Any = None,
    in_buffers: Sequence[Var] | None = None,
    out_buffers: Sequence[Var] | None = None,
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> Any:
    """Tensors computed by a statement (or call) over buffers.

    Parameters
    ----------
    shape : the shape of the output, or a list of shapes.
    fcompute : `(input buffers, output buffers)` to a statement or expression.
    dtype : data type(s) of the outputs; that of the inputs if left out and they agree.
    in_buffers, out_buffers : buffers to use in place of fresh ones.

    Returns one tensor, or a list of them.
    """
    shapes = _shapes(shape)
    for tensor in inputs:
        if not isinstance(tensor, Tensor):
            raise WorkbenchError(f"extern {name}: inputs are tensors, got {type(tensor).__name__}")
    if dtype is None:
        kinds = {t.dtype for t in inputs}
        if len(kinds) != 1:
            raise WorkbenchError(f"extern {name}: give dtype, the inputs have {len(kinds)} types")
        dtype = kinds.pop()
    dtypes = [dtype] * len(shapes) if isinstance(dtype, (str, DataType)) else list(dtype)
    ins = list(in_buffers or [decl_buffer(t.shape, t.dtype, t.name) for t in inputs])
    outs = list(
        out_buffers or [decl_buffer(s, d, name) for s, d in zip(shapes, dtypes, strict=True)]
    )
    body = fcompute(ins, outs)
    if isinstance(body, Expr):
        body = Evaluate(body)
    if not isinstance(body, Stmt):
        raise WorkbenchError(
            f"extern {name}: the function returned {type(body).__name__}, expected a statement"
        )
    op = ExternOp(name, tag, attrs, inputs, ins, outs, body)
    return op.output(0) if len(outs) == 1 else list(op.outputs)


def extern_primfunc(input_tensors: Sequence[Tensor], primfunc: PrimFunc, **kwargs: Any) -> Any:
    """Tensors computed by a `PrimFunc`: first its inputs, then its outputs, all buffers.

    The function's symbolic dimensions take the values of the input shapes. Raises WorkbenchError if
    the numbers or ranks of the parameters do not fit.
    """
    buffers = [p for p in primfunc.params if hasattr(p.ty, "shape")]
    if len(buffers) <= len(input_tensors) or len(buffers) != len(primfunc.params):
        raise WorkbenchError(
            f"extern_primfunc: the function has {len(buffers)} buffers, expected "
            f"{len(input_tensors)} inputs and at least one output"
        )
    dims: dict[Var, Expr] = {}
    for tensor, param in zip(input_tensors, buffers, strict=False):
        if len(tensor.shape) != len(param.shape) or tensor.dtype != param.dtype:
            raise WorkbenchError(
                f"extern_primfunc: parameter {param.name} is {param.dtype} with "
                f"{len(param.shape)} dimensions, got {tensor}"
            )
        for size, given in zip(param.shape, tensor.shape, strict=True):
            if isinstance(size, Var):
                dims[size] = given
    params = [substitute(b, dims) for b in buffers]
    renamed = dict(zip(buffers, params, strict=True))
    body = substitute(primfunc.body, {**dims, **renamed})
    count = len(input_tensors)
    outs = params[count:]
    options = {"name": primfunc.attrs.get("global_symbol", "extern_primfunc"), **kwargs}
    return extern(
        [b.shape for b in outs],
        input_tensors,
        lambda _ins, _outs: body,
        dtype=[b.dtype for b in outs],
        in_buffers=params[:count],
        out_buffers=outs,
        **options,
    )
