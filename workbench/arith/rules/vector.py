"""Vectors: operations on equal elements are done once; ramps stay ramps."""

from workbench.arith.pattern import (
    ANY,
    INTEGER,
    RuleSet,
    broadcast,
    c1,
    c2,
    n,
    no_carry,
    pmax,
    pmin,
    ramp,
    s,
    select,
    t,
    truncmod,
    x,
    y,
)

rule = RuleSet("vector")

rule(ramp(x, 0, n), broadcast(x, n), on=INTEGER)

rule(ramp(x, s, n) + ramp(y, t, n), ramp(x + y, s + t, n), on=INTEGER)
rule(ramp(x, s, n) + broadcast(y, n), ramp(x + y, s, n), on=INTEGER)
rule(ramp(x, s, n) - ramp(y, t, n), ramp(x - y, s - t, n), on=INTEGER)
rule(ramp(x, s, n) - broadcast(y, n), ramp(x - y, s, n), on=INTEGER)
rule(broadcast(y, n) - ramp(x, s, n), ramp(y - x, 0 - s, n), on=INTEGER)
rule(ramp(x, s, n) * broadcast(y, n), ramp(x * y, s * y, n), on=INTEGER)

rule(
    ramp(x, c1, n) // broadcast(c2, n),
    ramp(x // c2, c1 // c2, n),
    when=(c2 > 0) & (c1 % c2 == 0),
)
rule(
    ramp(x, c1, n) // broadcast(c2, n),
    broadcast(x // c2, n),
    when=(c2 > 0) & (c1 >= 0) & no_carry(x, c1 * (n - 1), c2),
)
rule(
    ramp(x, c1, n) % broadcast(c2, n),
    broadcast(x % c2, n),
    when=(c2 > 0) & (c1 % c2 == 0),
)
rule(
    ramp(x, c1, n) % broadcast(c2, n),
    ramp(x % c2, c1, n),
    when=(c2 > 0) & (c1 >= 0) & no_carry(x, c1 * (n - 1), c2),
)

rule(broadcast(x, n) + broadcast(y, n), broadcast(x + y, n), on=ANY)
rule(broadcast(x, n) - broadcast(y, n), broadcast(x - y, n), on=ANY)
rule(broadcast(x, n) * broadcast(y, n), broadcast(x * y, n), on=ANY)
rule(broadcast(x, n) // broadcast(y, n), broadcast(x // y, n), on=ANY)
rule(broadcast(x, n) % broadcast(y, n), broadcast(x % y, n), on=ANY)
rule(broadcast(x, n) / broadcast(y, n), broadcast(x / y, n), on=ANY)
rule(truncmod(broadcast(x, n), broadcast(y, n)), broadcast(truncmod(x, y), n), on=ANY)
rule(pmin(broadcast(x, n), broadcast(y, n)), broadcast(pmin(x, y), n), on=ANY)
rule(pmax(broadcast(x, n), broadcast(y, n)), broadcast(pmax(x, y), n), on=ANY)
rule(broadcast(x, n) < broadcast(y, n), broadcast(x < y, n), on=ANY)
rule(broadcast(x, n) <= broadcast(y, n), broadcast(x <= y, n), on=ANY)
rule(broadcast(x, n) == broadcast(y, n), broadcast(x == y, n), on=ANY)
rule(broadcast(x, n) != broadcast(y, n), broadcast(x != y, n), on=ANY)
rule(broadcast(x, n) & broadcast(y, n), broadcast(x & y, n), on=ANY)
rule(broadcast(x, n) | broadcast(y, n), broadcast(x | y, n), on=ANY)
rule(~broadcast(x, n), broadcast(~x, n), on=ANY)
rule(
    select(broadcast(s, n), broadcast(x, n), broadcast(y, n)),
    broadcast(select(s, x, y), n),
    on=ANY,
)

# Ramps of one stride differ by their bases.
rule(ramp(x, s, n) < ramp(y, s, n), broadcast(x < y, n))
rule(ramp(x, s, n) <= ramp(y, s, n), broadcast(x <= y, n))
rule(ramp(x, s, n) == ramp(y, s, n), broadcast(x == y, n), on=INTEGER)
