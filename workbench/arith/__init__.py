"""Layer 4: integer arithmetic: simplification, bounds, sets, and the detection of iteration maps.

`Analyzer` is the way in. The rewrite rules are data in `arith.rules`; `arith.canonical` is the normal
form; `arith.iter_map` recognises affine bijections between loops and block variables.
"""

from workbench.arith.analyzer import Analyzer, CompareResult, ProofStrength
from workbench.arith.const_int_bound import ConstIntBound
from workbench.arith.int_set import IntervalSet, IntSet, PresburgerSet
from workbench.arith.modular_set import ModularSet
