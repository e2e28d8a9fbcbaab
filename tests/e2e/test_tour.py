"""The tour notebook in a real JupyterLab: it runs, and its live views answer to clicks and keys."""

import os
from pathlib import Path

TOUR = Path(__file__).parents[2] / "notebooks" / "00_tour.ipynb"
SHOTS = os.environ.get("WORKBENCH_SCREENSHOTS")


def test_the_tour_runs_and_its_widgets_answer(open_notebook):
    book = open_notebook(TOUR, "tour.ipynb")
    book.run_all(300)
    page = book.page
    page.wait_for_function("document.querySelectorAll('.wb-widget').length >= 4", timeout=60_000)
    widgets = {
        kind: page.locator(f".wb-widget:has({mark})")
        for kind, mark in {
            "graph": ".wb-groups",
            "stepper": ".wb-plist",
            "explorer": ".wb-stree",
            "timings": ".wb-view .wb-plot",
        }.items()
    }
    cells = book.cells()
    for kind, found in widgets.items():
        found = found.first
        found.scroll_into_view_if_needed()
        found.focus()
        page.keyboard.press("d")
        page.keyboard.press("d")
        assert book.cells() == cells, f"keys in the {kind} changed the notebook"

    graph, stepper, explorer, timings = (widgets[k].first for k in widgets)
    graph.locator(".wb-gn", has_text="max_pool2d").first.click()
    assert "max_pool2d" in graph.locator(".wb-live").inner_text()

    stepper.locator(".wb-prow", has_text="FuseOps").first.click()
    assert "FuseOps, changed" in stepper.locator(".wb-live").inner_text()
    stepper.get_by_role("tab", name="Graph").click()
    stepper.locator(".wb-gn").first.wait_for(timeout=30_000)

    explorer.locator(".wb-stree [data-id]").first.click()
    explorer.locator(".wb-move").first.wait_for(timeout=30_000)
    explorer.get_by_role("button", name="Undo").click()
    page.wait_for_function(
        "(n) => n.querySelector('.wb-live').innerText.startsWith('Undone')",
        arg=explorer.element_handle(),
        timeout=30_000,
    )

    timings.get_by_role("button", name="Order").click()
    page.wait_for_function(
        "(n) => n.querySelector('.wb-live').innerText.startsWith('Order')",
        arg=timings.element_handle(),
        timeout=30_000,
    )
    assert book.errors == []
    if SHOTS is not None:
        folder = Path(SHOTS)
        folder.mkdir(parents=True, exist_ok=True)
        for theme in ("JupyterLab Light", "JupyterLab Dark"):
            book.theme(theme)
            for kind, found in widgets.items():
                found.first.scroll_into_view_if_needed()
                found.first.screenshot(path=folder / f"tour-{theme.split()[1].lower()}-{kind}.png")
