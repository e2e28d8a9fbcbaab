"""IRModule: named functions, module attributes and global information."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

from workbench.core.errors import WorkbenchError, did_you_mean
from workbench.core.live import explore, export_html
from workbench.core.node import FrozenMap, Node, field, init_fields
from workbench.ir.attrs import Attrs, as_attrs
from workbench.ir.expr import GlobalVar
from workbench.ir.function import BaseFunc


def _as_functions(value: Mapping[Any, BaseFunc] | None) -> FrozenMap:
    pairs = {}
    for key, function in (value or {}).items():
        gvar = GlobalVar(key) if isinstance(key, str) else key
        if not isinstance(gvar, GlobalVar):
            raise TypeError(f"IRModule: expected a name or GlobalVar, got {type(gvar).__name__}")
        if not isinstance(function, BaseFunc):
            raise TypeError(
                f"IRModule: {gvar.name_hint}: expected a function, got {type(function).__name__}"
            )
        pairs[gvar] = function
    return FrozenMap(pairs)


class IRModule(Node):
    """Functions by name.

    A module is a value like every node: passes return new modules (`with_func`, `replace`).
    `mod[gv] = f`, `update_func` and `update` exist for programs written for TVM: they rebind the
    functions of this one object, and no code of the workbench uses them.
    """

    functions: Mapping[GlobalVar, BaseFunc] = field(converter=_as_functions, default=None)
    attrs: Attrs = field(converter=as_attrs, default=None)
    global_infos: Mapping[str, Any] = field(
        converter=lambda v: FrozenMap({k: tuple(x) for k, x in (v or {}).items()}), default=None
    )

    def __init__(
        self,
        functions: Mapping[Any, BaseFunc] | None = None,
        attrs: Mapping[str, Any] | None = None,
        global_infos: Mapping[str, Any] | None = None,
    ) -> None:
        init_fields(
            self, functions=functions or {}, attrs=attrs or {}, global_infos=global_infos or {}
        )

    @staticmethod
    def from_expr(expr: BaseFunc, functions: Mapping[Any, BaseFunc] | None = None) -> IRModule:
        """A module of one function (named by its `global_symbol`, else `main`)."""
        name = expr.attrs.get("global_symbol", "main")
        return IRModule({**(functions or {}), GlobalVar(name): expr})

    def __getitem__(self, key: str | GlobalVar) -> BaseFunc:
        return self.functions[self.get_global_var(key)]

    def __contains__(self, key: object) -> bool:
        gvar = GlobalVar(key) if isinstance(key, str) else key
        return gvar in self.functions

    def __len__(self) -> int:
        return len(self.functions)

    def __iter__(self) -> Iterator[GlobalVar]:
        return iter(self.functions)

    def get_global_var(self, name: str | GlobalVar) -> GlobalVar:
        """The `GlobalVar` of a name. Raises `WorkbenchError` with near names if there is none."""
        wanted = name if isinstance(name, str) else name.name_hint
        for gvar in self.functions:
            if gvar.name_hint == wanted:
                return gvar
        names = [g.name_hint for g in self.functions]
        raise WorkbenchError(
            f"the module has no function {wanted!r}",
            hint=did_you_mean(wanted, names) or f"its functions: {', '.join(names) or 'none'}",
        )

    def get_global_vars(self) -> list[GlobalVar]:
        """All names."""
        return list(self.functions)

    def functions_items(self) -> list[tuple[GlobalVar, BaseFunc]]:
        """Pairs of name and function, by name."""
        return sorted(self.functions.items(), key=lambda kv: kv[0].name_hint)

    def with_func(self, gvar: GlobalVar | str, function: BaseFunc) -> Self:
        """A module with one function added or replaced (itself if nothing changes)."""
        key = GlobalVar(gvar) if isinstance(gvar, str) else gvar
        if self.functions.get(key) is function:
            return self
        return self.replace(functions={**self.functions, key: function})

    def without_func(self, gvar: GlobalVar | str) -> Self:
        """A module without one function."""
        drop = self.get_global_var(gvar)
        return self.replace(functions={k: f for k, f in self.functions.items() if k != drop})

    def with_attr(self, attr_key: str, attr_value: Any) -> Self:
        """A copy with an attribute set."""
        return self.replace(attrs=Attrs({**self.attrs, attr_key: attr_value}))

    def with_attrs(self, attr_map: Mapping[str, Any]) -> Self:
        """A copy with attributes set."""
        return self.replace(attrs=Attrs({**self.attrs, **attr_map}))

    def without_attr(self, attr_key: str) -> Self:
        """A copy without the attribute."""
        return self.replace(attrs=Attrs({k: v for k, v in self.attrs.items() if k != attr_key}))

    def get_attr(self, attr_key: str) -> Any:
        """An attribute or None."""
        return self.attrs.get(attr_key)

    def clone(self) -> IRModule:
        """A second module object over the same functions."""
        return IRModule(self.functions, self.attrs, self.global_infos)

    def explore(self) -> Any:
        """The live view, a widget; needs `pip install "tensor-workbench[lab]"`."""
        return explore(self)

    def export_html(self, path: Any) -> Any:
        """Writes the live view as one self-contained HTML file; returns its path."""
        return export_html(self, path)

    # For programs written for TVM (see the class text).

    def __setitem__(self, key: str | GlobalVar, function: BaseFunc) -> None:
        gvar = GlobalVar(key) if isinstance(key, str) else key
        functions = _as_functions({**self.functions, gvar: function})
        object.__setattr__(self, "functions", functions)

    def __delitem__(self, key: str | GlobalVar) -> None:
        drop = self.get_global_var(key)
        left = FrozenMap({k: f for k, f in self.functions.items() if k != drop})
        object.__setattr__(self, "functions", left)

    def update_func(self, var: GlobalVar, func: BaseFunc) -> None:
        """Rebinds a function in place."""
        self[var] = func

    def update(self, other: IRModule | Mapping[Any, BaseFunc]) -> None:
        """Rebinds all functions of another module in place."""
        pairs = other.functions if isinstance(other, IRModule) else other
        for key, function in pairs.items():
            self[key] = function
