"""Buffers and block variables: set_scope, reorder_block_iter_var."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.ir.expr import Var
from workbench.s_tir.schedule.base import ScheduleBase
from workbench.s_tir.schedule.error import ScheduleError
from workbench.s_tir.schedule.instruction import primitive
from workbench.s_tir.schedule.primitives.body_rewrite import replace_buffer
from workbench.s_tir.schedule.primitives.buffers import (
    allocating_block,
    buffer_index_of,
    written_buffer,
)
from workbench.s_tir.schedule.primitives.cache import check_storage_scope, scoped_name
from workbench.s_tir.schedule.random_variable import SBlockRV
from workbench.s_tir.schedule.state import replace_stmts


class LayoutPrimitives(ScheduleBase):
    """set_scope, reorder_block_iter_var."""

    @primitive(
        "SetScope",
        attrs=("buffer_index", "storage_scope"),
        normalize=lambda self, args: buffer_index_of(self, args, "buffer_index", "writes"),
    )
    def set_scope(
        self, block: SBlockRV | str, buffer_index: int | str | Var, storage_scope: str
    ) -> None:
        """Moves a buffer that the block writes to another storage scope."""
        assert isinstance(block, SBlockRV) and isinstance(buffer_index, int)
        check_storage_scope(storage_scope)
        entry = self.entry_of(block)
        buffer = written_buffer(entry, buffer_index)
        scope = allocating_block(self.state, entry, buffer)
        if buffer.ty.storage_scope == storage_scope:
            return
        ty = buffer.ty.replace(storage_scope=storage_scope)
        new = Var(scoped_name(buffer, storage_scope), ty)
        body, reuse = replace_buffer(scope.stmt.body, buffer, new)
        alloc = tuple(new if b is buffer else b for b in scope.stmt.alloc_buffers)
        self.state.replace(scope.key, scope.stmt.replace(body=body, alloc_buffers=alloc), reuse)

    @primitive("ReorderBlockIterVar")
    def reorder_block_iter_var(self, block: SBlockRV, new_order: Sequence[int]) -> None:
        """Puts the variables of a block in another order; the loops stay."""
        entry = self.entry_of(block)
        iter_vars = entry.stmt.iter_vars
        order = [int(i) for i in new_order]
        if sorted(order) != list(range(len(iter_vars))):
            names = ", ".join(v.var.name for v in iter_vars)
            raise ScheduleError(
                f"new_order: expected a permutation of 0 … {len(iter_vars) - 1} ({names}), "
                f"found {order}",
                nodes=[entry.stmt],
            )
        if entry.parent is None:
            raise ScheduleError(f"{entry.label} is the root of its function", nodes=[entry.stmt])
        values = entry.realize.iter_values
        new = entry.stmt.replace(iter_vars=tuple(iter_vars[i] for i in order))
        realize = entry.realize.replace(iter_values=tuple(values[i] for i in order), block=new)
        above = self.state.entry(entry.parent)
        body = replace_stmts(above.stmt.body, {id(entry.realize): realize})
        assert body is not None
        self.state.replace(above.key, above.stmt.replace(body=body), {entry.stmt: new})
