"""The meaning of loop programs: they run in NumPy, exactly as their data types say.

    interpret(func, a, b, c)             # arrays are changed in place
    interpret(module, "main", a, b, c)

This is the oracle of all code generators. Integers wrap around, division by zero gives 0, floats
are rounded after every operation, an index outside its buffer is an error that names both.
Read `exprs` for expressions and `program` for statements; `values` holds what they do at run time.
"""

from workbench.tirx.interpreter.run import interpret, interpreted_source
from workbench.tirx.interpreter.values import InterpretError

__all__ = ["InterpretError", "interpret", "interpreted_source"]
