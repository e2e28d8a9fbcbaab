"""Target kinds, one file each. Importing the package declares them all."""

from workbench.target.kinds import llvm

__all__ = ["llvm"]
