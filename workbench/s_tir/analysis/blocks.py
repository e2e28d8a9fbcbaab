"""What kind of block it is, and why not: complete, reduction, affine bindings, region cover.

A *complete* block computes elements independently; a *reduction* block accumulates over its
reduction variables, starting with `init`. Transformations of loops are legal around these two.
Every test returns a reason, "" if the block passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.arith import Analyzer, detect_iter_map
from workbench.core.structural import structural_equal
from workbench.core.traverse import iter_nodes, rewrite, substitute
from workbench.ir.expr import Expr, IntImm, Range, Var
from workbench.s_tir.analysis.regions import covers, difference, relax_region
from workbench.s_tir.sblock_scope import DepKind, Entry, Key
from workbench.tirx.expr import LT, Add, And, IterType, Mul
from workbench.tirx.stmt import For, SBlock, SBlockRealize

if TYPE_CHECKING:
    from workbench.s_tir.schedule.state import ScheduleState

SPATIAL, REDUCTION = IterType.DATA_PAR, IterType.COMM_REDUCE


def vars_of(value: Any) -> set[int]:
    """The identities of the variables in an expression."""
    return {id(v) for v in iter_nodes(value, Var)}


def bindings(realize: SBlockRealize) -> dict[Var, Expr]:
    """Block variable → the value bound to it."""
    return dict(zip((v.var for v in realize.block.iter_vars), realize.iter_values, strict=True))


def loop_ranges(loops: Iterable[Entry]) -> dict[Var, Range]:
    """Loop variable → its range."""
    return {e.stmt.loop_var: Range.from_min_extent(e.stmt.min, e.stmt.extent) for e in loops}


def analyzer_for(loops: Iterable[Entry]) -> Analyzer:
    """An analyzer that knows the ranges of loops."""
    analyzer = Analyzer()
    for var, dom in loop_ranges(loops).items():
        analyzer.bind(var, dom)
    return analyzer


def loops_around(state: ScheduleState, key: Key) -> list[Entry]:
    """All loops around a block or loop, through all scopes, outermost first."""
    return [e for e in state.ancestors(key) if not e.is_block][::-1]


def conjuncts(predicate: Expr) -> list[Expr]:
    """The terms of a conjunction; none for `True`."""
    if isinstance(predicate, IntImm) and predicate.value:
        return []
    if isinstance(predicate, And):
        return conjuncts(predicate.a) + conjuncts(predicate.b)
    return [predicate]


def conjunction(terms: Sequence[Expr]) -> Expr:
    """The conjunction of terms; `True` for none."""
    if not terms:
        return IntImm("bool", 1)
    out = terms[0]
    for term in terms[1:]:
        out = And(out, term)
    return out


# Bindings


def _linear(expr: Any, out: dict[int, int]) -> bool:
    """Collects integer coefficients of distinct variables; False if it is no such sum."""
    if isinstance(expr, Var):
        if id(expr) in out:
            return False
        out[id(expr)] = 1
        return True
    if isinstance(expr, IntImm):
        return True
    if isinstance(expr, Add):
        return _linear(expr.a, out) and _linear(expr.b, out)
    if isinstance(expr, Mul) and isinstance(expr.b, IntImm):
        inner: dict[int, int] = {}
        if not _linear(expr.a, inner) or set(inner) & set(out):
            return False
        out.update({k: c * expr.b.value for k, c in inner.items()})
        return True
    return False


def _plainly_affine(realize: SBlockRealize, extents: Mapping[int, Any]) -> bool:
    """Whether every binding is a mixed-radix sum of loops that no other binding uses."""
    used: set[int] = set()
    for value in realize.iter_values:
        terms: dict[int, int] = {}
        if not _linear(value, terms):
            return False
        if used & set(terms):
            return False
        used |= set(terms)
        reach = 1
        for key, coefficient in sorted(terms.items(), key=lambda kv: kv[1]):
            if coefficient < reach:
                return False
            extent = extents.get(key)
            if extent is None:
                continue
            if not isinstance(extent, IntImm):
                if len(terms) > 1 and coefficient != max(terms.values()):
                    return False
                continue
            reach = coefficient * extent.value
    return True


def affine_reason(state: ScheduleState, entry: Entry) -> str:
    """Why the bindings of a block are no quasi-affine map of its loops; "" if they are."""
    cache = state.index(entry.function).cache
    found = cache.get(("affine", entry.key))
    if found is None:
        found = cache["affine", entry.key] = _affine_reason(state, entry)
    return found


def _affine_reason(state: ScheduleState, entry: Entry) -> str:
    realize = entry.realize
    if not realize.iter_values:
        return ""
    loops = state.loops_above(entry.key)
    if _plainly_affine(realize, {id(e.stmt.loop_var): e.stmt.extent for e in loops}):
        return ""
    result = detect_iter_map(realize.iter_values, loop_ranges(loops), realize.predicate)
    if result.indices:
        return ""
    return (
        f"the bindings of {entry.label} are no quasi-affine map of the loops "
        f"{', '.join(repr(e.name) for e in loops)}"
    )


# Kinds of blocks


def _dominance_reason(state: ScheduleState, entry: Entry, root: Key | None) -> str:
    scope = state.dependences(state.scope(entry.key).key)
    for region in entry.stmt.writes:
        others = [
            w.label
            for w in scope.writers.get(region.buffer, ())
            if w.key is not entry.key and (root is None or state.is_below(w.key, root))
        ]
        if others:
            return f"{region.buffer.name} is written by {' and '.join(others)} too"
    return ""


def complete_reason(state: ScheduleState, entry: Entry, root: Key | None = None) -> str:
    """Why a block is not complete; `root` limits the look at other writers to a subtree."""
    block: SBlock = entry.stmt
    for var in block.iter_vars:
        if var.iter_type != SPATIAL:
            kind = "a reduction" if var.iter_type == REDUCTION else "no data-parallel"
            return f"{var.var.name} is {kind} variable"
    written = {id(r.buffer): r.buffer for r in block.writes}
    for region in block.reads:
        if id(region.buffer) in written:
            return f"it reads and writes {region.buffer.name}"
    return _dominance_reason(state, entry, root)


def reduction_reason(state: ScheduleState, entry: Entry, root: Key | None = None) -> str:
    """Why a block is no reduction block."""
    block: SBlock = entry.stmt
    if block.init is None:
        return "it has no init statement"
    for var in block.iter_vars:
        if var.iter_type not in (SPATIAL, REDUCTION):
            return f"{var.var.name} is neither data-parallel nor a reduction variable"
    reduced = {id(v.var): v.var for v in block.iter_vars if v.iter_type == REDUCTION}
    for region in block.writes:
        for v in iter_nodes(tuple(region.region), Var):
            if id(v) in reduced:
                return f"the reduction variable {v.name} indexes its output {region.buffer.name}"
    return affine_reason(state, entry) or _dominance_reason(state, entry, root)


def block_kind_reason(state: ScheduleState, entry: Entry, root: Key | None = None) -> str:
    """Why a block is neither complete nor a reduction block; "" if it is one of them."""
    complete = complete_reason(state, entry, root)
    if not complete:
        return ""
    if entry.stmt.init is None:
        return f"{entry.label} is no complete block ({complete}) and has no init statement"
    reduction = reduction_reason(state, entry, root)
    if not reduction:
        return ""
    return f"{entry.label} is no complete block ({complete}) and no reduction block ({reduction})"


def is_complete_block(state: ScheduleState, entry: Entry) -> bool:
    """Whether a block is complete in its scope."""
    return not complete_reason(state, entry)


def is_reduction_block(state: ScheduleState, entry: Entry) -> bool:
    """Whether a block is a reduction block in its scope."""
    return not reduction_reason(state, entry)


def is_trivial_binding(state: ScheduleState, entry: Entry) -> bool:
    """Whether the block's variables are its loops, one each, in order."""
    loops = state.loops_above(entry.key)
    values = entry.realize.iter_values
    return len(loops) == len(values) and all(
        e.stmt.loop_var is v for e, v in zip(loops, values, strict=True)
    )


