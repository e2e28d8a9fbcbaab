"""What stands between a view and whatever shows it live: initial data, and answers to requests.

A `Panel` holds no widget and sends nothing.  A live widget forwards the requests of its page to
`answer`; `html_export` asks every request of `requests` beforehand and puts the answers into the
file.  Both run the same ES module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeAlias, runtime_checkable

from .part import Part

Data: TypeAlias = dict[str, Any]
Request: TypeAlias = tuple[str, Data]


class Cancelled(Exception):
    """Raised inside long work after the reader pressed Cancel."""


class Progress:
    """Handed to long work: `report` tells how far it is, and raises when asked to stop."""

    def __init__(self, tell: Callable[[float, str], None], stopped: Callable[[], bool]) -> None:
        self._tell = tell
        self._stopped = stopped

    def report(self, share: float, text: str) -> None:
        """Say that `share` (0 to 1) is done; raises `Cancelled` if the reader wants to stop."""
        if self._stopped():
            raise Cancelled
        self._tell(share, text)


@runtime_checkable
class Panel(Protocol):
    """The model of a live view."""

    #: Name of the ES module that draws it.
    module: str
    #: Operations whose answer never changes: the page may keep it.
    pure: frozenset[str]
    #: Operations that take long: they run beside the kernel's main thread.
    slow: frozenset[str]

    @property
    def title(self) -> str:
        """Accessible name."""
        ...

    def data(self) -> Data:
        """What the page needs for its first paint."""
        ...

    def answer(self, op: str, args: Mapping[str, Any], progress: Progress) -> Data:
        """The answer to one request."""
        ...

    def requests(self) -> Iterable[Request]:
        """Every request that a page without a kernel can make."""
        ...

    def static(self) -> Part:
        """The same, without any script."""
        ...


def quiet() -> Progress:
    """A `Progress` that nobody watches."""
    return Progress(lambda _share, _text: None, lambda: False)


def unknown(panel: Panel, op: str) -> ValueError:
    """The error for a request that a panel does not know."""
    return ValueError(f"{type(panel).__name__} knows no request {op!r}")
