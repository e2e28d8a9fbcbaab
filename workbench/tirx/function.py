"""PrimFunc: a function of the loop IR. TensorIntrin: a pair of them. IndexMap: an index change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.core.node import DEF, Node, as_tuple, field, init_fields
from workbench.core.registry import Registry
from workbench.core.traverse import iter_nodes, substitute
from workbench.ir.attrs import as_attrs
from workbench.ir.expr import Expr, IntImm, Var, as_expr
from workbench.ir.function import BaseFunc
from workbench.ir.span import Span
from workbench.ir.type import FuncType, TupleType, Type, as_type
from workbench.tirx.stmt import Evaluate, Stmt


class PrimFunc(BaseFunc):
    """A function over buffers and scalars.

    Parameters are variables: of `BufferType` for buffers, of `PrimType` for scalars. `ret_type` is
    the type of the returned value, None for a function that returns nothing.
    """

    params: tuple[Var, ...] = field(role=DEF)
    body: Stmt
    ret_type: Type | None = field(converter=as_type, default=None)
    ty: Any = field(init=False, derive=lambda self: self._type())

    def __init__(
        self,
        params: Sequence[Var],
        body: Stmt | Expr,
        ret_type: Type | str | None = None,
        attrs: Mapping[str, Any] | None = None,
        span: Span | None = None,
    ) -> None:
        if isinstance(body, Expr):
            body = Evaluate(body)
        for param in params:
            if not isinstance(param, Var):
                raise TypeError(
                    f"PrimFunc: parameters are variables, got {type(param).__name__} {param}"
                )
        init_fields(
            self, params=params, body=body, ret_type=ret_type, attrs=as_attrs(attrs), span=span
        )

    def _type(self) -> FuncType:
        return FuncType(tuple(p.ty for p in self.params), self.ret_type or TupleType(()))

    def with_body(self, new_body: Stmt, span: Span | None = None) -> PrimFunc:
        """A copy with another body."""
        return self.replace(body=new_body)

    def specialize(self, param_map: Mapping[Var, Any]) -> PrimFunc:
        """Gives parameters constant values, or buffers with constant shapes.

        `{n: 16}` for a symbolic dimension or scalar parameter; `{A: decl_buffer((16, 4))}` matches
        the shape of the parameter `A` against that of the given buffer.
        Raises WorkbenchError if a key is no parameter or dimension, or the shapes disagree.
        """
        known = {id(v): v for p in self.params for v in _dimension_vars(p)}
        known.update({id(p): p for p in self.params})
        values: dict[Var, Expr] = {}
        for var, value in param_map.items():
            if id(var) not in known:
                raise WorkbenchError(f"specialize: {var} is no parameter and no dimension of one")
            if isinstance(value, Var) and hasattr(value.ty, "shape"):
                _match_shape(var, value, values)
            else:
                constant = as_expr(value)
                if constant.dtype != var.dtype:
                    if not isinstance(constant, IntImm):
                        raise WorkbenchError(
                            f"specialize: {var} is {var.dtype}, got {constant.dtype} {constant}"
                        )
                    constant = IntImm(var.dtype, constant.value)
                values[var] = constant
        params = tuple(p for p in self.params if p not in _ById(values))
        return substitute(self.replace(params=params), values)


class _ById:
    """Membership by identity (expressions have no truth-valued ==)."""

    def __init__(self, items: Mapping[Any, Any]) -> None:
        self.ids = {id(k) for k in items}

    def __contains__(self, item: object) -> bool:
        return id(item) in self.ids


def _dimension_vars(param: Var) -> list[Var]:
    return list(iter_nodes(param.ty, Var))


def _match_shape(param: Var, given: Var, values: dict[Var, Expr]) -> None:
    old, new = param.ty, given.ty
    if len(old.shape) != len(new.shape) or old.dtype != new.dtype:
        raise WorkbenchError(
            f"specialize: {param.name} is {old.dtype} with {len(old.shape)} dimensions, "
            f"the given buffer {new.dtype} with {len(new.shape)}"
        )
    for a, b in zip(old.shape, new.shape, strict=True):
        if isinstance(a, Var):
            values[a] = b
        elif not bool(a == b):
            raise WorkbenchError(f"specialize: {param.name}: dimension {a} cannot become {b}")


class TensorIntrin(Node):
    """What a hardware instruction computes (`desc`) and how it is called (`impl`)."""

    desc: PrimFunc
    impl: PrimFunc

    @staticmethod
    def register(name: str, desc: PrimFunc, impl: PrimFunc, override: bool = False) -> None:
        """Declares a tensor intrinsic under a name."""
        if override:
            tensor_intrins.remove(name)
        tensor_intrins.add(name, TensorIntrin(desc, impl))

    @staticmethod
    def get(name: str, allow_missing: bool = False) -> TensorIntrin | None:
        """The intrinsic of a name. Raises RegistryError if unknown, unless `allow_missing`."""
        return tensor_intrins.get(name) if allow_missing else tensor_intrins[name]


tensor_intrins: Registry[TensorIntrin] = Registry("tensor intrinsic")


class IndexMap(Node):
    """A map of indices: `final_indices` as functions of `initial_indices`."""

    initial_indices: tuple[Var, ...] = field(role=DEF, converter=as_tuple)
    final_indices: tuple[Expr, ...] = field(converter=lambda v: tuple(map(as_expr, v)))
    inverse_index_map: Any = field(default=None)

    @staticmethod
    def from_func(
        mapping_function: Callable[..., Any], ndim: int | None = None, inverse: Any = None
    ) -> IndexMap:
        """The map of a Python function of `ndim` indices (its parameters, if not given)."""
        import inspect

        names = list(inspect.signature(mapping_function).parameters)
        if ndim is not None and len(names) != ndim:
            names = [f"i{k}" for k in range(ndim)]
        variables = [Var(name, "int32") for name in names]
        result = mapping_function(*variables)
        out = result if isinstance(result, (list, tuple)) else [result]
        return IndexMap(variables, out, inverse)

    def map_indices(self, indices: Sequence[Any]) -> list[Expr]:
        """The final indices at `indices`."""
        if len(indices) != len(self.initial_indices):
            raise WorkbenchError(
                f"index map of {len(self.initial_indices)} indices applied to {len(indices)}"
            )
        pairs = dict(zip(self.initial_indices, map(as_expr, indices), strict=True))
        return [substitute(e, pairs) for e in self.final_indices]