def is_output_block(state: ScheduleState, entry: Entry) -> bool:
    """Whether a block writes a buffer that its scope does not allocate."""
    allocated = {id(b) for b in state.scope(entry.key).stmt.alloc_buffers}
    return any(id(r.buffer) not in allocated for r in entry.stmt.writes)


# Predicates


def is_implied(term: Expr, realize: SBlockRealize, loops: Sequence[Entry]) -> bool:
    """Whether a predicate only keeps the block's variables inside their domains.

    True if an iteration that fails `term` provably has a variable outside its domain.
    """
    if not isinstance(term, LT):
        return False
    beyond = Var("beyond", term.a.ty)
    analyzer = Analyzer()
    for var, dom in loop_ranges(loops).items():
        analyzer.bind(var, dom)
    gap = IntImm(term.a.dtype, 0)
    analyzer.bind(beyond, Range.from_min_extent(gap, IntImm(term.a.dtype, (1 << 31) - 1)))

    def replace(node: Any) -> Any:
        return term.b + beyond if structural_equal(node, term.a) else None

    for iter_var, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        assert iter_var.dom is not None, "a block variable has a domain"
        found = difference(value, term.a, analyzer)
        if isinstance(found, IntImm):
            # The variable is term.a + c: it fails where term.a reaches term.b.
            if analyzer.can_prove(term.b + found >= iter_var.dom.min + iter_var.dom.extent):
                return True
            continue
        shifted = rewrite(value, {type(term.a): replace})
        if shifted is not value and analyzer.can_prove(
            shifted >= iter_var.dom.min + iter_var.dom.extent
        ):
            return True
    return False


