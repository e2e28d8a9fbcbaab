"""Operators, loops and assembly in a page: one selection for all three."""

from workbench import te
from workbench.s_tir.build import build
from workbench.views.stages_panel import StagesPanel


def panel():
    a = te.placeholder((64,), name="A")
    b = te.compute((64,), lambda i: a[i] * 3.0, name="B")
    return StagesPanel(build(te.create_prim_func([a, b])))


def test_a_loop_line_selects_its_instructions_and_back(mount):
    w = mount(panel())
    w.page.locator("[data-pane=loops] .wb-cl", has_text="* T.float32(3.0)").click()
    lit = w.page.locator("[data-pane=asm] .wb-cl.wb-on")
    assert any("mul" in text for text in lit.all_inner_texts())
    assert "instruction" in w.said() and w.said().startswith("Loop line")
    lit.first.click()
    back = w.page.locator("[data-pane=loops] .wb-cl.wb-on").all_inner_texts()
    assert any("T.float32(3.0)" in text for text in back)
    assert w.said().startswith("Instruction")
    assert not w.errors


def test_keyboard_and_empty_operators(mount):
    w = mount(panel(), width=500)
    w.page.locator(".wb-widget").focus()
    w.press("j", "j")
    assert w.said().startswith("Loop line")
    assert w.page.locator(".wb-pick").count() == 1
    assert "No statement says" in w.page.locator("[data-pane=ops]").inner_text()
    w.press("d", "d")
    assert "d" not in w.keys_outside
    assert w.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
