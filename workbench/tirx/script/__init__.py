"""TVMScript of the loop IR: the namespace `T`, printers, and the reader of `@T.prim_func`."""

from workbench.ir.script import printers as _shared
from workbench.tirx.script import print_expr, print_stmt

__all__ = ["print_expr", "print_stmt"]
