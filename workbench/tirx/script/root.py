"""The root block of a schedulable function, which the text leaves out."""

from __future__ import annotations

from typing import Any

from workbench.core.traverse import iter_nodes
from workbench.ir.expr import IntImm
from workbench.tirx.stmt import SBlock, SBlockRealize


def needs_root(body: Any, has_allocations: bool) -> bool:
    """Whether a function body gets a root block: it has blocks, but none around everything."""
    if has_allocations:
        return True
    if isinstance(body, SBlockRealize) and not body.iter_values:
        return False
    return next(iter_nodes(body, SBlock), None) is not None


def is_implicit_root(body: Any) -> bool:
    """Whether a body is a root block exactly as it would be added when reading its content."""
    if not isinstance(body, SBlockRealize):
        return False
    block = body.block
    return (
        block.name_hint == "root"
        and not (block.iter_vars or block.reads or block.writes)
        and not (block.annotations or block.match_buffers)
        and block.init is None
        and isinstance(body.predicate, IntImm)
        and body.predicate.value == 1
        and needs_root(block.body, bool(block.alloc_buffers))
    )
