"""The nodes of iteration maps, and arithmetic on their extents."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any

from workbench.arith.analyzer import Analyzer
from workbench.arith.build import (
    imm,
    make_add,
    make_floordiv,
    make_floormod,
    make_mul,
    make_sub,
    same,
)
from workbench.core.errors import WorkbenchError
from workbench.core.node import Node, field
from workbench.ir.expr import Expr, IntImm, as_expr
from workbench.tirx.expr import LE


class IterMapLevel(IntEnum):
    """What `detect_iter_map` checks: bijection, surjection onto the box of extents, or nothing."""

    Bijective = 0
    Surjective = 1
    NoCheck = 3

    @staticmethod
    def from_str(name: str) -> IterMapLevel:
        """The level of a name ("bijective", "surjective", "nocheck")."""
        for level in IterMapLevel:
            if level.name.lower() == name.lower():
                return level
        raise WorkbenchError(
            f"unknown check level {name!r}", hint="one of bijective, surjective, nocheck"
        )


class IterMapExpr(Expr):
    """Base of the expressions of iteration maps."""


class IterMark(Node):
    """Something that runs through 0 … extent-1: a variable or a fused sum."""

    source: Expr = field(converter=as_expr)
    extent: Expr = field(converter=as_expr)

    def __repr__(self) -> str:
        return f"IterMark({normalize_iter_map_to_expr(self.source)}, extent={self.extent})"


class IterSplitExpr(IterMapExpr):
    """source // lower_factor % extent * scale"""

    source: IterMark
    lower_factor: Expr = field(converter=as_expr)
    extent: Expr = field(converter=as_expr)
    scale: Expr = field(converter=as_expr)
    ty: Any = field(init=False, derive=lambda self: self.source.source.ty)

    def __repr__(self) -> str:
        return (
            f"IterSplit({self.source}, lower_factor={self.lower_factor}, "
            f"extent={self.extent}, scale={self.scale})"
        )


class IterSumExpr(IterMapExpr):
    """Σ args + base"""

    args: tuple[IterSplitExpr, ...]
    base: Expr = field(converter=as_expr)
    ty: Any = field(init=False, derive=lambda self: self.base.ty)

    def __repr__(self) -> str:
        return f"IterSum([{', '.join(map(str, self.args))}], base={self.base})"


def _setters(cls: type, *names: str) -> list[Callable[[Any, Any], None]]:
    return [getattr(cls, name).__set__ for name in names]


_set_source, _set_lower, _set_extent, _set_scale, _set_ty, _set_span = _setters(
    IterSplitExpr, "source", "lower_factor", "extent", "scale", "ty", "span"
)
_set_args, _set_base, _set_sum_ty, _set_sum_span = _setters(
    IterSumExpr, "args", "base", "ty", "span"
)


def split_of(source: IterMark, lower_factor: Any, extent: Any, scale: Any) -> IterSplitExpr:
    """An `IterSplitExpr` of finished expressions, without coercion (detection builds many)."""
    node = IterSplitExpr.__new__(IterSplitExpr)
    _set_source(node, source)
    _set_lower(node, lower_factor)
    _set_extent(node, extent)
    _set_scale(node, scale)
    _set_ty(node, source.source.ty)
    _set_span(node, None)
    return node


def rescaled(split: IterSplitExpr, scale: Any) -> IterSplitExpr:
    """The split with another scale."""
    if scale is split.scale:
        return split
    return split_of(split.source, split.lower_factor, split.extent, scale)


def sum_of(args: tuple[IterSplitExpr, ...], base: Any) -> IterSumExpr:
    """An `IterSumExpr` of finished expressions, without coercion."""
    node = IterSumExpr.__new__(IterSumExpr)
    _set_args(node, args)
    _set_base(node, base)
    _set_sum_ty(node, base.ty)
    _set_sum_span(node, None)
    return node


class IterMapResult(Node):
    """What `detect_iter_map` found: one `IterSumExpr` per index, or none and the reasons."""

    indices: tuple[IterSumExpr, ...] = ()
    errors: tuple[str, ...] = ()
    padding_predicate: Expr = field(converter=as_expr, default=None)


class NotAffine(Exception):
    """The indices are no iteration map; the message says why."""


# ---------------------------------------------------------------------------------------------
# Arithmetic on extents and scales: Python-fast for constants


