"""Facts about Relax programs."""

from workbench.relax.analysis.kernel_pattern import has_reshape_pattern
from workbench.relax.analysis.programs import (
    collect_non_negative_expressions,
    computable_at_compile_time,
    detect_recursion,
    estimate_memory_usage,
    get_static_type,
    remove_all_unused,
    used_vars,
)
from workbench.relax.analysis.purity import contains_impure_call, is_impure_call
from workbench.relax.analysis.type_relation import (
    BaseCheckResult,
    TypeInferenceError,
    derive_call_ret_type,
    erase_to_well_defined,
    infer_call_type,
    is_base_of,
    match_types,
    same_dim,
    type_base_check,
    type_lca,
)
from workbench.relax.analysis.variables import (
    all_global_vars,
    all_vars,
    definable_tir_vars_in_type,
    defined_symbolic_vars,
    free_symbolic_vars,
    get_var2val,
    name_to_binding,
    tir_vars_in_type,
    udchain,
)
from workbench.relax.analysis.variables import relax_bound_vars as bound_vars
from workbench.relax.analysis.variables import relax_free_vars as free_vars
from workbench.relax.analysis.visit import post_order_visit
from workbench.relax.analysis.well_formed import IllFormedError, check_well_formed, well_formed

__all__ = [
    "BaseCheckResult",
    "IllFormedError",
    "TypeInferenceError",
    "all_global_vars",
    "all_vars",
    "bound_vars",
    "check_well_formed",
    "collect_non_negative_expressions",
    "computable_at_compile_time",
    "contains_impure_call",
    "definable_tir_vars_in_type",
    "defined_symbolic_vars",
    "derive_call_ret_type",
    "detect_recursion",
    "erase_to_well_defined",
    "estimate_memory_usage",
    "free_symbolic_vars",
    "free_vars",
    "get_static_type",
    "get_var2val",
    "has_reshape_pattern",
    "infer_call_type",
    "is_base_of",
    "is_impure_call",
    "match_types",
    "name_to_binding",
    "post_order_visit",
    "remove_all_unused",
    "same_dim",
    "tir_vars_in_type",
    "type_base_check",
    "type_lca",
    "udchain",
    "used_vars",
    "well_formed",
]
