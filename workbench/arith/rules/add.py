"""x + y"""

from workbench.arith.pattern import (
    ANY,
    INTEGER,
    RuleSet,
    c1,
    c2,
    c3,
    pmax,
    pmin,
    s,
    select,
    symbolic,
    w,
    x,
    y,
    z,
)

rule = RuleSet("add")

# Constants go to the right and meet.
rule(x + 0, x, on=INTEGER)
rule(c1 + x, x + c1, when=symbolic(x), on=INTEGER)
rule((x + c1) + c2, x + (c1 + c2), on=INTEGER)
rule((c1 - x) + c2, (c1 + c2) - x, on=INTEGER)
rule((x + c1) + y, (x + y) + c1, when=symbolic(y), on=INTEGER, exact=True)
rule(y + (x + c1), (y + x) + c1, when=symbolic(y), on=INTEGER, exact=True)
rule(x + (c1 - y), (x - y) + c1, when=symbolic(x) & (c1 != 0), on=INTEGER)
rule(x + (0 - y), x - y, on=INTEGER)

# What is taken away and added again.
rule((x - y) + y, x, on=INTEGER)
rule((x - y) + (y - z), x - z, on=INTEGER)

# Common factors.
rule(x * y + z * y, (x + z) * y, on=INTEGER, exact=True)
rule(x * y + x * z, x * (y + z), on=INTEGER)
rule(x * y + x, x * (y + 1), when=symbolic(x), on=INTEGER)
rule(x + x, x * 2, on=INTEGER)

# Quotient and remainder make the whole.
rule((x // y) * y + x % y, x, on=INTEGER)
rule((x // c1) * c2 + (x % c1) * c3, x * c3, when=(c1 != 0) & (c2 == c1 * c3))

# Minimum and maximum.
rule(pmin(x, y) + pmax(x, y), x + y, on=INTEGER)
rule(pmin(x, y - z) + z, pmin(x + z, y))
rule(pmax(x, y - z) + z, pmax(x + z, y))
rule(pmin(x, y + c1) + c2, pmin(x + c2, y), when=c1 + c2 == 0)
rule(pmax(x, y + c1) + c2, pmax(x + c2, y), when=c1 + c2 == 0)

# Selections by the same condition.
rule(select(s, x, y) + select(s, z, w), select(s, x + z, y + w), on=ANY)
rule(select(s, c1, c2) + c3, select(s, c1 + c3, c2 + c3), on=INTEGER)
