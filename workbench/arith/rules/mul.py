"""x * y"""

from workbench.arith.pattern import (
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
    x,
    y,
)

rule = RuleSet("mul")

rule(x * 0, 0, on=INTEGER)
rule(x * 1, x, on=INTEGER)
rule(x * 1.0, x, on=FLOATING)
rule(1.0 * x, x, on=FLOATING)
rule(c1 * x, x * c1, when=symbolic(x), on=INTEGER)
rule((x * c1) * c2, x * (c1 * c2), on=INTEGER)
rule((x + c1) * c2, x * c2 + c1 * c2)
rule((c1 - x) * c2, x * (0 - c2) + c1 * c2)
rule((x - y) * c1, (y - x) * (0 - c1), when=c1 < 0)
rule((x * c1) * y, (x * y) * c1, when=symbolic(y), on=INTEGER)
rule(pmin(x, y) * pmax(x, y), x * y, on=INTEGER)
rule(select(s, c1, c2) * c3, select(s, c1 * c3, c2 * c3), on=INTEGER)
