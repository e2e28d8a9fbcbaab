"""Not, And, Or. Rules that speak of numbers ask for integers: a float may be no number."""

from workbench.arith.pattern import (
    ANY,
    FALSE,
    TRUE,
    RuleSet,
    c1,
    c2,
    integer,
    pmax,
    pmin,
    x,
    y,
    z,
)

rule = RuleSet("logical")

rule(~TRUE, FALSE, on=ANY)
rule(~FALSE, TRUE, on=ANY)
rule(~(~x), x, on=ANY)
rule(~(x == y), x != y, on=ANY)
rule(~(x != y), x == y, on=ANY)
rule(~(x < y), y <= x, when=integer(x), on=ANY)
rule(~(x <= y), y < x, when=integer(x), on=ANY)
rule(~(x > y), x <= y, when=integer(x), on=ANY)
rule(~(x >= y), x < y, when=integer(x), on=ANY)
rule(~(x & y), (~x) | (~y), on=ANY)
rule(~(x | y), (~x) & (~y), on=ANY)

rule(x & TRUE, x, on=ANY)
rule(x & FALSE, FALSE, on=ANY)
rule(x & x, x, on=ANY)
rule((x & y) & x, x & y, on=ANY)
rule((x | y) & x, x, on=ANY)
rule(x & ~x, FALSE, on=ANY)
rule((x < y) & (y < x), FALSE, on=ANY)
rule((x < y) & (y <= x), FALSE, on=ANY)
rule((x == y) & (x != y), FALSE, on=ANY)
rule((x <= y) & (y <= x), x == y, on=ANY)
rule((x < y) & (x <= y), x < y, on=ANY)
rule((x < y) & (x != y), x < y, on=ANY)
rule((x <= y) & (x != y), x < y, on=ANY)
rule((x < c1) & (x < c2), x < pmin(c1, c2), on=ANY)
rule((x <= c1) & (x <= c2), x <= pmin(c1, c2), on=ANY)
rule((c1 < x) & (c2 < x), pmax(c1, c2) < x, on=ANY)
rule((c1 <= x) & (c2 <= x), pmax(c1, c2) <= x, on=ANY)
rule((x < c1) & (x <= c2), x < pmin(c1, c2 + 1), on=ANY)
rule((c1 < x) & (c2 <= x), pmax(c1 + 1, c2) <= x, on=ANY)
rule((x < c1) & (c2 < x), FALSE, when=c1 <= c2 + 1, on=ANY)
rule((x < c1) & (c2 <= x), FALSE, when=c1 <= c2, on=ANY)
rule((x <= c1) & (c2 < x), FALSE, when=c1 <= c2, on=ANY)
rule((x <= c1) & (c2 <= x), FALSE, when=c1 < c2, on=ANY)
rule((x <= c1) & (c2 <= x), x == c1, when=c1 == c2, on=ANY)
rule((x == c1) & (x == c2), FALSE, when=c1 != c2, on=ANY)
rule((x == c1) & (x != c2), x == c1, when=c1 != c2, on=ANY)
rule((x == c1) & (x < c2), x == c1, when=c1 < c2, on=ANY)
rule((x == c1) & (x < c2), FALSE, when=c1 >= c2, on=ANY)
rule((x == c1) & (c2 < x), x == c1, when=c1 > c2, on=ANY)
rule((x == c1) & (c2 < x), FALSE, when=c1 <= c2, on=ANY)
rule((x < pmin(y, z)) & (x < y), x < pmin(y, z), when=integer(x), on=ANY)

rule(x | FALSE, x, on=ANY)
rule(x | TRUE, TRUE, on=ANY)
rule(x | x, x, on=ANY)
rule((x | y) | x, x | y, on=ANY)
rule((x & y) | x, x, on=ANY)
rule(x | ~x, TRUE, on=ANY)
rule((x < y) | (y <= x), TRUE, when=integer(x), on=ANY)
rule((x <= y) | (y <= x), TRUE, when=integer(x), on=ANY)
rule((x == y) | (x != y), TRUE, on=ANY)
rule((x < y) | (y < x), x != y, when=integer(x), on=ANY)
rule((x < y) | (x <= y), x <= y, on=ANY)
rule((x < y) | (x == y), x <= y, on=ANY)
rule((x < c1) | (x < c2), x < pmax(c1, c2), on=ANY)
rule((x <= c1) | (x <= c2), x <= pmax(c1, c2), on=ANY)
rule((c1 < x) | (c2 < x), pmin(c1, c2) < x, on=ANY)
rule((c1 <= x) | (c2 <= x), pmin(c1, c2) <= x, on=ANY)
rule((x < c1) | (c2 < x), TRUE, when=c2 < c1, on=ANY)
rule((x < c1) | (c2 <= x), TRUE, when=c2 <= c1, on=ANY)
rule((x <= c1) | (c2 < x), TRUE, when=c2 <= c1, on=ANY)
rule((x <= c1) | (c2 <= x), TRUE, when=c2 <= c1 + 1, on=ANY)
rule((x != c1) | (x != c2), TRUE, when=c1 != c2, on=ANY)
