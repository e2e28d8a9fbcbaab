"""`workbench demo`, headless and for real; and how it fails."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from workbench.cli import demo, main
from workbench.cli.lab import LabError
from workbench.models import digits


@pytest.fixture(scope="module")
def headless(tmp_path_factory):
    """(exit status, standard output, folder) of one run."""
    import contextlib
    import io

    out = tmp_path_factory.mktemp("demo") / "not" / "yet" / "there"
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        status = main(["demo", "--headless", "--out", str(out)])
    return status, text.getvalue(), out


def test_headless_demo_goes_through_every_step(headless):
    status, text, out = headless
    assert status == 0, text
    finished = [line for line in text.splitlines() if not line.endswith("still running")]
    steps = [re.match(r"\[(\d)/8\] ", line) for line in finished]
    assert [int(step[1]) for step in steps if step] == list(range(1, 9))
    assert "failed" not in text
    assert str(out / "report.html") in text


def test_headless_demo_says_the_accuracy_of_the_training_script(headless):
    _, text, _ = headless
    found = re.search(r"(\d+) of (\d+) right", text)
    assert found
    right, images = map(int, found.groups())
    assert images == len(digits.load_heldout()[1])
    assert right / images == pytest.approx(digits.metrics()["cnn"]["accuracy"], abs=1.5 / images)


def test_report_is_one_file_without_links(headless):
    _, _, out = headless
    page = (out / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", page)
    assert "@import" not in page
    for heading in ("What was found", "The model", "pass by pass", "Where the time goes"):
        assert heading in page
    assert len(page) < 8_000_000


def test_report_names_passes_kernels_and_stages(headless):
    _, _, out = headless
    page = (out / "report.html").read_text(encoding="utf-8")
    for word in ("LegalizeOps", "FuseOps", "conv2d", ">define<", "median"):
        assert word in page, word


class WrongMachine:
    """Answers everything with the same row."""

    def __getitem__(self, _name):
        return lambda x: SimpleNamespace(numpy=lambda: np.full((len(x), 10), 0.1, np.float32))


def test_wrong_result_is_an_error_with_numbers():
    import onnx

    images, _ = digits.load_heldout()
    model = onnx.load(digits.model_path("cnn"))
    with pytest.raises(demo.CheckError, match=r"batch 1: differs .* by \d\.\de-01 .* 0\.0001"):
        demo._check(WrongMachine(), model, images)


def test_failed_check_ends_with_status_1(monkeypatch, tmp_path, capsys):
    def fail(_progress):
        raise demo.CheckError("all wrong")

    monkeypatch.setattr(demo, "demonstrate", fail)
    assert main(["demo", "--headless", "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "workbench demo: all wrong\n"


def test_folder_that_cannot_be_written_is_said_before_any_work(tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    assert main(["demo", "--headless", "--out", str(tmp_path / "file")]) == 1
    error = capsys.readouterr().err
    assert "cannot write to" in error
    assert str(tmp_path / "file") in error


def test_interrupt_is_status_130(monkeypatch, tmp_path, capsys):
    def interrupt(_progress):
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "demonstrate", interrupt)
    assert main(["demo", "--headless", "--out", str(tmp_path)]) == 130
    assert "stopped" in capsys.readouterr().err


def test_tour_of_a_checkout_is_opened_in_place(tmp_path):
    notebook = tmp_path / "notebooks" / "00_tour.ipynb"
    notebook.parent.mkdir()
    notebook.write_text("{}")
    assert demo.find_tour(tmp_path / "out", tmp_path) == notebook


def test_elsewhere_the_tour_is_copied_once_and_kept(tmp_path):
    copy = demo.find_tour(tmp_path / "out", tmp_path)
    assert copy == tmp_path / "out" / "notebooks" / "00_tour.ipynb"
    assert '"cells"' in copy.read_text(encoding="utf-8")
    copy.write_text("mine")
    assert demo.find_tour(tmp_path / "out", tmp_path).read_text() == "mine"


def test_demo_opens_the_tour_and_passes_the_options(monkeypatch, tmp_path):
    opened = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "demonstrate", lambda _progress: None)
    monkeypatch.setattr("workbench.cli.report.write_report", lambda _shown, path: path)
    monkeypatch.setattr(demo, "open_lab", lambda path, **rest: opened.append((path, rest)) or 0)
    assert main(["demo", "--port", "9000", "--no-browser"]) == 0
    path = tmp_path / "workbench-demo" / "notebooks" / "00_tour.ipynb"
    ((found, options),) = opened
    assert found.resolve() == path
    assert options == {"port": 9000, "browser": False}


def test_trouble_with_jupyterlab_is_one_sentence(monkeypatch, tmp_path, capsys):
    def fail(*_args, **_options):
        raise LabError("JupyterLab is not installed")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "demonstrate", lambda _progress: None)
    monkeypatch.setattr("workbench.cli.report.write_report", lambda _shown, path: path)
    monkeypatch.setattr(demo, "open_lab", fail)
    assert main(["demo", "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "workbench demo: JupyterLab is not installed\n"


@pytest.mark.parametrize("port", ["99999999", "0", "-1", "eight"])
def test_a_port_that_does_not_exist_is_refused_at_once(port, capsys):
    with pytest.raises(SystemExit):
        main(["demo", "--headless", f"--port={port}"])
    assert f"expected a port from 1 to 65535, got '{port}'" in capsys.readouterr().err
