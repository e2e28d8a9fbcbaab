"""x % y, with the sign of the divisor. A divisor is never 0 where the expression is evaluated."""

from workbench.arith.pattern import (
    INTEGER,
    RuleSet,
    c1,
    c2,
    multiple,
    x,
    y,
    z,
)

rule = RuleSet("floormod")

rule(x % 1, 0, on=INTEGER)
rule(0 % x, 0, on=INTEGER)
rule(x % x, 0, on=INTEGER)
rule(x % -1, 0)
rule(x % y, x, when=(x >= 0) & (x < y), on=INTEGER)
rule(x % c1, 0, when=(c1 > 0) & multiple(x, c1), on=INTEGER)

# Multiples of the divisor vanish.
rule((x * c1) % c2, 0, when=(c2 != 0) & (c1 % c2 == 0))
rule((x * y) % y, 0)
rule((x * y + z) % y, z % y)
rule((x * y - z) % y, (0 - z) % y)
rule((z - x * y) % y, z % y)
rule((x + y) % x, y % x)
rule((x * c1 + y) % c2, y % c2, when=(c2 != 0) & (c1 % c2 == 0))
rule((x * c1 - y) % c2, (0 - y) % c2, when=(c2 != 0) & (c1 % c2 == 0))
rule((y - x * c1) % c2, y % c2, when=(c2 != 0) & (c1 % c2 == 0))
rule((x * c1 + y + z) % c2, (y + z) % c2, when=(c2 != 0) & (c1 % c2 == 0))
rule((x + c1) % c2, x % c2, when=(c2 != 0) & (c1 % c2 == 0))
rule((x + c1) % c2, (x + c1 % c2) % c2, when=(c2 > 0) & ((c1 < 0) | (c1 >= c2)))
rule((x + y) % c1, y % c1, when=(c1 > 1) & multiple(x, c1))

# Common factors, and parts too small to carry.
rule((x * c1) % c2, (x % (c2 // c1)) * c1, when=(c1 > 0) & (c2 > 0) & (c2 % c1 == 0))
rule(
    (x * c1 + y) % c2,
    (x % (c2 // c1)) * c1 + y,
    when=(c1 > 0) & (c2 > 0) & (c2 % c1 == 0) & (y >= 0) & (y < c1),
)
rule((x * c1) % c2, (x * (c1 % c2)) % c2, when=(c2 > 0) & (c1 > c2))

# Nested remainders.
rule((x % c1) % c2, x % c2, when=(c2 != 0) & (c1 != 0) & (c1 % c2 == 0))
rule((x % c1 + y) % c2, (x + y) % c2, when=(c2 != 0) & (c1 != 0) & (c1 % c2 == 0))
rule((x % c1 - y) % c2, (x - y) % c2, when=(c2 != 0) & (c1 != 0) & (c1 % c2 == 0))
rule((y - x % c1) % c2, (y - x) % c2, when=(c2 != 0) & (c1 != 0) & (c1 % c2 == 0))
