"""Statements. `Bind`, `AllocBuffer` and `DeclBuffer` have no body: they hold for what follows them
in the enclosing `SeqStmt` (as in TVM 0.26)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

from workbench.core.node import DEF, META, Node, field
from workbench.ir.expr import Expr, IntImm, Range, StringImm, Var, as_expr
from workbench.ir.span import Span
from workbench.tirx.expr import IterVar, _indices, _prim, check_access, loaded_type


class Stmt(Node):
    """Base of all statements."""

    span: Span | None = field(role=META, default=None, kw_only=True)


class Bind(Stmt):
    """`var = value`, visible in the statements after it."""

    var: Var = field(role=DEF)
    value: Expr = field(converter=as_expr)


def _string(value: Any) -> StringImm:
    return value if isinstance(value, StringImm) else StringImm(value)


class AssertStmt(Stmt):
    """Unless `condition`: an error of kind `error_kind` with the joined `message_parts`."""

    error_kind: StringImm = field(converter=_string, alias="kind")
    condition: Expr = field(converter=_prim)
    message_parts: tuple[StringImm, ...] = field(
        converter=lambda v: tuple(map(_string, v if isinstance(v, (list, tuple)) else [v])),
        default=(),
    )


class ForKind(IntEnum):
    """How a loop runs."""

    SERIAL = 0
    PARALLEL = 1
    VECTORIZED = 2
    UNROLLED = 3
    THREAD_BINDING = 4


class For(Stmt):
    """`body` for `loop_var` in [min, min + extent), in steps of `step` (1 if None)."""

    loop_var: Var = field(role=DEF)
    min: Expr = field(converter=_prim)
    extent: Expr = field(converter=_prim)
    kind: ForKind = field(converter=ForKind)
    body: Stmt
    thread_binding: IterVar | None = None
    annotations: Mapping[str, Any] = {}
    step: Expr | None = field(converter=_prim, default=None)

    def __check__(self) -> None:
        for what, value in (("extent", self.extent), ("begin", self.min), ("step", self.step)):
            if value is not None and not value.dtype.startswith(("int", "uint", "bool")):
                raise TypeError(
                    f"For: expected an integer as {what} of loop {self.loop_var.name}, got {value}"
                    f" of type {value.dtype}"
                )


class While(Stmt):
    """`body` as long as `condition` holds."""

    condition: Expr = field(converter=_prim)
    body: Stmt


class Break(Stmt):
    """Leaves the innermost loop."""


class Continue(Stmt):
    """Goes on with the next turn of the innermost loop."""


class Return(Stmt):
    """Returns from the function."""

    value: Expr = field(converter=as_expr)


class BufferStore(Stmt):
    """buffer[indices] = value"""

    buffer: Var
    value: Expr = field(converter=_prim)
    indices: tuple[Expr, ...] = field(converter=_indices)
    predicate: Expr | None = None

    def __check__(self) -> None:
        check_access("BufferStore", self.buffer, self.indices)
        want = loaded_type(self.buffer, self.indices)
        if want != self.value.ty:
            raise TypeError(
                f"BufferStore: {self.buffer.name} holds {want.dtype} here, "
                f"got a value of {self.value.dtype}: {self.value}"
            )


class AllocBuffer(Stmt):
    """Allocates the buffer for the statements after it."""

    buffer: Var = field(role=DEF)
    annotations: Mapping[str, Any] = {}


class DeclBuffer(Stmt):
    """Declares `buffer` over the memory `data` points to (or over its own data if None)."""

    buffer: Var = field(role=DEF)
    data: Expr | None = None


class AttrStmt(Stmt):
    """`body` with the attribute `attr_key` of `node` set to `value`."""

    node: Any
    attr_key: str
    value: Expr = field(converter=as_expr)
    body: Stmt


class Evaluate(Stmt):
    """Evaluates an expression for its effect."""

    value: Expr = field(converter=as_expr)


def _flatten(items: Any) -> tuple[Stmt, ...]:
    if isinstance(items, Stmt):
        items = (items,)
    out: list[Stmt] = []
    for item in items:
        if isinstance(item, SeqStmt):
            out.extend(item.seq)
        else:
            out.append(item)
    return tuple(out)


class SeqStmt(Stmt):
    """Statements one after another. Nested sequences are flattened."""

    seq: tuple[Stmt, ...] = field(converter=_flatten)

    def __len__(self) -> int:
        return len(self.seq)

    def __getitem__(self, index: int) -> Stmt:
        return self.seq[index]

    @staticmethod
    def flatten(*parts: Any) -> Stmt:
        """One statement of any nesting of statements and sequences; None and no-ops are dropped."""
        flat: list[Stmt] = []

        def add(item: Any) -> None:
            if item is None or is_no_op(item):
                return
            if isinstance(item, (list, tuple)):
                for inner in item:
                    add(inner)
            elif isinstance(item, SeqStmt):
                for inner in item.seq:
                    add(inner)
            else:
                flat.append(item)

        add(parts)
        if not flat:
            return Evaluate(0)
        return flat[0] if len(flat) == 1 else SeqStmt(flat)


def is_no_op(stmt: Any) -> bool:
    """Whether a statement evaluates a constant and so does nothing."""
    return isinstance(stmt, Evaluate) and isinstance(stmt.value, IntImm)


def stmt_seq(*args: Any) -> Stmt:
    """A statement of statements and expressions in order."""
    return SeqStmt.flatten([a if isinstance(a, Stmt) else Evaluate(a) for a in args])


def stmt_list(stmt: Stmt) -> list[Stmt]:
    """The statements of a sequence; a single statement as a list of one."""
    return list(stmt.seq) if isinstance(stmt, SeqStmt) else [stmt]


class IfThenElse(Stmt):
    """`then_case` if `condition` holds, else `else_case`."""

    condition: Expr = field(converter=_prim)
    then_case: Stmt
    else_case: Stmt | None = None


def _ranges(value: Any) -> tuple[Range, ...]:
    return tuple(v if isinstance(v, Range) else Range(v) for v in value)


class BufferRegion(Node):
    """A box of a buffer: one range per dimension."""

    buffer: Var
    region: tuple[Range, ...] = field(converter=_ranges)

    def __check__(self) -> None:
        check_access("BufferRegion", self.buffer, self.region)

    @staticmethod
    def full(buffer: Var) -> BufferRegion:
        """The whole buffer."""
        return BufferRegion(buffer, [Range(extent) for extent in buffer.ty.shape])

    @staticmethod
    def from_point(buffer: Var, indices: Sequence[Expr]) -> BufferRegion:
        """One element."""
        return BufferRegion(
            buffer, [Range.from_min_extent(i, IntImm(i.dtype, 1)) for i in map(as_expr, indices)]
        )


class MatchBufferRegion(Node):
    """Gives a region a buffer of its own: `buffer` is a view of `source`."""

    buffer: Var = field(role=DEF)
    source: BufferRegion


class SBlock(Stmt):
    """A block: a unit of computation with its own iteration variables.

    It reads `reads`, writes `writes`, and depends on the surrounding loops only through the values
    bound to `iter_vars`. `init` runs where all reduction variables are at the start of their
    domains.
    """

    __visit_order__ = (
        "iter_vars",
        "alloc_buffers",
        "match_buffers",
        "reads",
        "writes",
        "name_hint",
        "annotations",
        "init",
        "body",
    )
    iter_vars: tuple[IterVar, ...]
    reads: tuple[BufferRegion, ...]
    writes: tuple[BufferRegion, ...]
    name_hint: str
    body: Stmt
    init: Stmt | None = None
    alloc_buffers: tuple[Var, ...] = field(role=DEF, converter=lambda v: tuple(v or ()), default=())
    match_buffers: tuple[MatchBufferRegion, ...] = field(
        converter=lambda v: tuple(v or ()), default=()
    )
    annotations: Mapping[str, Any] = {}


def _predicate(value: Any) -> Expr:
    return IntImm("bool", int(value)) if isinstance(value, bool) else as_expr(value)


class SBlockRealize(Stmt):
    """Runs `block` with its variables bound to `iter_values`, where `predicate` holds."""

    iter_values: tuple[Expr, ...] = field(converter=lambda v: tuple(map(as_expr, v)))
    predicate: Expr = field(converter=_predicate)
    block: SBlock

    def __check__(self) -> None:
        if len(self.iter_values) != len(self.block.iter_vars):
            raise TypeError(
                f"SBlockRealize: block {self.block.name_hint!r} has {len(self.block.iter_vars)} "
                f"iteration variables, got {len(self.iter_values)} values"
            )
