"""Layer 4: integer arithmetic: simplification, bounds, sets, and the detection of iteration maps.

`Analyzer` is the way in. The rewrite rules are data in `arith.rules`; `arith.canonical` is the
normal form; `arith.iter_map` recognises affine bijections between loops and block variables;
`arith.int_set` and `arith.region` say which values an index takes while loops run.
"""

from workbench.arith.analyzer import Analyzer, CompareResult, ProofStrength
from workbench.arith.const_int_bound import ConstIntBound
from workbench.arith.int_set import IntervalSet, IntSet, PresburgerSet
from workbench.arith.int_solver import (
    IntConstraints,
    IntConstraintsTransform,
    solve_linear_equations,
)
from workbench.arith.iter_map import detect_iter_map, iter_map_simplify, normalize_to_iter_sum
from workbench.arith.iter_nodes import (
    IterMapExpr,
    IterMapLevel,
    IterMapResult,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
    normalize_iter_map_to_expr,
)
from workbench.arith.iter_space import inverse_affine_iter_map, subspace_divide
from workbench.arith.linear import deduce_bound, detect_clip_bound, detect_linear_equation
from workbench.arith.modular_set import ModularSet
from workbench.arith.region import (
    estimate_region_lower_bound,
    estimate_region_strict_bound,
    estimate_region_upper_bound,
)

__all__ = [
    "Analyzer",
    "CompareResult",
    "ConstIntBound",
    "IntConstraints",
    "IntConstraintsTransform",
    "IntSet",
    "IntervalSet",
    "IterMapExpr",
    "IterMapLevel",
    "IterMapResult",
    "IterMark",
    "IterSplitExpr",
    "IterSumExpr",
    "ModularSet",
    "PresburgerSet",
    "ProofStrength",
    "deduce_bound",
    "detect_clip_bound",
    "detect_iter_map",
    "detect_linear_equation",
    "estimate_region_lower_bound",
    "estimate_region_strict_bound",
    "estimate_region_upper_bound",
    "inverse_affine_iter_map",
    "iter_map_simplify",
    "normalize_iter_map_to_expr",
    "normalize_to_iter_sum",
    "solve_linear_equations",
    "subspace_divide",
]
