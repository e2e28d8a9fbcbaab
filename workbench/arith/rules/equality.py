"""x == y and x != y"""

from workbench.arith.pattern import (
    FALSE,
    INTEGER,
    TRUE,
    RuleSet,
    c1,
    c2,
    pmax,
    pmin,
    symbolic,
    x,
    y,
    z,
)

rule = RuleSet("equality")

rule(x == x, TRUE, on=INTEGER)
rule(x != x, FALSE, on=INTEGER)
rule(c1 == x, x == c1, when=symbolic(x), on=INTEGER)
rule(c1 != x, x != c1, when=symbolic(x), on=INTEGER)
rule(x == y, FALSE, when=x < y, on=INTEGER)
rule(x != y, TRUE, when=x < y, on=INTEGER)
rule(x == c1, TRUE, when=x == c1, on=INTEGER)
rule(x != c1, FALSE, when=x == c1, on=INTEGER)

# Common terms; these hold with wrap-around too.
rule(x + c1 == c2, x == c2 - c1, on=INTEGER)
rule(x + c1 != c2, x != c2 - c1, on=INTEGER)
rule(c1 - x == c2, x == c1 - c2, on=INTEGER)
rule(c1 - x != c2, x != c1 - c2, on=INTEGER)
rule(x + c1 == y + c2, x == y + (c2 - c1))
rule(x + c1 != y + c2, x != y + (c2 - c1))
rule(x + y == x + z, y == z, on=INTEGER)
rule(x + y != x + z, y != z, on=INTEGER)
rule(x + y == x, y == 0, on=INTEGER)
rule(x + y != x, y != 0, on=INTEGER)
rule(x - y == 0, x == y, on=INTEGER)
rule(x - y != 0, x != y, on=INTEGER)
rule(x - y == x, y == 0, on=INTEGER)
rule(x - y != x, y != 0, on=INTEGER)

# Common factors.
rule(x * c1 == c2, x == c2 // c1, when=(c1 != 0) & (c2 % c1 == 0))
rule(x * c1 != c2, x != c2 // c1, when=(c1 != 0) & (c2 % c1 == 0))
rule(x * c1 == c2, FALSE, when=(c1 != 0) & (c2 % c1 != 0))
rule(x * c1 != c2, TRUE, when=(c1 != 0) & (c2 % c1 != 0))
rule(x * c1 == y * c1, x == y, when=c1 != 0)
rule(x * c1 != y * c1, x != y, when=c1 != 0)
rule(x * y == 0, (x == 0) | (y == 0))
rule(x * y != 0, (x != 0) & (y != 0))

# Minimum and maximum; a bound that is reached.
rule(pmin(x, y) == x, x <= y)
rule(pmin(x, y) != x, y < x)
rule(pmax(x, y) == x, y <= x)
rule(pmax(x, y) != x, x < y)
rule(x != c1, c1 < x, when=x >= c1)
rule(x != c1, x < c1, when=x <= c1)
rule(x * c1 == x, x == 0, when=c1 != 1)
rule(x * c1 != x, x != 0, when=c1 != 1)
