"""LowerOpaqueBlock: blocks disappear; their predicates and allocations become statements."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.core.traverse import rewrite, substitute
from workbench.ir.expr import IntImm, Var
from workbench.ir.span import made_from
from workbench.ir.transform import PassContext, define_pass
from workbench.tirx import op
from workbench.tirx.analysis.side_effect import jumps_out
from workbench.tirx.expr import IterVar
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import (
    AllocBuffer,
    AttrStmt,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
)

Rewriting = Generator[Any, Any, Any]


@define_pass("s_tir.LowerOpaqueBlock", level="function", on=PrimFunc)
def LowerOpaqueBlock(func: PrimFunc, ctx: PassContext) -> PrimFunc:
    """Replaces opaque blocks by their bodies and removes loops of one turn.

    Before: `with T.sblock("b"): T.where(i * 16 + j < 100); C = T.alloc_buffer(…); …`
    After: `if i * 16 + j < 100: C = T.alloc_buffer(…); …`

    Thread-bound loops become `thread_extent` attributes; annotations `pragma_*` become attributes.
    """

    keep = ctx.get("tirx.debug_keep_trivial_loop", False)

    def realize(node: SBlockRealize) -> Rewriting:
        block = node.block
        if block.iter_vars or block.match_buffers or block.init is not None:
            raise WorkbenchError(
                f"block {block.name_hint!r} is not opaque",
                nodes=(node,),
                root=func,
                hint="run LowerInitBlock, ConvertBlocksToOpaque and LowerMatchBuffer first",
            )
        predicate = yield node.predicate
        body = yield block.body
        body = _mark(body, block)
        body = _with_pragmas(body, block.annotations, block)
        allocations = [
            AllocBuffer(b, _alloc_annotations(block, b), span=made_from(block))
            for b in block.alloc_buffers
        ]
        if allocations:
            body = SeqStmt.flatten(allocations, body)
        if isinstance(predicate, IntImm):
            return body if predicate.value else Evaluate(IntImm("int32", 0))
        return IfThenElse(op.likely(predicate), body, span=made_from(block))

    def loop(node: For) -> Rewriting:
        new: For = yield node
        plain, pragmas = _split_annotations(new.annotations)
        if new.kind is ForKind.THREAD_BINDING:
            return _with_pragmas(_thread(new), pragmas, node)
        once = isinstance(new.extent, IntImm) and new.extent.value == 1
        if once and not keep and not plain and not jumps_out(new.body):
            body = substitute(new.body, {new.loop_var: new.min})
            return _with_pragmas(body, pragmas, node)
        if pragmas:
            new = new.replace(annotations=plain)
        return _with_pragmas(new, pragmas, node)

    return rewrite(func, {SBlockRealize: realize, For: loop}, memo=False)


def _mark(body: Stmt, block: SBlock) -> Stmt:
    """The statements of a block remember it."""

    def mark(node: Any) -> Any:
        return node if node.span is not None else node.replace(span=made_from(block))

    return rewrite(body, {BufferStore: mark, IfThenElse: mark, Evaluate: mark, For: mark})


def _split_annotations(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    plain = {k: v for k, v in given.items() if not _is_pragma(k)}
    return plain, {k: v for k, v in given.items() if _is_pragma(k)}


def _is_pragma(key: str) -> bool:
    return key.startswith("pragma_")


def _with_pragmas(body: Stmt, annotations: Mapping[str, Any], origin: Any) -> Stmt:
    for key, value in reversed(list(annotations.items())):
        if _is_pragma(key):
            body = AttrStmt(IntImm("int32", 0), key, value, body, span=made_from(origin))
    return body


def _alloc_annotations(block: SBlock, buffer: Var) -> dict[str, Any]:
    """The annotations of a block that speak of one allocation (`{buffer name: {...}}`)."""
    found = block.annotations.get(buffer.name)
    return dict(found) if isinstance(found, Mapping) else {}


def _thread(loop: For) -> Stmt:
    """A thread-bound loop as the attribute that code generators of devices expect."""
    binding = loop.thread_binding
    assert binding is not None
    axis = IterVar(None, loop.loop_var, IterVar.ThreadIndex, binding.thread_tag)
    return AttrStmt(axis, "thread_extent", loop.extent, loop.body, span=loop.span)
