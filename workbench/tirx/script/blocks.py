"""The functions of `T` that make blocks and their axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.ir.expr import IntImm, Range, Var
from workbench.script.error import ScriptError
from workbench.tirx import op
from workbench.tirx import stmt as S
from workbench.tirx.expr import IterVar
from workbench.tirx.script.expressions import half_open
from workbench.tirx.script.state import BlockState, sequence, state
from workbench.tirx.script.values import (
    Frame,
    Pending,
    annotations_of,
    region_of,
    value_of,
)


class BlockFrame(Frame):
    """`with T.sblock("name"):`"""

    def __init__(self, name: str, no_realize: bool) -> None:
        self.block = BlockState(name, not no_realize)

    def enter(self) -> None:
        """Begins it."""
        state("T.sblock").blocks.append(self.block)

    def leave(self, body: list[S.Stmt]) -> S.Stmt:
        """The statement around `body`."""
        state("T.sblock").blocks.pop()
        return self.block.finish(sequence(body))


def sblock(name: str = "", no_realize: bool = False, exec_scope: str = "") -> Frame:
    """A block: a unit of computation with axes of its own."""
    if exec_scope:
        raise ScriptError("execution scopes of tile programs are not supported")
    return BlockFrame(name, no_realize)


class InitFrame(Frame):
    """`with T.init():`"""

    def leave(self, body: list[S.Stmt]) -> None:
        """The statement around `body`."""
        block = state("T.init").block("T.init")
        if block.init is not None:
            raise ScriptError("a block has one `with T.init():`")
        block.init = sequence(body)


def init() -> Frame:
    """What a block does where its reduction starts."""
    return InitFrame()


def _flat(items: Sequence[Any]) -> list[Any]:
    out: list[Any] = []
    for item in items:
        out.extend(item if isinstance(item, (list, tuple)) else [item])
    return out


def reads(*buffer_slices: Any) -> None:
    """The regions that a block reads."""
    block = state("T.reads").block("T.reads")
    block.reads = [*(block.reads or []), *map(region_of, _flat(buffer_slices))]


def writes(*buffer_slices: Any) -> None:
    """The regions that a block writes."""
    block = state("T.writes").block("T.writes")
    block.writes = [*(block.writes or []), *map(region_of, _flat(buffer_slices))]


def where(predicate: Any) -> None:
    """The condition under which a block runs."""
    block = state("T.where").block("T.where")
    block.predicate = (
        IntImm("bool", predicate) if isinstance(predicate, (bool, int)) else (value_of(predicate))
    )


def sblock_attr(attrs: Mapping[str, Any]) -> None:
    """Annotations of a block."""
    block = state("T.sblock_attr").block("T.sblock_attr")
    for key, value in annotations_of(attrs).items():
        if key in block.annotations:
            raise ScriptError(f"the block has the annotation {key!r} already")
        block.annotations[key] = value


class _Axis(Pending):
    def __init__(self, kind: int, dom: Range, binding: Any, dtype: str) -> None:
        self.kind = kind
        self.dom = dom
        self.binding = binding
        self.dtype = dtype

    def bind(self, name: str) -> Var:
        """The value under a name."""
        here = state("T.axis")
        block = here.block("T.axis")
        if block.realize and self.binding is None:
            raise ScriptError(f"the axis {name} needs the value it is bound to")
        var = Var(name, self.dtype)
        block.axes.append(IterVar(self.dom, var, self.kind))
        if self.binding is not None:
            value = self.binding
            if isinstance(value, (int, float)):
                value = op.const(value, self.dtype)
            block.values.append(value_of(value))
        return var


class Axis:
    """`T.axis`: the axes of a block."""

    __script_namespace__ = True

    @staticmethod
    def _make(kind: int, dom: Any, binding: Any, dtype: Any) -> Pending:
        if isinstance(dom, Range):
            low, extent = dom.min, dom.extent
        else:
            low, extent = (
                half_open(*dom) if isinstance(dom, (tuple, list)) else half_open(dom, None)
            )
        domain = Range.from_min_extent(low, extent)
        return _Axis(kind, domain, binding, str(extent.dtype if dtype is None else dtype))

    @staticmethod
    def spatial(dom: Any, binding: Any = None, dtype: Any = None) -> Pending:
        """An axis whose turns are independent."""
        return Axis._make(0, dom, binding, dtype)

    @staticmethod
    def reduce(dom: Any, binding: Any = None, dtype: Any = None) -> Pending:
        """An axis over which a value is accumulated."""
        return Axis._make(2, dom, binding, dtype)

    @staticmethod
    def scan(dom: Any, binding: Any = None, dtype: Any = None) -> Pending:
        """An axis whose turns are in order."""
        return Axis._make(3, dom, binding, dtype)

    @staticmethod
    def opaque(dom: Any, binding: Any = None, dtype: Any = None) -> Pending:
        """An axis of which nothing is known."""
        return Axis._make(4, dom, binding, dtype)

    S = spatial
    R = reduce

    @staticmethod
    def remap(kinds: str, bindings: Sequence[Any], dtype: Any = None) -> Any:
        """Axes with the domains of the loops they are bound to; `kinds` is a text of S and R."""
        here = state("T.axis.remap")
        if len(kinds) != len(bindings):
            raise ScriptError(f"T.axis.remap: {len(kinds)} kinds but {len(bindings)} loops")
        out = []
        for kind, binding in zip(kinds, bindings, strict=True):
            if kind not in "SR":
                raise ScriptError(f"T.axis.remap: expected S or R, got {kind!r}")
            loop = here.loops.get(id(binding))
            if loop is None:
                raise ScriptError(
                    "T.axis.remap: expected loop variables",
                    hint="T.axis.spatial(extent, value) takes any value",
                )
            dom = Range.from_min_extent(*loop)
            out.append(_Axis(0 if kind == "S" else 2, dom, binding, str(loop[1].dtype)))
        return out if len(out) != 1 else out[0]
