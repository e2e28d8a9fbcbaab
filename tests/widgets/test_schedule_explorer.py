import pytest

from workbench import te
from workbench.inspect.timing import Conditions, Measurement, Timing
from workbench.s_tir.schedule.schedule import Schedule
from workbench.views.schedule_panel import SchedulePanel, steps_of


def func():
    a = te.placeholder((16, 8), name="A")
    b = te.compute((16, 8), lambda i, j: a[i, j] * 2.0, name="B")
    k = te.reduce_axis((0, 8), name="k")
    c = te.compute((16,), lambda i: te.sum(b[i, k], axis=k), name="C")
    return te.create_prim_func([a, c])


def fake_times(sch, progress):
    progress.report(0.5, "half")
    steps = steps_of(sch.history.current)
    parts = tuple(
        Measurement(f"{i}. step", (x * 0.9, x, x * 1.1))
        for i, x in enumerate(0.01 / (n + 1) for n in range(len(steps)))
    )
    return Timing("Schedule", parts, Conditions("a machine", 2, (), 0.0))


@pytest.fixture
def opened(mount):
    sch = Schedule(func())
    w = mount(SchedulePanel(sch, fake_times), width=1300)
    w.sch = sch
    w.page.wait_for_selector(".wb-move")
    return w


def wait_said(w, text):
    w.page.wait_for_function(
        "(t) => document.querySelector('.wb-live').innerText.includes(t)", arg=text
    )


def pick(w, ident):
    w.page.locator(f'.wb-stree [data-id="{ident}"]').click()
    name = ident.split(":")[1]
    w.page.wait_for_function(
        "(n) => document.querySelector('.wb-smoves .wb-dim').innerText.includes(n)", arg=name
    )


def test_click_applies_and_writes_a_line_of_python(opened):
    w = opened
    pick(w, "loop:i")
    w.page.locator('[data-move="split"] input[data-arg="factors"]').fill("[None, 4]")
    w.page.locator('[data-move="split"] button').click()
    wait_said(w, "Applied: ")
    assert "sch.split" in w.said()
    assert w.sch.trace.as_python()[-1].startswith("l3, l4 = sch.split(loop=l1, factors=[None, 4]")
    pick(w, "loop:i_0")
    w.page.locator('[data-move="parallel"] button').click()
    wait_said(w, "sch.parallel")
    assert "parallel" in w.page.locator('.wb-stree [data-id="loop:i_0"]').inner_text()
    w.page.get_by_role("tab", name="Python").click()
    w.page.wait_for_function(
        "document.querySelector('.wb-view').innerText.includes('sch.parallel(loop=l3)')"
    )
    w.page.get_by_role("tab", name="Diff").click()
    w.page.wait_for_selector(".wb-view .wb-add")
    assert not w.errors


def test_illegal_moves_say_why(opened):
    w = opened
    pick(w, "loop:k")
    refused = w.page.locator('.wb-move.wb-no[data-move="parallel"]')
    assert "drives the reduction variable" in refused.inner_text()
    assert refused.inner_text().startswith("✗")
    assert refused.locator("button").count() == 0


def test_a_refused_move_leaves_state_and_trace(opened):
    w = opened
    pick(w, "loop:i")
    before = w.sch.mod
    w.page.locator('[data-move="split"] input[data-arg="factors"]').fill("[None, 'x']")
    w.page.locator('[data-move="split"] button').click()
    w.page.wait_for_selector(".wb-bad")
    assert w.sch.mod is before
    assert w.sch.trace.insts == []
    assert w.page.locator(".wb-hist li").count() == 1


def test_undo_redo_and_branches(opened):
    w = opened
    pick(w, "loop:i")
    w.page.locator('[data-move="parallel"] button').click()
    wait_said(w, "Applied")
    w.page.locator(".wb-widget").focus()
    w.press("Control+z")
    wait_said(w, "Undone: sch.parallel")
    w.press("Control+Shift+z")
    wait_said(w, "Redone: sch.parallel")
    w.press("Control+z")
    wait_said(w, "Undone")
    pick(w, "loop:i")
    w.page.locator('[data-move="vectorize"] button').click()
    wait_said(w, "sch.vectorize")
    texts = w.page.locator(".wb-hist li").all_inner_texts()
    assert len(texts) == 3
    assert texts[0] == "·\u00a0as written"
    assert sum(t.startswith("◦") for t in texts) == 1, "the other branch is kept, with a sign"
    w.page.locator(".wb-hist li", has_text="sch.parallel").click()
    wait_said(w, "Went to: sch.parallel")
    assert "T.parallel" in str(w.sch.mod)


def test_keyboard(opened):
    w = opened
    w.page.locator(".wb-widget").focus()
    w.press("j", "j")
    assert w.said().startswith("Selected block B")
    w.press("/")
    w.page.keyboard.type("inline")
    assert w.page.locator(".wb-move:visible").count() == 2
    w.press("Escape", "ArrowRight")
    assert w.page.get_by_role("tab", selected=True).inner_text() == "Diff"
    w.press("d", "d")
    assert w.keys_outside == []


def test_selecting_marks_the_lines_of_the_script(opened):
    w = opened
    pick(w, "block:C")
    w.page.wait_for_selector(".wb-view .wb-cl.wb-on")
    assert 'T.sblock("C")' in w.page.locator(".wb-view .wb-cl.wb-on").inner_text()


def test_measuring_fills_the_history_and_the_waterfall(opened):
    w = opened
    pick(w, "loop:i")
    w.page.locator('[data-move="parallel"] button').click()
    wait_said(w, "Applied")
    w.page.get_by_role("button", name="Measure").click()
    wait_said(w, "Measured: 5 ms")
    assert "10 ms" in w.page.locator(".wb-hist li").first.inner_text()
    w.page.wait_for_selector(".wb-view .wb-bar")
    assert w.page.locator(".wb-view .wb-bar").count() == 2


def test_a_saved_copy_can_be_looked_at_but_not_changed(mount):
    w = mount(SchedulePanel(Schedule(func())), offline=True)
    w.page.wait_for_selector(".wb-move")
    assert w.page.locator(".wb-move button:not([disabled])").count() == 0
    assert "saved copy" in w.page.locator(".wb-note").inner_text()
