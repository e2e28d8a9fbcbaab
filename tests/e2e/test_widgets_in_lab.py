"""The widgets in a real JupyterLab in a real browser: clicked, typed at, in light and dark."""

import os
from pathlib import Path

import pytest

CELLS = [
    """
import numpy as np
from workbench import relax, te
from workbench.inspect.pass_trace import trace
from workbench.inspect.timing import compare
from workbench.relax.block_builder import BlockBuilder
from workbench.relax.expr import const
from workbench.relax.op.binary import add, multiply
from workbench.relax.type import TensorType
from workbench.ir.expr import Var
from workbench.ir.transform import Sequential, module_pass

bb = BlockBuilder()
x = Var("x", TensorType((4, 8), "float32"))
with bb.function("main", [x]):
    with bb.dataflow():
        a = bb.emit(add(x, const(np.ones((8,), "float32"))))
        b = bb.emit(multiply(a, x))
        c = bb.emit_output(add(a, b))
    bb.emit_func_output(c)
mod = bb.get()
A = te.placeholder((64, 64), name="A")
B = te.compute((64, 64), lambda i, j: A[i, j] * 2.0, name="B")
C = te.compute((64, 64), lambda i, j: B[i, j] + 1.0, name="C")
func = te.create_prim_func([A, C])
""",
    "mod",
    "mod.explore()",
    """
@module_pass(name="Keep")
def keep(m, ctx): return m
@module_pass(name="Rename")
def rename(m, ctx): return m.with_attr("name", "other")
@module_pass(name="AddKernel")
def add_kernel(m, ctx): return m.with_func("kernel", func)
trace(mod, Sequential([keep, rename, add_kernel])).explore()
""",
    """
from workbench.s_tir.schedule.schedule import Schedule
sch = Schedule(func)
sch.explore()
""",
    """
v = np.ones((64, 64), "float32")
compare({"add": lambda: v + v, "multiply": lambda: v * v}, "NumPy", repeats=5).explore()
""",
]
SHOTS = os.environ.get("WORKBENCH_SCREENSHOTS")


@pytest.fixture
def book(open_notebook):
    opened = open_notebook(CELLS)
    opened.run_all()
    opened.page.wait_for_function("document.querySelectorAll('.wb-widget').length === 4")
    assert opened.output_errors() == []
    return opened


def widget(opened, number):
    found = opened.page.locator(".wb-widget").nth(number)
    found.scroll_into_view_if_needed()
    return found


def said(found):
    return found.locator(".wb-live").inner_text()


def wait_said(opened, number, text):
    opened.page.wait_for_function(
        "([i, text]) => document.querySelectorAll('.wb-widget')[i]"
        ".querySelector('.wb-live').innerText.includes(text)",
        arg=[number, text],
    )


def shots(opened, name):
    """Pictures of each widget for whoever wants to look (WORKBENCH_SCREENSHOTS names a folder)."""
    if SHOTS is None:
        return
    folder = Path(SHOTS)
    folder.mkdir(parents=True, exist_ok=True)
    for i, found in enumerate(opened.page.locator(".wb-widget").all()):
        found.scroll_into_view_if_needed()
        found.screenshot(path=folder / f"{name}-{i}.png")
    opened.page.screenshot(path=folder / f"{name}.png")


def test_each_widget_answers(book):
    graph, stepper, schedule, timings = (widget(book, i) for i in range(4))
    graph.locator(".wb-gn").nth(1).click()
    assert said(graph).startswith("Selected")

    stepper.locator(".wb-prow", has_text="AddKernel").click()
    assert "AddKernel, changed" in said(stepper)
    stepper.get_by_role("tab", name="After").click()
    book.page.wait_for_function(
        "document.querySelectorAll('.wb-widget')[1].querySelector('.wb-view').innerText"
        ".includes('kernel')"
    )

    schedule.locator('.wb-stree [data-id="loop:i"]').click()
    schedule.locator('.wb-move[data-move="split"] button').click()
    wait_said(book, 2, "Applied: ")
    assert "sch.split" in said(schedule)
    schedule.get_by_role("button", name="Undo").click()
    wait_said(book, 2, "Undone: ")

    timings.get_by_role("button", name="Measure again").click()
    wait_said(book, 3, "Measured again")
    assert book.errors == []
    book.theme("JupyterLab Light")  # another test may have left the dark one
    shots(book, "light")
    book.theme("JupyterLab Dark")
    background = graph.evaluate("(n) => getComputedStyle(n).backgroundColor")
    assert background not in ("rgb(255, 255, 255)", "rgba(0, 0, 0, 0)")
    shots(book, "dark")


def test_keys_inside_a_widget_leave_the_notebook_alone(book):
    before = book.cells()
    for number in range(4):
        found = widget(book, number)
        found.focus()
        for key in ("d", "d", "x", "a", "b", "m", "Escape"):
            if key != "m":
                book.page.keyboard.press(key)
        assert book.cells() == before, f"a key in widget {number} changed the notebook"
    # Escape gave the focus back: now the same keys do act on the notebook.
    focused = book.page.evaluate("document.activeElement.closest('.wb-widget') === null")
    assert focused


def test_arrow_keys_step_without_scrolling_the_notebook(book):
    stepper = widget(book, 1)
    stepper.focus()
    top = stepper.bounding_box()["y"]
    book.page.keyboard.press("ArrowDown")
    book.page.keyboard.press("ArrowUp")
    assert abs(stepper.bounding_box()["y"] - top) < 2


def test_pin_snapshot_makes_a_plain_output(book):
    stepper = widget(book, 1)
    stepper.get_by_role("button", name="Pin snapshot").click()
    wait_said(book, 1, "Snapshot pinned")
    cell = book.page.locator(".jp-CodeCell").nth(3)
    pinned = cell.locator('.jp-OutputArea-output[data-mime-type="text/html"] .wb')
    pinned.wait_for()
    assert "Pass " in pinned.inner_text()
