import re

from panel_examples import stepper_panel


def test_first_paint_selects_the_first_change_and_says_so(mount):
    w = mount(stepper_panel())
    w.page.wait_for_selector(".wb-view .wb-code")
    w.page.wait_for_function("document.querySelector('.wb-live').innerText.includes('+3')")
    assert re.match(r"Pass 2 of 4, FuseOps, changed, \+3 −2, 12 ms", w.said())
    rows = w.page.locator(".wb-prow")
    assert rows.count() == 4
    # Not by colour alone: each status has its own sign.
    assert w.page.locator(".wb-pm").all_inner_texts() == ["○", "●", "○", "✗"]
    marks = set(w.page.locator(".wb-view .wb-mk").all_inner_texts())
    assert {"+", "-"} <= marks
    assert not w.errors


def test_keys(mount):
    w = mount(stepper_panel())
    w.page.locator(".wb-widget").focus()
    w.press("j")
    assert "Pass 3 of 4" in w.said()
    w.press("ArrowDown")
    assert "Pass 4 of 4, Lower, failed" in w.said()
    w.page.wait_for_selector(".wb-view .wb-bad")
    assert "cannot lower T.foo" in w.page.locator(".wb-view .wb-bad").inner_text()
    w.press("r")
    assert "Pass 2 of 4" in w.said()
    w.press("k")
    assert "Pass 1 of 4" in w.said()
    w.page.wait_for_selector(".wb-view .wb-empty")
    assert "changed nothing" in w.page.locator(".wb-view").inner_text()
    w.press("f", "f")
    assert "Pass 4 of 4" in w.said()
    w.press("r", "r")
    assert "No earlier pass changed anything" in w.said()
    w.press("Home", "End")
    assert "Pass 4 of 4" in w.said()
    assert w.keys_outside == [], "keys of the widget must not reach the notebook"


def test_plain_keys_stay_inside(mount):
    w = mount(stepper_panel())
    w.page.locator(".wb-prow").nth(0).click()
    w.page.locator(".wb-plist").focus()
    w.press("d", "d", "x", "a", "b", "m", "Enter")
    assert w.keys_outside == []
    assert w.page.locator("[data-lm-suppress-shortcuts=true]").count() == 1


def test_tabs_and_lazy_texts(mount):
    w = mount(stepper_panel())
    w.page.wait_for_selector(".wb-view .wb-code")
    asked = [args for op, args in w.requests if op == "view"]
    assert {"i": 1, "tab": "diff"} in asked
    assert not any(args["tab"] == "after" for args in asked), "texts are sent on request only"
    w.page.get_by_role("tab", name="After").click()
    w.page.wait_for_function("document.querySelector('.wb-view').innerText.includes('T.parallel')")
    w.page.locator(".wb-widget").focus()
    w.press("ArrowRight")
    assert w.page.get_by_role("tab", selected=True).inner_text() == "Before"
    w.page.wait_for_timeout(100)
    before = len(w.requests)
    w.press("ArrowLeft")
    w.page.wait_for_timeout(100)
    assert len(w.requests) == before, "each text travels once"
    w.page.get_by_role("tab", name="Rewrites").click()
    w.page.wait_for_selector("text=rules/add.py:12")


def test_graph_tab_keeps_nodes_in_place(mount):
    w = mount(stepper_panel())
    w.page.get_by_role("tab", name="Graph").click()
    w.page.wait_for_selector(".wb-gn")
    first = w.page.locator(".wb-gn[data-id=k]").get_attribute("transform")
    w.page.locator(".wb-gn[data-id=lv1]").click()
    assert "add" in w.said()
    assert w.page.locator(".wb-glist li[aria-selected=true]").get_attribute("data-id") == "lv1"
    w.page.locator(".wb-widget").focus()
    w.press("j")
    w.page.wait_for_timeout(150)
    assert w.page.locator(".wb-gn[data-id=k]").get_attribute("transform") == first
    assert w.page.locator(".wb-gn.wb-on").get_attribute("data-id") == "lv1"


def test_filter_and_empty_result(mount):
    w = mount(stepper_panel())
    w.page.locator(".wb-widget").focus()
    w.press("/")
    w.page.keyboard.type("fuse")
    assert w.page.locator(".wb-prow:visible").count() == 1
    w.page.keyboard.type("xyz")
    assert "No pass matches" in w.page.locator(".wb-plist").inner_text()
    w.page.locator("input[type=search]").fill("")
    w.page.get_by_label("only changed").check()
    assert w.page.locator(".wb-prow:visible").count() == 2


def test_help_escape_and_focus_ring(mount):
    w = mount(stepper_panel())
    w.page.locator(".wb-widget").focus()
    w.press("?")
    assert w.page.get_by_role("dialog").is_visible()
    w.press("Escape")
    assert not w.page.get_by_role("dialog").is_visible()
    w.press("j")
    outline = w.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    w.press("Escape")
    assert w.page.evaluate("document.activeElement === document.body")


def test_narrow_and_dark_without_sideways_scroll(mount):
    w = mount(stepper_panel(), dark=True, width=320)
    w.page.wait_for_selector(".wb-view .wb-code")
    assert w.page.evaluate("document.documentElement.scrollWidth") <= 320
    background = w.page.evaluate(
        "getComputedStyle(document.querySelector('.wb-widget')).backgroundColor"
    )
    assert background == "rgb(22, 27, 34)"


def test_close_frees_listeners(mount):
    w = mount(stepper_panel())
    assert w.page.evaluate("window.heard.length") == 1
    w.page.evaluate("window.close_widget()")
    assert w.page.evaluate("window.heard.length") == 0


def test_next_pass_is_shown_within_100_ms_once_fetched(mount):
    w = mount(stepper_panel())
    w.page.wait_for_selector(".wb-view .wb-code")
    w.page.wait_for_timeout(200)
    took = w.page.evaluate(
        """async () => {
        const list = document.querySelector('.wb-widget');
        const start = performance.now();
        list.dispatchEvent(new KeyboardEvent('keydown', {key: 'j', bubbles: true}));
        await new Promise(requestAnimationFrame);
        return [performance.now() - start, document.querySelector('.wb-view').innerText]; }"""
    )
    assert "changed nothing" in took[1], "a fetched neighbour is shown in the next frame"


def test_long_lines_wrap_until_the_reader_says_no(mount):
    w = mount(stepper_panel(), width=900)
    w.page.wait_for_selector(".wb-view .wb-cl")
    wide = "(n) => n.scrollWidth > n.clientWidth"
    code = w.page.locator(".wb-view .wb-code").first
    assert not code.evaluate(wide)
    w.page.locator(".wb-widget").focus()
    w.press("w")
    assert code.evaluate(wide)
    assert w.page.get_by_role("button", name="Wrap").get_attribute("aria-pressed") == "false"
