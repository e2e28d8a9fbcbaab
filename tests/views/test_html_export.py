import re
import sys
from pathlib import Path

import pytest

from workbench.views.html_export import request_key
from workbench.views.part import Text
from workbench.widgets.export import export, page

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "widgets"))
from panel_examples import graph_panel, stepper_panel  # noqa: E402

SECTIONS = [("Passes", stepper_panel), ("Graph", graph_panel), ("Words", lambda: Text("a < b"))]


def text():
    return page("Report", [(head, make()) for head, make in SECTIONS])


def test_same_input_same_bytes_and_no_network():
    first = text()
    assert first == text()
    assert not re.search(r"""\s(?:src|href)="(?!data:)|url\((?!data:)|import\(|@import""", first)
    outside = set(re.findall(r"https?://[\w./-]+", first))
    assert outside <= {"http://www.w3.org/2000/svg"}


def test_request_keys_are_stable():
    assert request_key("view", {"tab": "diff", "i": 2}) == 'view:{"i":2,"tab":"diff"}'


def test_stepping_works_inside_the_file(tmp_path, browser):
    path = export(tmp_path / "report.html", "Report", [(h, make()) for h, make in SECTIONS])
    tab = browser.new_page()
    errors, asked = [], []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(path.as_uri())
    live = tab.locator(".wb-widget").first
    live.focus()
    tab.keyboard.press("Home")
    assert "Pass 1 of 4" in live.locator(".wb-live").inner_text()
    tab.keyboard.press("f")
    tab.wait_for_selector(".wb-view .wb-add")
    tab.get_by_role("tab", name="Rewrites").click()
    tab.wait_for_selector("text=rules/add.py:12")
    tab.locator("[data-group=fused]").first.click()
    tab.wait_for_function("document.querySelectorAll('.wb-gn.wb-k-group').length === 1")
    assert errors == []
    assert len(asked) == 1, "only the file itself is loaded"
    tab.close()


def test_the_file_reads_without_script(tmp_path, browser):
    path = export(tmp_path / "report.html", "Report", [(h, make()) for h, make in SECTIONS])
    context = browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto(path.as_uri())
    assert "cannot lower T.foo" in plain.locator("#wb-static-0").inner_text()
    context.close()


def test_a_script_end_inside_the_data_is_harmless():
    made = text().replace("</script>", "", 2)
    assert "</script" not in made.split("</body>")[0].split('id="wb-data">')[-1]


def test_a_module_without_the_export_is_refused():
    from workbench.views.html_export import html_page

    with pytest.raises(ValueError, match="must end in"):
        html_page("x", [("", graph_panel())], lambda name: "nothing")
