"""x // y, rounded down. A divisor is never 0 where the expression is evaluated."""

from workbench.arith.pattern import (
    INTEGER,
    RuleSet,
    c1,
    c2,
    c3,
    multiple,
    pmax,
    pmin,
    x,
    y,
    z,
)

rule = RuleSet("floordiv")

rule(x // 1, x, on=INTEGER)
rule(0 // x, 0, on=INTEGER)
rule(x // x, 1, on=INTEGER)
rule(x // -1, 0 - x)
rule(x // y, 0, when=(x >= 0) & (x < y), on=INTEGER)
rule(x // c1, -1, when=(x < 0) & (x >= 0 - c1))

# Nested quotients and multiples.
rule((x // c1) // c2, x // (c1 * c2), when=(c1 > 0) & (c2 > 0), on=INTEGER)
rule((x * c1) // c2, x * (c1 // c2), when=(c2 != 0) & (c1 % c2 == 0))
rule((x * c1) // c2, x // (c2 // c1), when=(c1 > 0) & (c2 % c1 == 0))
rule((x * y) // y, x)
rule((x * y) // (z * y), x // z)
rule((x // c1 + c3) // c2, (x + c3 * c1) // (c1 * c2), when=(c1 > 0) & (c2 > 0))

# Sums with a multiple of the divisor, or with a part too small to matter.
rule((x * c1 + y) // c2, x * (c1 // c2) + y // c2, when=(c2 != 0) & (c1 % c2 == 0))
rule((x * c1 - y) // c2, x * (c1 // c2) + (0 - y) // c2, when=(c2 != 0) & (c1 % c2 == 0))
rule((y - x * c1) // c2, y // c2 - x * (c1 // c2), when=(c2 != 0) & (c1 % c2 == 0))
rule(
    (x * c1 + y) // c2,
    x // (c2 // c1),
    when=(c1 > 0) & (c2 > 0) & (c2 % c1 == 0) & (y >= 0) & (y < c1),
)
rule(
    (x * c1 + y + z) // c2,
    x * (c1 // c2) + (y + z) // c2,
    when=(c2 != 0) & (c1 % c2 == 0),
)
rule((x + c1) // c2, x // c2 + c1 // c2, when=(c2 != 0) & (c1 % c2 == 0))
rule((x * y + z) // y, x + z // y)
rule((x * y - z) // y, x + (0 - z) // y)
rule((z - x * y) // y, z // y - x)
rule((x + y) // x, y // x + 1)
rule((x + y) // c1, x // c1 + y // c1, when=(c1 > 1) & multiple(x, c1))

# The quotient is monotonic.
rule(
    pmin(x * c1, y) // c2,
    pmin(x * (c1 // c2), y // c2),
    when=(c2 > 0) & (c1 % c2 == 0),
)
rule(
    pmax(x * c1, y) // c2,
    pmax(x * (c1 // c2), y // c2),
    when=(c2 > 0) & (c1 % c2 == 0),
)
