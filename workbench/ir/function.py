"""What all functions of a module have in common."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Self

from workbench.core.live import explore, export_html
from workbench.core.node import field
from workbench.ir.attrs import Attrs, as_attrs
from workbench.ir.expr import Expr


class CallingConv(IntEnum):
    """How a function is called."""

    DEFAULT = 0
    C_PACKED_FUNC = 1
    DEVICE_KERNEL_LAUNCH = 2


class BaseFunc(Expr):
    """Base of `tirx.PrimFunc`, `relax.Function` and `relax.ExternFunc`."""

    attrs: Attrs = field(converter=as_attrs, default=None, kw_only=True)

    def with_attr(self, attr_key_or_dict: str | dict[str, Any], attr_value: Any = None) -> Self:
        """A copy with one attribute, or a mapping of attributes, set."""
        new = (
            attr_key_or_dict
            if isinstance(attr_key_or_dict, dict)
            else {attr_key_or_dict: attr_value}
        )
        return self.replace(attrs=Attrs({**self.attrs, **new}))

    def with_attrs(self, attr_map: dict[str, Any]) -> Self:
        """A copy with the attributes set."""
        return self.with_attr(dict(attr_map))

    def without_attr(self, attr_key: str) -> Self:
        """A copy without the attribute."""
        return self.replace(attrs=Attrs({k: v for k, v in self.attrs.items() if k != attr_key}))

    def explore(self) -> Any:
        """The live view, a widget; needs `pip install "tensor-workbench[lab]"`."""
        return explore(self)

    def export_html(self, path: Any) -> Any:
        """Writes the live view as one self-contained HTML file; returns its path."""
        return export_html(self, path)
