"""The steps of layered layout on plain integers: cycles, ranks, order, horizontal places."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

Pair = tuple[int, int]

#: Rounds of ordering and placing.  More changes little: positions settle geometrically.
ORDER_ROUNDS = 4
PLACE_ROUNDS = 8


def adjacency(count: int, pairs: Sequence[Pair]) -> tuple[list[list[int]], list[list[int]]]:
    """(successors, predecessors) as lists of lists."""
    after: list[list[int]] = [[] for _ in range(count)]
    before: list[list[int]] = [[] for _ in range(count)]
    for a, b in pairs:
        after[a].append(b)
        before[b].append(a)
    return after, before


def break_cycles(count: int, pairs: Sequence[Pair]) -> list[Pair]:
    """`pairs` with every back edge of a depth-first search reversed, hence acyclic."""
    after, before = adjacency(count, pairs)
    state = [0] * count
    back: set[Pair] = set()
    # Sources first, so that an edge is called "back" only where there is a true cycle.
    starts = [i for i in range(count) if not before[i]] + list(range(count))
    for start in starts:
        if state[start]:
            continue
        state[start] = 1
        stack = [(start, iter(after[start]))]
        while stack:
            node, rest = stack[-1]
            for child in rest:
                if state[child] == 0:
                    state[child] = 1
                    stack.append((child, iter(after[child])))
                    break
                if state[child] == 1:
                    back.add((node, child))
            else:
                state[node] = 2
                stack.pop()
    if not back:
        return list(pairs)
    return list(dict.fromkeys((b, a) if (a, b) in back else (a, b) for a, b in pairs))


def rank_nodes(count: int, pairs: Sequence[Pair]) -> list[int]:
    """Longest-path ranks; a source sits just above its first consumer, not at the far top."""
    after, before = adjacency(count, pairs)
    waiting = [len(b) for b in before]
    ranks = [0] * count
    ready = [i for i in range(count) if waiting[i] == 0]
    order: list[int] = []
    for node in ready:  # grows while it is walked
        order.append(node)
        for child in after[node]:
            ranks[child] = max(ranks[child], ranks[node] + 1)
            waiting[child] -= 1
            if waiting[child] == 0:
                ready.append(child)
    assert len(order) == count, "rank_nodes needs an acyclic graph"
    for node in order:
        if not before[node] and after[node]:
            ranks[node] = min(ranks[child] for child in after[node]) - 1
    return ranks


def order_ranks(
    ranks: Sequence[int], links: Sequence[Pair], hint: Sequence[float | None]
) -> list[list[int]]:
    """The nodes of each rank from left to right, with few crossings.

    Starts from the order of a depth-first walk (or from `hint`, the earlier x positions), then
    sweeps down and up sorting by barycentre, and keeps the best of the sweeps.
    """
    after, before = adjacency(len(ranks), links)
    rows: list[list[int]] = [[] for _ in range(max(ranks) + 1)]
    for node in _walk(after, before):
        rows[ranks[node]].append(node)
    at = [0.0] * len(ranks)
    for row in rows:
        if any(hint[node] is not None for node in row):
            _sort_by_hint(row, hint)
        _number(row, at)
    best, fewest = [list(row) for row in rows], crossings(rows, after)
    for turn in range(ORDER_ROUNDS * 2):
        if fewest == 0:
            break
        down = turn % 2 == 0
        near = before if down else after
        for row in rows if down else reversed(rows):
            _sort_by_barycentre(row, near, at)
        found = crossings(rows, after)
        if found < fewest:
            best, fewest = [list(row) for row in rows], found
    return best


def _walk(after: list[list[int]], before: list[list[int]]) -> list[int]:
    """Depth-first order over the undirected graph: neighbours end up near each other."""
    seen = [False] * len(after)
    order: list[int] = []
    for start in [i for i in range(len(after)) if not before[i]] + list(range(len(after))):
        stack = [start]
        while stack:
            node = stack.pop()
            if seen[node]:
                continue
            seen[node] = True
            order.append(node)
            stack.extend(n for n in reversed(before[node]) if not seen[n])
            stack.extend(n for n in reversed(after[node]) if not seen[n])
    return order


def _number(row: Sequence[int], at: list[float]) -> None:
    """Spread the places of a row over [0, 1), so that rows of different length compare."""
    for place, node in enumerate(row):
        at[node] = (place + 0.5) / len(row)


def _sort_by_hint(row: list[int], hint: Sequence[float | None]) -> None:
    """Order nodes with a known place by it; the others stay behind their left neighbour."""
    keys: dict[int, float] = {}
    last = float("-inf")
    for node in row:
        known = hint[node]
        last = known if known is not None else last
        keys[node] = last
    row.sort(key=keys.__getitem__)


def _sort_by_barycentre(row: list[int], near: list[list[int]], at: list[float]) -> None:
    """Order a row by the mean place of the neighbours in the row next to it."""
    keys = {n: sum(at[m] for m in near[n]) / len(near[n]) if near[n] else at[n] for n in row}
    row.sort(key=keys.__getitem__)
    _number(row, at)


def crossings(rows: Sequence[Sequence[int]], after: list[list[int]]) -> int:
    """Number of crossing pairs of links between neighbouring rows (counted with a Fenwick tree)."""
    total = 0
    for upper, lower in pairwise(rows):
        place = {node: i for i, node in enumerate(lower)}
        ends: list[int] = []
        for node in upper:
            ends.extend(sorted(place[child] for child in after[node] if child in place))
        if len(ends) < 2:
            continue
        tree = [0] * (len(lower) + 1)
        for seen, end in enumerate(ends):
            i, not_right = end + 1, 0
            while i:
                not_right += tree[i]
                i &= i - 1
            total += seen - not_right
            i = end + 1
            while i <= len(lower):
                tree[i] += 1
                i += i & -i
    return total


def place_ranks(
    rows: Sequence[Sequence[int]],
    ranks: Sequence[int],
    links: Sequence[Pair],
    widths: Sequence[float],
    gap: float,
    real: int,
) -> list[float]:
    """Horizontal centres: near the neighbours, in order, without overlap.

    Links between dummies (numbers from `real` on) pull harder, so long edges come out straight.
    After three rounds that look one way, both neighbours count.
    """
    pull: list[tuple[list[tuple[int, float]], list[tuple[int, float]]]] = [([], []) for _ in ranks]
    after, before = adjacency(len(ranks), links)
    for a, b in links:
        dummies = (a >= real) + (b >= real)
        # A chain of only children is straightened like a long edge.
        chained = len(after[a]) == 1 and len(before[b]) == 1
        weight = (1.0, 2.0, 8.0)[dummies] * (4.0 if chained and not dummies else 1.0)
        pull[a][1].append((b, weight))
        pull[b][0].append((a, weight))
    offsets: list[list[float]] = []
    xs = [0.0] * len(ranks)
    for row in rows:
        starts: list[float] = []
        here = 0.0
        for i, node in enumerate(row):
            if i:
                here += (widths[row[i - 1]] + widths[node]) / 2 + gap
            starts.append(here)
        offsets.append(starts)
        for node, start in zip(row, starts, strict=True):
            xs[node] = start - here / 2
    sides: list[tuple[int, ...]] = []
    for turn in range(PLACE_ROUNDS):
        sides += [(0,), (1,)] if turn < 3 else [(0, 1), (0, 1)]
    for step, used in enumerate(sides):
        numbers = range(len(rows)) if step % 2 == 0 else range(len(rows) - 1, -1, -1)
        for number in numbers:
            row = rows[number]
            want: list[float] = []
            heavies: list[float] = []
            for node, offset in zip(row, offsets[number], strict=True):
                total, heavy = 0.0, 0.0
                for side in used:
                    for other, w in pull[node][side]:
                        total += xs[other] * w
                        heavy += w
                # A node without neighbours on this side stays, but gives way to all others.
                want.append((total / heavy if heavy else xs[node]) - offset)
                heavies.append(heavy or 0.05)
            for node, x, offset in zip(row, isotonic(want, heavies), offsets[number], strict=True):
                xs[node] = x + offset
    _straighten(rows, offsets, _chains(after, before, real), xs)
    return xs


def _chains(after: list[list[int]], before: list[list[int]], real: int) -> list[list[int]]:
    """Runs of nodes that should stand in one line: only children, and the dummies of an edge."""

    def follows(a: int, b: int) -> bool:
        """Whether b continues the run of a."""
        if a >= real:
            return b >= real
        return b < real and len(after[a]) == 1 and len(before[b]) == 1

    starts = [n for n in range(len(after)) if not any(follows(p, n) for p in before[n])]
    runs: list[list[int]] = []
    for start in starts:
        run = [start]
        while step := next((n for n in after[run[-1]] if follows(run[-1], n)), None):
            run.append(step)
        if len(run) > 1:
            runs.append(run)
    return sorted(runs, key=len, reverse=True)


def _straighten(
    rows: Sequence[Sequence[int]],
    offsets: Sequence[Sequence[float]],
    runs: Sequence[Sequence[int]],
    xs: list[float],
) -> None:
    """Put each run on one x where the neighbours in all its rows leave room."""
    place = {node: (r, i) for r, row in enumerate(rows) for i, node in enumerate(row)}
    for run in runs:
        low, high = float("-inf"), float("inf")
        for node in run:
            r, i = place[node]
            row, offset = rows[r], offsets[r]
            if i:
                low = max(low, xs[row[i - 1]] + offset[i] - offset[i - 1])
            if i + 1 < len(row):
                high = min(high, xs[row[i + 1]] - offset[i + 1] + offset[i])
        if low <= high:
            middle = sorted(xs[node] for node in run)[len(run) // 2]
            for node in run:
                xs[node] = min(max(middle, low), high)


def isotonic(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The non-decreasing sequence nearest to `values` in weighted least squares (PAVA)."""
    means: list[float] = []
    mass: list[float] = []
    sizes: list[int] = []
    for value, weight in zip(values, weights, strict=True):
        size = 1
        while means and means[-1] > value:
            heavier = mass[-1] + weight
            value = (means[-1] * mass[-1] + value * weight) / heavier
            weight = heavier
            size += sizes[-1]
            means.pop()
            mass.pop()
            sizes.pop()
        means.append(value)
        mass.append(weight)
        sizes.append(size)
    return [mean for mean, size in zip(means, sizes, strict=True) for _ in range(size)]
