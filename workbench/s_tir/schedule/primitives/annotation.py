"""Annotations: annotate, unannotate, storage_align."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.core.errors import did_you_mean
from workbench.ir.expr import Expr, FloatImm, IntImm, StringImm, Var
from workbench.s_tir.schedule.base import ScheduleBase
from workbench.s_tir.schedule.error import ScheduleError
from workbench.s_tir.schedule.instruction import primitive
from workbench.s_tir.schedule.primitives.buffers import (
    allocating_block,
    buffer_index_of,
    written_buffer,
)
from workbench.s_tir.schedule.random_variable import LoopRV, SBlockRV


class AnnotationPrimitives(ScheduleBase):
    """annotate, unannotate, storage_align, enter_postproc."""

    @primitive("Annotate", attrs=("ann_key",))
    def annotate(
        self,
        block_or_loop: SBlockRV | LoopRV,
        ann_key: str,
        ann_val: str | int | float | Expr | Sequence[Any] | Mapping[str, Any],
    ) -> None:
        """Sets an annotation of a block or loop: a number, string, or a list or mapping of them."""
        entry = self.entry_of(block_or_loop)
        value = self._plain(ann_val)
        new = {**entry.stmt.annotations, ann_key: value}
        self.state.replace(entry.key, entry.stmt.replace(annotations=new))

    def _plain(self, value: Any) -> Any:
        if isinstance(value, (IntImm, FloatImm, StringImm)):
            return value.value
        if isinstance(value, Var) and value in self._symbols:
            return self._symbols[value]
        if isinstance(value, Expr):
            return self.int_of(value)
        if isinstance(value, (list, tuple)):
            return tuple(self._plain(v) for v in value)
        if isinstance(value, Mapping):
            return {k: self._plain(v) for k, v in value.items()}
        return value

    @primitive("Unannotate", attrs=("ann_key",))
    def unannotate(self, block_or_loop: SBlockRV | LoopRV, ann_key: str) -> None:
        """Removes an annotation."""
        entry = self.entry_of(block_or_loop)
        old = entry.stmt.annotations
        if ann_key not in old:
            known = ", ".join(map(repr, old)) or "none"
            raise ScheduleError(
                f"{entry.label} has no annotation {ann_key!r}",
                nodes=[entry.stmt],
                hint=did_you_mean(ann_key, old) or f"its annotations: {known}",
            )
        new = {k: v for k, v in old.items() if k != ann_key}
        self.state.replace(entry.key, entry.stmt.replace(annotations=new))

    @primitive(
        "StorageAlign",
        attrs=("buffer_index", "axis", "factor", "offset"),
        normalize=lambda self, args: buffer_index_of(self, args, "buffer_index", "writes"),
    )
    def storage_align(
        self,
        block: SBlockRV | str,
        buffer_index: int | str | Var,
        axis: int,
        factor: int,
        offset: int,
    ) -> None:
        """Lets the stride of `axis` of a buffer the block writes be k * factor + offset.

        Recorded as the annotation `buffer_dim_align` of the block.
        """
        assert isinstance(block, SBlockRV) and isinstance(buffer_index, int)
        entry = self.entry_of(block)
        buffer = written_buffer(entry, buffer_index)
        ndim = len(buffer.shape)
        if not -ndim <= axis < ndim:
            raise ScheduleError(
                f"axis: {buffer.name} has {ndim} dimensions, found axis {axis}", nodes=[entry.stmt]
            )
        if factor <= 0:
            raise ScheduleError(f"factor: expected a positive number, found {factor}")
        allocating_block(self.state, entry, buffer)
        row = (buffer_index, axis % ndim, factor, offset)
        old = [tuple(r) for r in entry.stmt.annotations.get("buffer_dim_align", ())]
        rows = sorted([r for r in old if r[:2] != row[:2]] + [row])
        new = {**entry.stmt.annotations, "buffer_dim_align": tuple(rows)}
        self.state.replace(entry.key, entry.stmt.replace(annotations=new))

    @primitive("EnterPostproc")
    def enter_postproc(self) -> None:
        """Marks the begin of the steps that a tuner repeats for every candidate."""