def foreign_predicate(state: ScheduleState, entry: Entry) -> Expr | None:
    """A term of the predicate that does more than keep variables in their domains, or None."""
    cache = state.index(entry.function).cache
    key = ("foreign", entry.key)
    if key not in cache:
        loops = state.loops_above(entry.key)
        cache[key] = next(
            (
                t
                for t in conjuncts(entry.realize.predicate)
                if not is_implied(t, entry.realize, loops)
            ),
            None,
        )
    return cache[key]


# Region cover


def common_ancestor(state: ScheduleState, a: Key, b: Key) -> Entry:
    """The innermost block or loop around both."""
    above = [e.key for e in state.ancestors(a)]
    for entry in state.ancestors(b):
        if any(entry.key is k for k in above):
            return entry
    raise AssertionError("two blocks of one scope have a common ancestor")


def swept_regions(
    state: ScheduleState, entry: Entry, regions: Sequence[Any], above: Key, analyzer: Analyzer
) -> list[list[Range]]:
    """Regions of a block in terms of loops, swept over the loops below `above`."""
    env: dict[Var, tuple[Any, Any]] = {}
    single: dict[Var, Expr] = {}
    for loop in state.loops_above(entry.key):
        if state.is_below(loop.key, above):
            low, extent = loop.stmt.min, loop.stmt.extent
            if isinstance(extent, IntImm) and extent.value == 1:
                single[loop.stmt.loop_var] = low
            else:
                env[loop.stmt.loop_var] = (low, _last(low, extent, analyzer))
    binding = bindings(entry.realize)
    out: list[list[Range]] = []
    for region in regions:
        at_loops = [substitute(substitute(r, binding), single) for r in region.region]
        out.append(relax_region(at_loops, env, analyzer, region.buffer.shape))
    return out


def _last(low: Any, extent: Any, analyzer: Analyzer) -> Any:
    if isinstance(low, IntImm) and isinstance(extent, IntImm):
        return IntImm(extent.dtype, low.value + extent.value - 1)
    return analyzer.simplify(low + extent - 1)


def uncovered_reason(state: ScheduleState, consumer: Entry) -> str:
    """Why a block may read what its producers have not yet written in the same iteration."""
    cache = state.index(consumer.function).cache
    found = cache.get(("cover", consumer.key))
    if found is None:
        found = cache["cover", consumer.key] = _uncovered_reason(state, consumer)
    return found


def _uncovered_reason(state: ScheduleState, consumer: Entry) -> str:
    scope = state.dependences(state.scope(consumer.key).key)
    loops = loops_around(state, consumer.key)
    for read in consumer.stmt.reads:
        before = [
            w
            for w in scope.writers.get(read.buffer, ())
            if any(
                d.src is w.key and d.kind is DepKind.RAW
                for d in scope.get_deps_by_dst(consumer.key)
            )
        ]
        if not before:
            continue
        if not any(_covers(state, writer, consumer, read, loops) for writer in before):
            return (
                f"{consumer.label} may read parts of {read.buffer.name} that "
                f"{' and '.join(w.label for w in before)} has not yet written in that iteration"
            )
    return ""


def _covers(
    state: ScheduleState, writer: Entry, consumer: Entry, read: Any, loops: Sequence[Entry]
) -> bool:
    above = common_ancestor(state, writer.key, consumer.key)
    if above.is_block and foreign_predicate(state, writer) is None:
        # Everything is written before: the box is the writer's whole domain.
        write = next(w for w in writer.stmt.writes if w.buffer is read.buffer)
        if _same_shape(write, writer):
            return True
    analyzer = analyzer_for([*loops, *state.loops_above(writer.key)])
    if foreign_predicate(state, writer) is not None:
        return False
    needed = swept_regions(state, consumer, [read], above.key, analyzer)[0]
    needed = _inside(needed, read.buffer, analyzer)
    for write in writer.stmt.writes:
        if write.buffer is read.buffer:
            made = swept_regions(state, writer, [write], above.key, analyzer)[0]
            if covers(_inside(made, read.buffer, analyzer), needed, analyzer):
                return True
    return False


