"""Which view a value has, and its rich display: the seam that `Node._repr_mimebundle_` calls.

`mimebundle(value)` is static: plain text, and HTML that reads well with style and script removed.
The live view is asked for with `.explore()`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.core.dispatch import Dispatch
from workbench.core.node import Node
from workbench.inspect.pass_trace import PassTrace
from workbench.inspect.timing import Timing
from workbench.ir.expr import Expr
from workbench.ir.module import IRModule
from workbench.relax.expr import Function
from workbench.runtime.executable import Executable
from workbench.s_tir.schedule.schedule import Schedule
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import Stmt

from .loop_tree import buffer_rows, loop_tree
from .part import Details, Part, Text, column, line, row, table
from .pass_trace import trace_view
from .relax_graph import graph_part, main_function
from .render_html import display_html
from .schedule_panel import schedule_view
from .script_view import script_part, script_text, text_part
from .stages import stages_view
from .timing import timing_view
from .type_text import type_text

#: Scripts of at most this many lines are open in a static view.
OPEN_LINES = 60


#: The word for each kind of function.
_KIND: dict[type, str] = {Function: "graph", PrimFunc: "loops"}


def module_view(mod: IRModule) -> Part:
    """The graph of the main function, the functions, the script."""
    functions = mod.functions_items()
    graphs = sum(isinstance(f, Function) for _, f in functions)
    loops = sum(isinstance(f, PrimFunc) for _, f in functions)
    counts = [f"{graphs} graph" if graphs else "", f"{loops} loop" if loops else ""]
    other = len(functions) - graphs - loops
    counts.append(f"{other} other" if other else "")
    kinds = ", ".join(filter(None, counts)) or "no"
    word = "function" if len(functions) == 1 else "functions"
    head = line(Text("IRModule", "strong"), f"{kinds} {word}")
    main = main_function(mod)
    picture = graph_part(main[1], mod, main[0]) if main is not None else None
    if main is None and len(functions) == 1 and isinstance(functions[0][1], PrimFunc):
        picture = loop_tree(functions[0][1], functions[0][0].name_hint)
    listing = _functions(mod) if len(functions) > 1 else None
    return column(head, picture, listing, _script(mod))


def _functions(mod: IRModule) -> Part:
    """A table of the functions of a module."""
    rows = []
    for gvar, func in mod.functions_items():
        params = getattr(func, "params", ())
        shown = ", ".join(f"{p.name}: {type_text(p.ty)}" for p in params[:4])
        more = f", … {len(params)} in all" if len(params) > 4 else ""
        kind = _KIND.get(type(func), type(func).__name__)
        rows.append((Text(gvar.name_hint, "code"), kind, shown + more))
    listing = table(("function", "kind", "parameters"), rows)
    return Details(Text(f"Functions ({len(rows)})"), listing, len(rows) <= 8)


def _script(value: Any) -> Part:
    """The script, open where it is short."""
    text = script_text(value)
    count = text.count("\n") + 1
    word = "line" if count == 1 else "lines"
    return Details(Text(f"Script ({count} {word})"), text_part(text), count <= OPEN_LINES)


def function_view(func: Function) -> Part:
    """The graph and the script of a Relax function."""
    name = str(func.attrs.get("global_symbol", "function"))
    head = line(Text(f"relax.Function {name}", "strong"), f"→ {type_text(func.ret_ty)}")
    return column(head, graph_part(func, None, name), _script(func))


def prim_func_view(func: PrimFunc) -> Part:
    """The loops and blocks, the buffers and the script of a PrimFunc."""
    name = str(func.attrs.get("global_symbol", "function"))
    rows = [(Text(n, "code"), Text(t, "code"), role) for n, t, role in buffer_rows(func)]
    buffers = table(("buffer", "type", "role"), rows) if rows else Text("no buffers", "dim")
    head = line(Text(f"PrimFunc {name}", "strong"))
    left = column(Text("Loops and blocks", "strong"), loop_tree(func, name))
    return column(head, row(left, buffers), _script(func))


def script_view(value: Any) -> Part:
    """A statement or expression as script."""
    return script_part(value, type(value).__name__)


_VIEWS: Dispatch = Dispatch(
    "view",
    {
        IRModule: module_view,
        Function: function_view,
        PrimFunc: prim_func_view,
        Stmt: script_view,
        Expr: script_view,
        PassTrace: trace_view,
        Timing: timing_view,
        Schedule: schedule_view,
        Executable: stages_view,
    },
)


def view_of(value: Any) -> Part | None:
    """The static view of a value, or None if plain text is all it needs."""
    own: Callable[[], Part] | None = getattr(value, "_view_", None)
    if own is not None:
        return own()
    found = _VIEWS.find(type(value))
    return None if found is None else found(value)


def mimebundle(value: Any, include: Any = None, exclude: Any = None) -> dict[str, str]:
    """What a notebook shows for a value: always plain text, HTML where there is a view."""
    plain = script_text(value) if isinstance(value, Node) else str(value)
    bundle = {"text/plain": plain}
    part = view_of(value)
    if part is not None:
        bundle["text/html"] = display_html(part)
    return bundle


__all__ = ["mimebundle", "view_of"]
