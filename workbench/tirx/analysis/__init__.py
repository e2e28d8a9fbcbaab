"""Questions about loop programs."""

from workbench.tirx.analysis.memory import (
    buffer_bytes,
    buffer_elements,
    calculate_allocated_bytes,
)
from workbench.tirx.analysis.side_effect import (
    expr_deep_equal,
    is_pure,
    jumps_out,
    side_effect,
    undefined_vars,
    uses_any,
    uses_var,
)
from workbench.tirx.analysis.well_formed import (
    IllFormedError,
    find_entry_func,
    verify_memory,
    verify_ssa,
    verify_tirx_well_formed,
    verify_well_formed,
)

__all__ = [
    "IllFormedError",
    "buffer_bytes",
    "buffer_elements",
    "calculate_allocated_bytes",
    "expr_deep_equal",
    "find_entry_func",
    "is_pure",
    "jumps_out",
    "side_effect",
    "undefined_vars",
    "uses_any",
    "uses_var",
    "verify_memory",
    "verify_ssa",
    "verify_tirx_well_formed",
    "verify_well_formed",
]
