"""x < y and x <= y. `>` and `>=` are turned round."""

from workbench.arith.pattern import (
    ANY,
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

rule = RuleSet("comparison")

rule(x > y, y < x, on=ANY)
rule(x >= y, y <= x, on=ANY)

# Decided by what is known.
rule(x < x, FALSE, on=INTEGER)
rule(x <= x, TRUE, on=INTEGER)
rule(x < y, TRUE, when=x < y, on=INTEGER)
rule(x < y, FALSE, when=x >= y, on=INTEGER)
rule(x <= y, TRUE, when=x <= y, on=INTEGER)
rule(x <= y, FALSE, when=x > y, on=INTEGER)

# Constants meet on the right (or on the left, where the variable is larger).
rule(x + c1 < c2, x < c2 - c1)
rule(x + c1 <= c2, x <= c2 - c1)
rule(c1 < x + c2, c1 - c2 < x)
rule(c1 <= x + c2, c1 - c2 <= x)
rule(c1 - x < c2, c1 - c2 < x)
rule(c1 - x <= c2, c1 - c2 <= x)
rule(c1 < c2 - x, x < c2 - c1)
rule(c1 <= c2 - x, x <= c2 - c1)
rule(x + c1 < y + c2, x < y + (c2 - c1))
rule(x + c1 <= y + c2, x <= y + (c2 - c1))
rule(x < y + 1, x <= y)
rule(x + -1 < y, x <= y)
rule(x + 1 <= y, x < y)
rule(x <= y + -1, x < y)
rule(x + c1 < y, x < y + (0 - c1), when=symbolic(y))
rule(x + c1 <= y, x <= y + (0 - c1), when=symbolic(y))

# Common terms.
rule(x + y < x + z, y < z)
rule(x + y <= x + z, y <= z)
rule(x + y < x, y < 0)
rule(x + y <= x, y <= 0)
rule(x < x + y, 0 < y)
rule(x <= x + y, 0 <= y)
rule(x - y < x - z, z < y)
rule(x - y <= x - z, z <= y)
rule(x - y < z - y, x < z)
rule(x - y <= z - y, x <= z)
rule(x - y < x, 0 < y)
rule(x - y <= x, 0 <= y)
rule(x < x - y, y < 0)
rule(x <= x - y, y <= 0)

# Common factors; a bound of a multiple is a bound of the factor.
rule(x * c1 < y * c1, x < y, when=c1 > 0)
rule(x * c1 < y * c1, y < x, when=c1 < 0)
rule(x * c1 <= y * c1, x <= y, when=c1 > 0)
rule(x * c1 <= y * c1, y <= x, when=c1 < 0)
rule(x * c1 < c2, x < (c2 + c1 - 1) // c1, when=c1 > 0)
rule(x * c1 <= c2, x <= c2 // c1, when=c1 > 0)
rule(c2 < x * c1, c2 // c1 < x, when=c1 > 0)
rule(c2 <= x * c1, (c2 + c1 - 1) // c1 <= x, when=c1 > 0)
rule(x * c1 < c2, (0 - c2) // (0 - c1) < x, when=c1 < 0)
rule(x * c1 <= c2, (0 - c2 - c1 - 1) // (0 - c1) <= x, when=c1 < 0)
rule(c2 < x * c1, x < (0 - c2 - c1 - 1) // (0 - c1), when=c1 < 0)
rule(c2 <= x * c1, x <= (0 - c2) // (0 - c1), when=c1 < 0)

# A bound of a quotient is a bound of the dividend.
rule(x // c1 < c2, x < c1 * c2, when=c1 > 0)
rule(x // c1 <= c2, x < c1 * (c2 + 1), when=c1 > 0)
rule(c2 < x // c1, c1 * (c2 + 1) <= x, when=c1 > 0)
rule(c2 <= x // c1, c1 * c2 <= x, when=c1 > 0)
rule(x < (x // c1) * c1, FALSE, when=c1 > 0)
rule((x // c1) * c1 <= x, TRUE, when=c1 > 0)
rule((x // c1) * c1 < x, 0 < x % c1, when=c1 > 0)
rule(x <= ((x + c2) // c1) * c1, TRUE, when=(c1 > 0) & (c2 == c1 - 1))
rule(((x + c2) // c1) * c1 < x, FALSE, when=(c1 > 0) & (c2 == c1 - 1))

# Minimum and maximum.
rule(pmin(x, y) <= x, TRUE, on=INTEGER)
rule(x <= pmax(x, y), TRUE, on=INTEGER)
rule(x < pmin(x, y), FALSE, on=INTEGER)
rule(pmax(x, y) < x, FALSE, on=INTEGER)
rule(pmin(x, c1) < c2, TRUE, when=c1 < c2, on=INTEGER)
rule(pmin(x, c1) < c2, x < c2, when=c1 >= c2, on=INTEGER)
rule(pmin(x, c1) <= c2, TRUE, when=c1 <= c2, on=INTEGER)
rule(pmin(x, c1) <= c2, x <= c2, when=c1 > c2, on=INTEGER)
rule(pmax(x, c1) < c2, FALSE, when=c1 >= c2, on=INTEGER)
rule(pmax(x, c1) < c2, x < c2, when=c1 < c2, on=INTEGER)
rule(pmax(x, c1) <= c2, FALSE, when=c1 > c2, on=INTEGER)
rule(pmax(x, c1) <= c2, x <= c2, when=c1 <= c2, on=INTEGER)
rule(c2 < pmin(x, c1), FALSE, when=c1 <= c2, on=INTEGER)
rule(c2 < pmin(x, c1), c2 < x, when=c1 > c2, on=INTEGER)
rule(c2 <= pmin(x, c1), FALSE, when=c1 < c2, on=INTEGER)
rule(c2 <= pmin(x, c1), c2 <= x, when=c1 >= c2, on=INTEGER)
rule(c2 < pmax(x, c1), TRUE, when=c1 > c2, on=INTEGER)
rule(c2 < pmax(x, c1), c2 < x, when=c1 <= c2, on=INTEGER)
rule(c2 <= pmax(x, c1), TRUE, when=c1 >= c2, on=INTEGER)
rule(c2 <= pmax(x, c1), c2 <= x, when=c1 < c2, on=INTEGER)

# In general an extremum compares as both of its operands do.
rule(pmin(x, y) < x, y < x)
rule(pmax(x, y) <= x, y <= x)
rule(x <= pmin(x, y), x <= y)
rule(x < pmax(x, y), x < y)
rule(pmin(x, y) <= pmin(x, z), pmin(x, y) <= z)
rule(pmin(x, y) < pmin(x, z), y < pmin(x, z))
rule(pmax(x, y) <= pmax(x, z), y <= pmax(x, z))
rule(pmax(x, y) < pmax(x, z), pmax(x, y) < z)
rule(z < pmin(x, y) + c1, (z < x + c1) & (z < y + c1))
rule(z <= pmin(x, y) + c1, (z <= x + c1) & (z <= y + c1))
rule(z < pmax(x, y) + c1, (z < x + c1) | (z < y + c1))
rule(z <= pmax(x, y) + c1, (z <= x + c1) | (z <= y + c1))
rule(pmin(x, y) < z, (x < z) | (y < z))
rule(pmin(x, y) <= z, (x <= z) | (y <= z))
rule(z < pmin(x, y), (z < x) & (z < y))
rule(z <= pmin(x, y), (z <= x) & (z <= y))
rule(pmax(x, y) < z, (x < z) & (y < z))
rule(pmax(x, y) <= z, (x <= z) & (y <= z))
rule(z < pmax(x, y), (z < x) | (z < y))
rule(z <= pmax(x, y), (z <= x) | (z <= y))
