"""Layer 4: integer arithmetic: simplification, bounds, sets, and the detection of iteration maps.

`Analyzer` is the way in. The rewrite rules are data in `arith.rules`; `arith.canonical` is the normal
form; `arith.iter_map` recognises affine bijections between loops and block variables.
"""

from workbench.arith.analyzer import Analyzer, CompareResult, ProofStrength
from workbench.arith.const_int_bound import ConstIntBound
from workbench.arith.int_set import IntervalSet, IntSet, PresburgerSet
from workbench.arith.modular_set import ModularSet
from workbench.arith.iter_map import (
    IterMapExpr,
    IterMapLevel,
    IterMapResult,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
    detect_iter_map,
    inverse_affine_iter_map,
    iter_map_simplify,
    normalize_iter_map_to_expr,
    normalize_to_iter_sum,
    subspace_divide,
)
