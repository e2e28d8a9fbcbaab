"""What a block accesses: the regions of buffers its body loads and stores."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from workbench.arith import Analyzer
from workbench.core.traverse import iter_nodes, substitute, walk
from workbench.ir.expr import IntImm, Range, Var
from workbench.s_tir.analysis.regions import relax_region, union_region
from workbench.tirx.expr import BufferLoad
from workbench.tirx.stmt import BufferRegion, BufferStore, For, SBlock, SBlockRealize


class _Regions:
    """Regions by buffer, in the order of first access."""

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self.found: dict[Var, list[Range]] = {}

    def add(self, buffer: Var, region: list[Range]) -> None:
        old = self.found.get(buffer)
        if old is None:
            self.found[buffer] = region
        else:
            self.found[buffer] = union_region(old, region, self.analyzer, buffer.shape)

    def regions(self, without: Mapping[Var, Any] | set[Var] = frozenset()) -> list[BufferRegion]:  # type: ignore[assignment]
        hidden = {id(b) for b in without}
        return [BufferRegion(b, r) for b, r in self.found.items() if id(b) not in hidden]


def get_sblock_read_write_region(
    block: SBlock, buffer_var_map: Any = None
) -> tuple[list[BufferRegion], list[BufferRegion]]:
    """The regions a block reads and writes, in terms of its variables, found from its body.

    Loops inside the block are swept; buffers allocated in it are left out. In a block with `init`
    the buffers it writes are not among the reads.
    """
    analyzer = Analyzer()
    reads, writes = _Regions(analyzer), _Regions(analyzer)
    env: dict[Var, tuple[Any, Any]] = {}

    def point(buffer: Var, indices: Any) -> list[Range]:
        ranges = [Range.from_min_extent(i, IntImm(i.dtype, 1)) for i in indices]
        return relax_region(ranges, env, analyzer, buffer.shape) if env else ranges

    def load(node: BufferLoad) -> None:
        reads.add(node.buffer, point(node.buffer, node.indices))

    def store(node: BufferStore) -> Generator[Any, None, None]:
        yield (node.value, *node.indices)
        writes.add(node.buffer, point(node.buffer, node.indices))

    def loop(node: For) -> Generator[Any, None, None]:
        analyzer.bind(node.loop_var, Range.from_min_extent(node.min, node.extent), True)
        env[node.loop_var] = (node.min, node.min + node.extent - 1)
        yield node.body

    def realize(node: SBlockRealize) -> Generator[Any, None, None]:
        binding = dict(zip((v.var for v in node.block.iter_vars), node.iter_values, strict=True))
        for regions, target in ((node.block.reads, reads), (node.block.writes, writes)):
            for region in regions:
                ranges = [substitute(r, binding) for r in region.region]
                if env:
                    ranges = relax_region(ranges, env, analyzer, region.buffer.shape)
                target.add(region.buffer, ranges)
        yield (node.iter_values, node.predicate)

    table = {BufferLoad: load, BufferStore: store, For: loop, SBlockRealize: realize}
    if block.init is not None:
        walk(block.init, table, once=False)
        reads.found.clear()
    walk(block.body, table, once=False)
    local = set(block.alloc_buffers)
    hidden = local | set(writes.found) if block.init is not None else local
    return reads.regions(hidden), writes.regions(local)


def get_sblock_access_region(block: SBlock, buffer_var_map: Any = None) -> list[list[BufferRegion]]:
    """[reads, writes, opaque accesses]; TVM's form of `get_sblock_read_write_region`."""
    reads, writes = get_sblock_read_write_region(block)
    return [reads, writes, []]


def buffers_used(stmt: Any) -> set[Var]:
    """The buffers loaded or stored anywhere below."""
    return {n.buffer for n in iter_nodes(stmt, BufferLoad, BufferStore, BufferRegion)}
