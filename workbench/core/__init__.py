"""Layer 0: nodes and what is derived from their declaration, registries, recorder, errors.

Read `node` first, then `traverse`, `structural` and `serial`.
"""

from workbench.core.dispatch import Dispatch
from workbench.core.errors import FrozenNodeError, RegistryError, StructuralMismatch, WorkbenchError
from workbench.core.names import NameSupply
from workbench.core.node import DEF, META, USE, FrozenMap, Node, Role, field
from workbench.core.recorder import Event, Recorder, recording
from workbench.core.registry import Registry
from workbench.core.serial import from_json, load_json, save_json, to_json
from workbench.core.structural import (
    assert_structural_equal,
    get_first_structural_mismatch,
    structural_equal,
    structural_hash,
)
from workbench.core.traverse import bound_vars, free_vars, iter_nodes, rewrite, substitute, walk

__all__ = [
    "DEF",
    "META",
    "USE",
    "Dispatch",
    "Event",
    "FrozenMap",
    "FrozenNodeError",
    "NameSupply",
    "Node",
    "Recorder",
    "Registry",
    "RegistryError",
    "Role",
    "StructuralMismatch",
    "WorkbenchError",
    "assert_structural_equal",
    "bound_vars",
    "field",
    "free_vars",
    "from_json",
    "get_first_structural_mismatch",
    "iter_nodes",
    "load_json",
    "recording",
    "rewrite",
    "save_json",
    "structural_equal",
    "structural_hash",
    "substitute",
    "to_json",
    "walk",
]
