"""Targets and code generation. Importing it loads no code generator and no LLVM."""

from workbench.target.target import (
    Target,
    TargetError,
    TargetKind,
    list_tags,
    register_tag,
)

__all__ = ["Target", "TargetError", "TargetKind", "list_tags", "register_tag"]
