"""The one widget class: it forwards requests of a page to a `Panel` and sends the answers.

Long operations run in a thread of their own, tell their progress, and stop when asked.  Nothing
here knows what is shown.
"""

from __future__ import annotations

import threading
import traceback
import weakref
from collections.abc import Mapping
from typing import Any

import anywidget
import traitlets

from workbench.core.errors import WorkbenchError
from workbench.views.panel import Cancelled, Panel, Progress
from workbench.views.part import Part
from workbench.views.render_html import display_html
from workbench.views.render_text import to_text

from .assets import css, esm
from .export import export


def checked(widget: str, panel: Any, kind: type[Any]) -> Any:
    """The panel of a widget class. Raises TypeError for anything that is not of its kind."""
    if not isinstance(panel, kind):
        raise TypeError(
            f"{widget}: expected a {kind.__name__}, got {type(panel).__name__};"
            " workbench.widgets.explore(value) makes the live view of a value"
        )
    return panel


class PanelWidget(anywidget.AnyWidget):
    """A live view of a `Panel`.

    `close()` frees the page, the panel and running work.  `snapshot()` gives the plain view.
    """

    data = traitlets.Dict().tag(sync=True)
    title = traitlets.Unicode().tag(sync=True)
    pure = traitlets.List().tag(sync=True)
    offline = traitlets.Bool(False).tag(sync=True)

    def __init__(self, panel: Panel) -> None:
        self.panel: Panel | None = panel
        self._stops: dict[int, threading.Event] = {}
        self._pin_id: str | None = None
        # anywidget makes synchronised traits of these two when it finds them.
        self._esm = esm(panel.module)
        self._css = css()
        super().__init__(data=panel.data(), title=panel.title, pure=sorted(panel.pure))
        self.on_msg(_receiver(weakref.ref(self)))

    def snapshot(self, state: Mapping[str, Any] | None = None) -> Part:
        """The view without script: the whole, or what the page shows in `state`."""
        if self.panel is None:
            raise WorkbenchError("this widget was closed")
        pinned = getattr(self.panel, "pinned", None)
        return pinned(state) if pinned is not None and state is not None else self.panel.static()

    def export_html(self, path: str) -> Any:
        """Write the widget as one self-contained HTML file; stepping works inside."""
        if self.panel is None:
            raise WorkbenchError("this widget was closed")
        return export(path, self.panel.title, [("", self.panel)])

    def receive(self, content: Mapping[str, Any]) -> None:
        """Handle one request of the page: `{id, op, args}`."""
        number, op, args = content.get("id"), content.get("op"), content.get("args") or {}
        if not isinstance(number, int) or not isinstance(op, str) or self.panel is None:
            return
        if op == "cancel":
            stop = self._stops.get(number)
            if stop is not None:
                stop.set()
        elif op in self.panel.slow:
            stop = self._stops[number] = threading.Event()
            threading.Thread(
                target=self._work,
                args=(number, op, args, stop),
                daemon=True,
                name=f"workbench-{op}",
            ).start()
        else:
            self._reply(number, op, args, Progress(lambda _s, _t: None, lambda: False))

    def _work(self, number: int, op: str, args: Mapping[str, Any], stop: threading.Event) -> None:
        """Run a slow operation in its thread."""

        def tell(share: float, text: str) -> None:
            self.send({"id": number, "progress": share, "text": text})

        try:
            self._reply(number, op, args, Progress(tell, stop.is_set))
        finally:
            self._stops.pop(number, None)

    def _reply(self, number: int, op: str, args: Mapping[str, Any], progress: Progress) -> None:
        """Answer, or send the reason why not: an error must reach the reader, not the log."""
        panel = self.panel
        if panel is None:
            return
        try:
            if op == "pin":
                self._pin(args)
                answer: dict[str, Any] = {}
            else:
                answer = panel.answer(op, args, progress)
        except Cancelled:
            self.send({"id": number, "error": "stopped; what was finished before is kept"})
        except Exception as error:
            detail = "".join(traceback.format_exception(error))
            text = str(error) or type(error).__name__
            self.send({"id": number, "error": text.strip().splitlines()[0], "detail": detail})
        else:
            self.send({"id": number, "reply": answer})

    def _bundle(self, part: Part) -> dict[str, str]:
        """A plain output of a part."""
        return {"text/plain": to_text(part), "text/html": display_html(part)}

    def _pin(self, state: Mapping[str, Any]) -> None:
        """Fill the plain output below the widget."""
        from IPython.display import publish_display_data

        if self._pin_id is None:
            raise WorkbenchError("the widget is not on show in a notebook: nothing to pin it to")
        publish_display_data(
            self._bundle(self.snapshot(state)), transient={"display_id": self._pin_id}, update=True
        )

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """The live view, with the plain one for hosts without widgets."""
        if self.panel is None:
            return {"text/plain": "(closed widget)"}
        found = super()._repr_mimebundle_(**kwargs)
        data, metadata = found if isinstance(found, tuple) else (found, {})
        return {**(data or {}), **self._bundle(self.panel.static())}, metadata

    def _ipython_display_(self) -> None:
        """Show the widget and, below it, an empty output for snapshots."""
        from IPython.display import publish_display_data

        data, metadata = self._repr_mimebundle_()
        publish_display_data(data, metadata)
        self._pin_id = f"workbench-pin-{self.model_id}"
        publish_display_data(
            {"text/plain": "", "text/html": ""}, transient={"display_id": self._pin_id}
        )

    def close(self) -> None:
        """Free everything; stops work that is still running."""
        for stop in list(self._stops.values()):
            stop.set()
        self.panel = None
        layout = self.layout
        super().close()
        if layout is not None:
            layout.close()  # a widget of its own, which would stay in the kernel's table


def _receiver(widget: weakref.ref[PanelWidget]) -> Any:
    """A message handler that does not keep the widget alive."""

    def receive(_widget: Any, content: Any, _buffers: Any) -> None:
        here = widget()
        if here is not None and isinstance(content, dict):
            here.receive(content)

    return receive
