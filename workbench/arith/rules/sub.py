"""x - y"""

from workbench.arith.pattern import (
    ANY,
    FLOATING,
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

rule = RuleSet("sub")

# Constants go to the right and meet. Subtraction of a multiple is addition of the negative one.
rule(x - x, 0, on=INTEGER)
rule(x - 0, x, on=INTEGER)
rule(x - 0.0, x, on=FLOATING)
rule((c1 - x) - c2, (c1 - c2) - x, on=INTEGER)
rule(c1 - (x + c2), (c1 - c2) - x, on=INTEGER)
rule(c1 - (c2 - x), x + (c1 - c2), on=INTEGER)
rule(0 - x * c1, x * (0 - c1))
rule(x - c1, x + (0 - c1), when=symbolic(x))
rule(x - y * c1, x + y * (0 - c1), when=symbolic(x))
rule((x + c1) - (y + c2), (x - y) + (c1 - c2))
rule((x + c1) - y, (x - y) + c1, when=symbolic(y))
rule(x - (y + c1), (x - y) + (0 - c1), when=symbolic(x))
rule(x - (c1 - y), (x + y) + (0 - c1), when=symbolic(x))

# What is added and taken away.
rule((x + y) - x, y, on=INTEGER)
rule(x - (x + y), 0 - y, on=INTEGER)
rule((x + y) - (x + z), y - z, on=INTEGER)
rule((x - y) - x, 0 - y, on=INTEGER)
rule(x - (x - y), y, on=INTEGER)
rule((x - y) - (x - z), z - y, on=INTEGER)
rule((x - y) - (z - y), x - z, on=INTEGER)
rule(x - (y - z), (x + z) - y)

# Common factors.
rule(x * y - x * z, x * (y - z), on=INTEGER)
rule(x * y - x, x * (y - 1), when=symbolic(x))
rule(x - x * y, x * (1 - y), when=symbolic(x), on=INTEGER)

# Quotient and remainder.
rule(x - (x // y) * y, x % y, on=INTEGER)
rule((x // y) * y - x, 0 - x % y, on=INTEGER)
rule(((x + y) // z) * z - x, y - (x + y) % z)
rule(((x - y) // z) * z - x, (0 - y) - (x - y) % z)
rule(x - ((x + y) // z) * z, (x + y) % z - y)
rule(x - ((x - y) // z) * z, (x - y) % z + y)
rule((x * c1) - (x // c2) * c3, (x % c2) * c1, when=(c2 != 0) & (c3 == c1 * c2))
rule((x // c2) * c3 - x * c1, (x % c2) * (0 - c1), when=(c2 != 0) & (c3 == c1 * c2))
rule((x + y) // z - x // z, (x % z + y) // z)
rule(x // z - (x + y) // z, 0 - (x % z + y) // z)
rule((x + y) // w - (x + z) // w, ((x + z) % w + (y - z)) // w)

# Minimum and maximum.
rule(pmin(x, y) - pmin(x, y), 0, on=INTEGER)
rule(pmax(x, y) - pmax(x, y), 0, on=INTEGER)
rule(pmin(x, y) - x, pmin(y - x, 0), when=symbolic(x))
rule(pmax(x, y) - x, pmax(y - x, 0), when=symbolic(x))
rule(x - pmin(x, y), pmax(x - y, 0), when=symbolic(x))
rule(x - pmax(x, y), pmin(x - y, 0), when=symbolic(x))
rule(pmin(x + y, z) - x, pmin(z - x, y))
rule(pmax(x + y, z) - x, pmax(z - x, y))
rule(x - pmin(x + y, z), pmax(x - z, 0 - y))
rule(x - pmax(x + y, z), pmin(x - z, 0 - y))

# Selections.
rule(select(s, x, y) - select(s, z, w), select(s, x - z, y - w), on=ANY)
rule(select(s, x, y) - x, select(s, 0, y - x), on=INTEGER)
rule(select(s, x, y) - y, select(s, x - y, 0), on=INTEGER)
rule(c3 - select(s, c1, c2), select(s, c3 - c1, c3 - c2), on=INTEGER)
