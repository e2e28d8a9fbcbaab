"""Every notebook runs from top to bottom, and is saved with outputs that need no kernel."""

import os
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def names(path):
    return path.stem


def test_there_are_notebooks():
    assert (ROOT / "notebooks" / "00_tour.ipynb") in NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=names)
def test_notebook_runs(path, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=180,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    )
    client.execute()  # raises on the first cell that fails, with its source and traceback
    assert all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=names)
def test_saved_notebook_is_executed_in_order_and_without_errors(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert not [out for cell in cells for out in cell.outputs if out.output_type == "error"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=names)
def test_saved_notebook_names_no_machine_path_or_user(path):
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"(?<![\w.])/(home|root|tmp|work|Users|usr|opt|var)/", text)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=names)
def test_saved_notebook_reads_without_a_kernel(path):
    """No cell has a live widget as its only output: a widget without a kernel shows nothing."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "application/vnd.jupyter.widget-view+json" in data:
                assert {"text/html", "image/png"} & set(data), cell.source


def test_tour_shows_graph_diff_and_timings_statically():
    notebook = nbformat.read(ROOT / "notebooks" / "00_tour.ipynb", as_version=4)
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", ())]
    data = [out["data"] for out in outputs if "data" in out]
    pictures = [entry for entry in data if "image/png" in entry]
    pages = [entry["text/html"] for entry in data if "text/html" in entry]
    embedded = sum(page.count("data:image/png;base64,") for page in pages)
    assert len(pictures) + embedded >= 2, "a graph and a plot as PNG"
    assert any("<ins" in page or "wb-add" in page for page in pages), "an IR diff"
    assert any("median" in page.lower() for page in pages), "times with their median"
