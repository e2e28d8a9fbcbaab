"""Sampling: numbers chosen at random and kept as decisions in the trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.ir.expr import Expr, IntImm
from workbench.s_tir.schedule.base import ScheduleBase
from workbench.s_tir.schedule.error import ScheduleError
from workbench.s_tir.schedule.instruction import primitive
from workbench.s_tir.schedule.random_variable import LoopRV


def divisors(n: int) -> list[int]:
    """The divisors of n, ascending."""
    small = [d for d in range(1, int(n**0.5) + 1) if n % d == 0]
    return small + [n // d for d in reversed(small) if d * d != n]


class SamplingPrimitives(ScheduleBase):
    """sample_categorical, sample_perfect_tile."""

    def _draw(self, weights: Sequence[float]) -> int:
        at = self._next_random() / ((1 << 31) - 1) * sum(weights)
        for place, weight in enumerate(weights):
            at -= weight
            if at < 0:
                return place
        return len(weights) - 1

    @primitive("SampleCategorical", attrs=("candidates", "probs"))
    def sample_categorical(
        self,
        candidates: Sequence[int],
        probs: Sequence[float],
        decision: int | None = None,
    ) -> Expr:
        """One of `candidates` with probabilities `probs`; `decision` is its place, if given."""
        if len(candidates) != len(probs) or not candidates:
            raise ScheduleError(
                f"expected as many probabilities as candidates (at least one), found "
                f"{len(candidates)} candidates and {len(probs)} probabilities"
            )
        place = self._draw([float(p) for p in probs]) if decision is None else int(decision)
        if not 0 <= place < len(candidates):
            raise ScheduleError(
                f"the decision is a place among {len(candidates)} candidates, found {place}"
            )
        self._decision = place
        return self.new_expr(int(candidates[place]))

    @primitive("SamplePerfectTile", attrs=("n", "max_innermost_factor"))
    def sample_perfect_tile(
        self,
        loop: LoopRV,
        n: int,
        max_innermost_factor: int = 16,
        decision: Sequence[int] | None = None,
    ) -> list[Expr]:
        """`n` factors whose product is the extent of a loop; the last is at most
        `max_innermost_factor` (-1: no limit)."""
        entry = self.entry_of(loop)
        extent = entry.stmt.extent
        if not isinstance(extent, IntImm):
            raise ScheduleError(
                f"{entry.label} has no constant extent: it is {extent}",
                nodes=[entry.stmt],
                hint="split it with factors of your own",
            )
        if n < 1:
            raise ScheduleError(f"n: expected at least 1 factor, found {n}")
        factors = self._tile(extent.value, n, max_innermost_factor, decision)
        self._decision = factors
        return [self.new_expr(f) for f in factors]

    def _tile(self, extent: int, n: int, limit: int, decision: Any) -> list[int]:
        if decision is not None:
            factors = [int(f) for f in decision]
            if len(factors) != n:
                raise ScheduleError(f"expected a decision of {n} factors, found {factors}")
            rest = 1
            for f in factors[1:]:
                rest *= f
            if rest and extent % rest == 0:
                factors[0] = extent // rest
                return factors
            raise ScheduleError(f"the factors {factors} do not divide the extent {extent}")
        factors = [0] * n
        left = extent
        for place in reversed(range(1, n)):
            choices = divisors(left)
            if place == n - 1 and limit > 0:
                choices = [d for d in choices if d <= limit]
            factors[place] = choices[self._draw([1.0] * len(choices))]
            left //= factors[place]
        factors[0] = left
        return factors
