from workbench.inspect.timing import Conditions, Measurement, Timing
from workbench.views.timing import TimingPanel

QUIET = Conditions("a machine", 2, (("Python", "3"),), 0.0)


def panel(fail=False):
    def again(tell):
        tell(0.5, "half")
        if fail:
            raise ValueError("no compiler")
        return Timing(
            "Kernels", (part("a", 0.5), part("b", 9)), QUIET, part("call", 10), again=again
        )

    return TimingPanel(
        Timing("Kernels", (part("a", 2), part("b", 5)), QUIET, part("call", 8), again)
    )


def part(name, ms):
    return Measurement(name, tuple(x * ms / 1000 for x in (0.9, 1, 1.1)))


def test_bars_and_table_share_the_selection(mount):
    w = mount(panel())
    assert w.page.locator(".wb-bar").count() == 3
    assert w.page.locator(".wb-whisker").count() == 3
    w.page.locator(".wb-widget").focus()
    w.press("j", "j")
    assert w.said().startswith("b: 5 ms")
    assert w.page.locator("tr.wb-on td").first.inner_text() == "b"
    assert w.page.locator("g.wb-on").count() == 1
    assert not w.errors


def test_order(mount):
    w = mount(panel())
    w.page.get_by_role("button", name="Order").click()
    w.page.wait_for_function(
        "document.querySelector('.wb-live').innerText === 'Order: as in the program'"
    )
    assert w.page.get_by_role("button", name="Order: as in the program").count() == 1
    labels = w.page.locator(".wb-view tbody tr td:first-child").all_inner_texts()
    assert labels == ["call", "a", "b"]


def test_measuring_again_shows_new_times(mount):
    w = mount(panel())
    w.page.get_by_role("button", name="Measure again").click()
    w.page.wait_for_function("document.querySelector('.wb-live').innerText.includes('slower')")
    assert w.page.locator("td", has_text="9.00").count() == 1


def test_a_failed_measurement_keeps_the_old_times(mount):
    w = mount(panel(fail=True))
    w.page.locator(".wb-widget").focus()
    w.press("m")
    w.page.wait_for_selector(".wb-bad")
    assert "no compiler" in w.page.locator(".wb-bad").inner_text()
    assert w.page.locator("td", has_text="5.00").count() == 1


def test_a_page_without_kernel_offers_no_measuring(mount):
    w = mount(panel(), offline=True)
    assert w.page.get_by_role("button", name="Measure again").count() == 0
    assert w.page.get_by_role("button", name="Pin snapshot").count() == 0
