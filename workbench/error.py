"""Errors, under TVM's module name. Everything a user can cause derives from `WorkbenchError`."""

from workbench.core.errors import (
    DiagnosticError,
    FrozenNodeError,
    InternalError,
    RegistryError,
    StructuralMismatch,
    WorkbenchError,
)

__all__ = [
    "DiagnosticError",
    "FrozenNodeError",
    "InternalError",
    "RegistryError",
    "StructuralMismatch",
    "WorkbenchError",
]
