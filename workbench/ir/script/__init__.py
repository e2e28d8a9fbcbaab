"""TVMScript of modules: the namespace `I`, printers, and the reader of `@I.ir_module`."""

from workbench.ir.script import printers

__all__ = ["printers"]
