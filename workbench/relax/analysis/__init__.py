"""Facts about Relax programs."""

from workbench.core.traverse import bound_vars
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
from workbench.relax.analysis.variables import relax_free_vars as free_vars

__all__ = [
    "BaseCheckResult",
    "TypeInferenceError",
    "all_global_vars",
    "all_vars",
    "bound_vars",
    "definable_tir_vars_in_type",
    "defined_symbolic_vars",
    "derive_call_ret_type",
    "erase_to_well_defined",
    "free_symbolic_vars",
    "free_vars",
    "get_var2val",
    "infer_call_type",
    "is_base_of",
    "match_types",
    "name_to_binding",
    "same_dim",
    "tir_vars_in_type",
    "type_base_check",
    "type_lca",
    "udchain",
]