def _same_shape(write: Any, writer: Entry) -> bool:
    """Whether a block writes a whole buffer, one variable a dimension."""
    domains = {id(v.var): v.dom for v in writer.stmt.iter_vars}
    seen: set[int] = set()
    for r, extent in zip(write.region, write.buffer.shape, strict=True):
        dom = domains.get(id(r.min))
        if dom is None or id(r.min) in seen:
            return False
        seen.add(id(r.min))
        if not structural_equal(dom.extent, extent):
            return False
    return True


def _inside(region: Sequence[Range], buffer: Var, analyzer: Analyzer) -> list[Range]:
    """A box cut to the buffer, where that is evident."""
    out: list[Range] = []
    for r, extent in zip(region, buffer.shape, strict=True):
        gap = difference(r.extent, extent, analyzer)
        if isinstance(gap, IntImm) and gap.value > 0:
            out.append(Range(extent))
        else:
            out.append(r)
    return out


def pipeline_reason(state: ScheduleState, scope: Key) -> str:
    """Why a scope is no stage pipeline: a block reads what is not yet there, or overwrites."""
    cache = state.index(state.entry(scope).function).cache
    found = cache.get(("pipeline", scope))
    if found is None:
        found = ""
        deps = state.dependences(scope)
        for dep in deps.deps:
            if dep.kind is DepKind.WAR:
                a, b = state.entry(dep.src), state.entry(dep.dst)
                if not any(
                    d.src is dep.src and d.kind is DepKind.RAW
                    for d in deps.get_deps_by_dst(dep.dst)
                ):
                    found = f"{b.label} overwrites what {a.label} reads"
                    break
        if not found:
            for child in deps.children:
                found = uncovered_reason(state, child)
                if found:
                    break
        cache["pipeline", scope] = found
    return found


def parallel_reason(state: ScheduleState, loop: Entry, thread_tag: str = "") -> str:
    """Why the iterations of a loop cannot run at the same time; "" if they can."""
    for block in state.blocks_below(loop.key):
        reason = affine_reason(state, block) or block_kind_reason(state, block, loop.key)
        if reason:
            return reason
        reason = _iter_type_reason(loop, block, thread_tag)
        if reason:
            return reason
    return "" if thread_tag else _repetition_reason(state, loop)


def _repetition_reason(state: ScheduleState, loop: Entry) -> str:
    """Why blocks that every iteration repeats in the same memory cannot run at the same time.

    Repeating a block is harmless one after the other, and at the same time if all iterations store
    the same values: a block that accumulates does not on the way, nor does one that reads what the
    iterations made so far.
    """
    extent = loop.stmt.extent
    if isinstance(extent, IntImm) and extent.value <= 1:
        return ""
    key = id(loop.stmt.loop_var)
    below = state.blocks_below(loop.key)
    repeated = [b for b in below if all(key not in vars_of(v) for v in b.realize.iter_values)]
    same = {id(b.stmt) for b in repeated}
    parts = {id(w.buffer): w.buffer for b in below if id(b.stmt) not in same for w in b.stmt.writes}
    for block in repeated:
        if any(v.iter_type == REDUCTION for v in block.stmt.iter_vars):
            names = ", ".join(w.buffer.name for w in block.stmt.writes)
            return f"every iteration would accumulate {names} in {block.label}, all in one memory"
        for read in block.stmt.reads:
            if id(read.buffer) in parts:
                return (
                    f"{block.label} reads what several iterations write to {read.buffer.name}, and"
                    " is repeated by each"
                )
    return ""


def _iter_type_reason(loop: Entry, block: Entry, thread_tag: str) -> str:
    var: For = loop.stmt
    for iter_var, value in zip(block.stmt.iter_vars, block.realize.iter_values, strict=True):
        if id(var.loop_var) not in vars_of(value):
            continue
        if iter_var.iter_type == SPATIAL:
            continue
        if iter_var.iter_type == REDUCTION and thread_tag.startswith("threadIdx"):
            continue
        kind = "the reduction variable" if iter_var.iter_type == REDUCTION else "the variable"
        return f"it drives {kind} {iter_var.var.name!r} of {block.label}"
    return ""