class Arithmetic:
    """Exact arithmetic on constants and symbolic expressions in the state of an analyzer."""

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer

    def equal(self, a: Any, b: Any) -> bool:
        """Whether two extents are certainly equal."""
        if type(a) is IntImm and type(b) is IntImm:
            return a.value == b.value
        return same(a, b) or self.analyzer.can_prove_equal(a, self.like(b, a))

    @staticmethod
    def like(value: Any, other: Any) -> Any:
        """A constant in the type of another expression."""
        if type(value) is IntImm and value.ty != other.ty:
            found = imm(other.ty, value.value)
            return value if found is None else found
        return value

    def times(self, a: Any, b: Any) -> Any:
        """a * b"""
        if type(a) is IntImm:
            a, b = b, a
        if type(b) is IntImm:
            if b.value == 1:
                return a
            if b.value == 0:
                return self.like(b, a)
            if type(a) is IntImm:
                found = imm(a.ty, a.value * b.value)
                if found is not None:
                    return found
            b = self.like(b, a)
        return self.analyzer.simplify(make_mul(a, b))

    def plus(self, a: Any, b: Any) -> Any:
        """a + b"""
        if type(b) is IntImm and b.value == 0:
            return a
        if type(a) is IntImm and a.value == 0:
            return b
        return self.analyzer.simplify(make_add(a, self.like(b, a)))

    def minus(self, a: Any, b: Any) -> Any:
        """a - b"""
        if type(b) is IntImm and b.value == 0:
            return a
        if type(a) is IntImm:
            a = self.like(a, b)
        return self.analyzer.simplify(make_sub(a, self.like(b, a)))

    def divide(self, a: Any, b: Any) -> Any:
        """The exact quotient, or None."""
        if type(b) is IntImm:
            if b.value == 1:
                return a
            if b.value == 0:
                return None
            if type(a) is IntImm:
                return imm(a.ty, a.value // b.value) if a.value % b.value == 0 else None
            b = self.like(b, a)
        elif type(a) is IntImm:
            a = self.like(a, b)
        if type(a) is IntImm and a.value == 0:
            return a
        if same(a, b):
            return imm(a.ty, 1)
        rest = self.analyzer.simplify(make_floormod(a, b))
        if type(rest) is IntImm and rest.value == 0:
            return self.analyzer.simplify(make_floordiv(a, b))
        return None

    def at_most(self, a: Any, b: Any) -> bool:
        """Whether a <= b certainly holds."""
        if type(a) is IntImm and type(b) is IntImm:
            return a.value <= b.value
        if type(a) is IntImm:
            a = self.like(a, b)
        return self.analyzer.can_prove(LE(a, self.like(b, a)))

    @staticmethod
    def one(ty: Any) -> Any:
        """The constant 1 of a type."""
        found = imm(ty, 1)
        assert found is not None
        return found

    @staticmethod
    def zero(ty: Any) -> Any:
        """The constant 0 of a type."""
        found = imm(ty, 0)
        assert found is not None
        return found


def is_one(expr: Any) -> bool:
    """Whether an expression is the constant 1."""
    return type(expr) is IntImm and expr.value == 1


def is_zero(expr: Any) -> bool:
    """Whether an expression is the constant 0."""
    return type(expr) is IntImm and expr.value == 0


def normalize_iter_map_to_expr(expr: Any) -> Any:
    """The ordinary expression of an iteration map expression."""
    if isinstance(expr, IterSumExpr):
        total: Any = None
        for split in expr.args:
            part = normalize_iter_map_to_expr(split)
            total = part if total is None else make_add(total, part)
        if total is None:
            return expr.base
        return total if is_zero(expr.base) else make_add(total, expr.base)
    if isinstance(expr, IterSplitExpr):
        source = expr.source
        value = normalize_iter_map_to_expr(source.source)
        lower, extent = expr.lower_factor, expr.extent
        whole = Arithmetic(Analyzer()).equal
        if is_one(lower) and not whole(extent, source.extent):
            value = make_floormod(value, extent)
        elif not is_one(lower):
            if not whole(_product(lower, extent), source.extent):
                value = make_floormod(value, _product(lower, extent))
            value = make_floordiv(value, lower)
        return value if is_one(expr.scale) else make_mul(value, expr.scale)
    return expr


def _product(a: Any, b: Any) -> Any:
    return Arithmetic(Analyzer()).times(a, b)
