"""Select(condition, x, y)"""

from workbench.arith.pattern import (
    ANY,
    FALSE,
    TRUE,
    RuleSet,
    s,
    select,
    x,
    y,
)

rule = RuleSet("select")

rule(select(TRUE, x, y), x, on=ANY)
rule(select(FALSE, x, y), y, on=ANY)
rule(select(s, x, x), x, on=ANY)
rule(select(~s, x, y), select(s, y, x), on=ANY)
rule(select(s, TRUE, FALSE), s, on=ANY)
rule(select(s, FALSE, TRUE), ~s, on=ANY)
