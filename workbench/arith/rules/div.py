"""x / y and truncmod(x, y): the division of C, which rounds towards zero, and that of floats."""

from workbench.arith.pattern import (
    FLOATING,
    INTEGER,
    RuleSet,
    c1,
    c2,
    truncmod,
    x,
    y,
)

rule = RuleSet("div")

rule(x / 1.0, x, on=FLOATING)
rule(x / 1, x, on=INTEGER)
rule(0 / x, 0, on=INTEGER)
rule(x / x, 1, on=INTEGER)
rule(x / y, 0, when=(x >= 0) & (x < y), on=INTEGER)
rule((x * c1) / c2, x * (c1 / c2), when=(c2 != 0) & (c1 % c2 == 0))
rule((x * c1) / c2, x / (c2 / c1), when=(c1 != 0) & (c2 != 0) & (c2 % c1 == 0))
rule((x * y) / y, x)
rule((x / c1) / c2, x / (c1 * c2), when=(c1 > 0) & (c2 > 0))

# Both roundings agree where nothing is negative.
rule(x / y, x // y, when=(x >= 0) & (y >= 0), on=INTEGER)

rule(truncmod(x, 1), 0, on=INTEGER)
rule(truncmod(0, x), 0, on=INTEGER)
rule(truncmod(x, x), 0, on=INTEGER)
rule(truncmod(x, y), x, when=(x >= 0) & (x < y), on=INTEGER)
rule(truncmod(x * c1, c2), 0, when=(c2 != 0) & (c1 % c2 == 0))
rule(truncmod(x * y, y), 0)
rule(truncmod(x, y), x % y, when=(x >= 0) & (y >= 0), on=INTEGER)
