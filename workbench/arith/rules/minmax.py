"""min(x, y) and max(x, y)"""

from workbench.arith.pattern import (
    ANY,
    INTEGER,
    RuleSet,
    c1,
    c2,
    pmax,
    pmin,
    s,
    select,
    w,
    x,
    y,
    z,
)

rule = RuleSet("minmax")

rule(pmin(x, x), x, on=ANY)
rule(pmax(x, x), x, on=ANY)
rule(pmin(x, y), x, when=x <= y, on=INTEGER)
rule(pmax(x, y), y, when=x <= y, on=INTEGER)

# Nested extrema.
rule(pmin(pmin(x, c1), c2), pmin(x, pmin(c1, c2)), on=INTEGER)
rule(pmax(pmax(x, c1), c2), pmax(x, pmax(c1, c2)), on=INTEGER)
rule(pmin(pmax(x, c1), c2), c2, when=c2 <= c1, on=INTEGER)
rule(pmax(pmin(x, c1), c2), c2, when=c1 <= c2, on=INTEGER)
rule(pmin(pmin(x, y), x), pmin(x, y), on=INTEGER)
rule(pmax(pmax(x, y), x), pmax(x, y), on=INTEGER)
rule(pmin(pmax(x, y), x), x, on=INTEGER)
rule(pmax(pmin(x, y), x), x, on=INTEGER)
rule(pmin(pmin(x, y), pmax(x, y)), pmin(x, y), on=INTEGER)
rule(pmax(pmin(x, y), pmax(x, y)), pmax(x, y), on=INTEGER)
rule(pmin(pmin(x, y), pmin(x, z)), pmin(pmin(y, z), x), on=INTEGER)
rule(pmax(pmax(x, y), pmax(x, z)), pmax(pmax(y, z), x), on=INTEGER)
rule(pmin(pmax(x, y), pmax(x, z)), pmax(pmin(y, z), x), on=INTEGER)
rule(pmax(pmin(x, y), pmin(x, z)), pmin(pmax(y, z), x), on=INTEGER)
rule(pmin(pmin(pmin(x, y), z), y), pmin(pmin(x, y), z), on=INTEGER)
rule(pmax(pmax(pmax(x, y), z), y), pmax(pmax(x, y), z), on=INTEGER)

# One side is the other plus something of known sign.
rule(pmin(x + y, x), x, when=y >= 0)
rule(pmin(x + y, x), x + y, when=y <= 0)
rule(pmax(x + y, x), x + y, when=y >= 0)
rule(pmax(x + y, x), x, when=y <= 0)
rule(pmin(x - y, x), x - y, when=y >= 0)
rule(pmin(x - y, x), x, when=y <= 0)
rule(pmax(x - y, x), x, when=y >= 0)
rule(pmax(x - y, x), x - y, when=y <= 0)

# Rounding down stays below, rounding up above.
rule(pmin((x // c1) * c1, x), (x // c1) * c1, when=c1 > 0)
rule(pmax((x // c1) * c1, x), x, when=c1 > 0)
rule(pmin(((x + c2) // c1) * c1, x), x, when=(c1 > 0) & (c2 == c1 - 1))
rule(pmax(((x + c2) // c1) * c1, x), ((x + c2) // c1) * c1, when=(c1 > 0) & (c2 == c1 - 1))

# Common terms and factors come out.
rule(pmin(x + y, x + z), x + pmin(y, z))
rule(pmax(x + y, x + z), x + pmax(y, z))
rule(pmin(x - y, x - z), x - pmax(y, z))
rule(pmax(x - y, x - z), x - pmin(y, z))
rule(pmin(x - y, z - y), pmin(x, z) - y)
rule(pmax(x - y, z - y), pmax(x, z) - y)
rule(pmin(x + c1, c2), pmin(x, c2 - c1) + c1)
rule(pmax(x + c1, c2), pmax(x, c2 - c1) + c1)
rule(pmin(c1 - x, c2), c1 - pmax(x, c1 - c2))
rule(pmax(c1 - x, c2), c1 - pmin(x, c1 - c2))
rule(pmin(x * c1, y * c1), pmin(x, y) * c1, when=c1 > 0)
rule(pmin(x * c1, y * c1), pmax(x, y) * c1, when=c1 < 0)
rule(pmax(x * c1, y * c1), pmax(x, y) * c1, when=c1 > 0)
rule(pmax(x * c1, y * c1), pmin(x, y) * c1, when=c1 < 0)
rule(pmin(x * c1, c2), pmin(x, c2 // c1) * c1, when=(c1 > 0) & (c2 % c1 == 0))
rule(pmin(x * c1, c2), pmax(x, c2 // c1) * c1, when=(c1 < 0) & (c2 % c1 == 0))
rule(pmax(x * c1, c2), pmax(x, c2 // c1) * c1, when=(c1 > 0) & (c2 % c1 == 0))
rule(pmax(x * c1, c2), pmin(x, c2 // c1) * c1, when=(c1 < 0) & (c2 % c1 == 0))
rule(pmin(x // c1, y // c1), pmin(x, y) // c1, when=c1 > 0, on=INTEGER)
rule(pmax(x // c1, y // c1), pmax(x, y) // c1, when=c1 > 0, on=INTEGER)
rule(pmin(x // c1, y // c1), pmax(x, y) // c1, when=c1 < 0)
rule(pmax(x // c1, y // c1), pmin(x, y) // c1, when=c1 < 0)

# Selections by the same condition.
rule(pmin(select(s, x, y), select(s, z, w)), select(s, pmin(x, z), pmin(y, w)), on=ANY)
rule(pmax(select(s, x, y), select(s, z, w)), select(s, pmax(x, z), pmax(y, w)), on=ANY)
