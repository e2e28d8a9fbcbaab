"""The Python half of the widgets: messages, background work, closing, missing packages."""

import gc
import json
import subprocess
import sys
import threading
import weakref

import pytest
from ipywidgets.widgets.widget import _instances
from panel_examples import graph_panel, stepper_panel

from workbench.core.errors import WorkbenchError
from workbench.inspect.timing import Conditions, Measurement, Timing
from workbench.views.panel import Cancelled
from workbench.views.timing import TimingPanel
from workbench.widgets import GraphView, PassStepper, ScheduleExplorer, Timings


def timings_panel(again=None):
    part = Measurement("a", (0.001, 0.002))
    return TimingPanel(Timing("T", (part,), Conditions("m", 1, (), 0.0), again=again))


MAKE = {
    GraphView: graph_panel,
    PassStepper: stepper_panel,
    Timings: timings_panel,
}


class Heard:
    """Records what a widget sends."""

    def __init__(self, widget):
        self.messages = []
        self.event = threading.Event()
        widget.send = self.send

    def send(self, content, buffers=None):
        self.messages.append(json.loads(json.dumps(content)))
        if "reply" in content or "error" in content:
            self.event.set()


@pytest.mark.parametrize("cls", MAKE, ids=lambda c: c.__name__)
def test_a_hundred_of_each_leave_nothing(cls):
    before, threads = len(_instances), threading.active_count()
    references = []
    for _ in range(100):
        widget = cls(MAKE[cls]())
        references += [weakref.ref(widget), weakref.ref(widget.panel)]
        widget.close()
        del widget
    gc.collect()
    assert sum(r() is not None for r in references) == 0
    assert len(_instances) == before
    assert threading.active_count() == threads


@pytest.mark.parametrize("cls", MAKE, ids=lambda c: c.__name__)
def test_static_display_and_module_size(cls):
    widget = cls(MAKE[cls]())
    data, _ = widget._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/html"].startswith("<style>")
    assert "<script" not in data["text/html"]
    assert data["text/plain"]
    assert len(widget._esm) < 150_000
    assert "http" not in widget._esm.replace("http://www.w3.org", "")
    assert "document.addEventListener" not in widget._esm
    widget.close()


def test_replies_and_errors():
    widget = PassStepper(stepper_panel())
    heard = Heard(widget)
    widget.receive({"id": 1, "op": "view", "args": {"i": 1, "tab": "diff"}})
    widget.receive({"id": 2, "op": "view", "args": {"i": 99, "tab": "diff"}})
    widget.receive({"id": 3, "op": "nonsense", "args": {}})
    widget.receive({"id": "x", "op": "view"})
    first, second, third = heard.messages
    assert "wb-add" in first["reply"]["html"]
    assert second["error"] == "there is no step 100: the trace has 4"
    assert "Traceback" in second["detail"]
    assert "knows no request 'nonsense'" in third["error"]
    widget.close()
    widget.receive({"id": 4, "op": "view", "args": {"i": 1, "tab": "diff"}})
    assert len(heard.messages) == 3


def test_slow_work_runs_beside_and_can_be_cancelled():
    started, release = threading.Event(), threading.Event()

    def again(tell):
        tell(0.1, "begun")
        started.set()
        release.wait(5)
        tell(0.9, "nearly")
        raise AssertionError("the report above should have stopped this")

    widget = Timings(timings_panel(again))
    heard = Heard(widget)
    widget.receive({"id": 7, "op": "measure", "args": {}})
    assert started.wait(5)
    widget.receive({"id": 8, "op": "view", "args": {"order": "program"}})
    assert heard.messages[-1]["id"] == 8, "other requests are answered meanwhile"
    heard.event.clear()
    widget.receive({"id": 7, "op": "cancel", "args": {}})
    release.set()
    assert heard.event.wait(5)
    assert heard.messages[0] == {"id": 7, "progress": 0.1, "text": "begun"}
    assert heard.messages[-1]["error"].startswith("stopped")
    widget.close()


def test_closing_stops_running_work():
    ended = threading.Event()

    def again(tell):
        try:
            while True:
                tell(0.5, "working")
                threading.Event().wait(0.01)
        except Cancelled:
            ended.set()
            raise

    widget = Timings(timings_panel(again))
    Heard(widget)
    widget.receive({"id": 1, "op": "measure", "args": {}})
    widget.close()
    assert ended.wait(5)


def test_snapshot_of_a_state_and_after_closing():
    widget = PassStepper(stepper_panel())
    from workbench.views.render_text import to_text

    assert "Pass 2 of 4: FuseOps" in to_text(widget.snapshot({"i": 1, "tab": "diff"}))
    assert "4 passes" in to_text(widget.snapshot())
    widget.close()
    with pytest.raises(WorkbenchError, match="closed"):
        widget.snapshot()


def test_pin_without_a_notebook_is_told():
    widget = GraphView(graph_panel())
    heard = Heard(widget)
    widget.receive({"id": 1, "op": "pin", "args": {}})
    assert "not on show" in heard.messages[0]["error"]
    widget.close()


CODE = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("anywidget", "ipywidgets", "traitlets", "IPython"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name.split(".")[0])
sys.meta_path.insert(0, Blocked())
import workbench.widgets
try:
    workbench.widgets.GraphView
except ImportError as error:
    print(error)
import workbench.views.graph_panel, workbench.views.html_export
from workbench.widgets.assets import esm
print(len(esm("graph_view")) > 1000)
"""


def test_without_anywidget_the_error_names_the_extra():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    told, exported = done.stdout.strip().splitlines()
    assert 'pip install "tensor-workbench[lab]"' in told
    assert exported == "True"


@pytest.mark.parametrize("widget", [GraphView, PassStepper, ScheduleExplorer, Timings])
def test_a_widget_of_something_else_is_refused(widget):
    with pytest.raises(TypeError, match=rf"{widget.__name__}: expected a \w+Panel, got int"):
        widget(3)
