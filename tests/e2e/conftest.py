"""One JupyterLab server and one browser for the whole session; helpers to run a notebook in it."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

HERE = Path(__file__).parent

ROOT = HERE.parents[1]
OVERRIDES = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},
}


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Lab:
    """A running JupyterLab: its address and the folder that it serves."""

    def __init__(self, port, folder):
        self.port = port
        self.folder = folder

    def url(self, name):
        return f"http://127.0.0.1:{self.port}/lab/tree/{name}?reset"


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    base = tmp_path_factory.mktemp("lab")
    folder, config = base / "work", base / "config"
    folder.mkdir()
    settings = base / "settings"
    settings.mkdir()
    (settings / "overrides.json").write_text(json.dumps(OVERRIDES))
    port = free_port()
    environment = {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(config),
        "JUPYTER_RUNTIME_DIR": str(base / "runtime"),
        "JUPYTER_DATA_DIR": str(base / "data"),
        "IPYTHONDIR": str(base / "ipython"),
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(":"),
    }
    log = (base / "lab.log").open("w")
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", f"--port={port}",
        "--allow-root", "--expose-app-in-browser", "--IdentityProvider.token=",
        "--ServerApp.password=", f"--ServerApp.root_dir={folder}",
        f"--LabApp.app_settings_dir={settings}",
    ]  # fmt: skip
    server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    deadline = time.monotonic() + 90
    while True:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/api/status", timeout=2)
            break
        except (urllib.error.URLError, OSError):
            if server.poll() is not None or time.monotonic() > deadline:
                server.kill()
                text = (base / "lab.log").read_text()[-3000:]
                pytest.fail(f"JupyterLab did not start; is the lab extra installed?\n{text}")
            time.sleep(0.3)
    yield Lab(port, folder)
    server.terminate()
    try:
        server.wait(15)
    except subprocess.TimeoutExpired:
        server.kill()
    log.close()


class Opened:
    """A notebook that is open in the browser."""

    def __init__(self, page, errors):
        self.page = page
        self.errors = errors

    def run_all(self, seconds=120):
        """Run every cell and wait until the kernel is idle again; fails with a cell's traceback."""
        self.page.evaluate("jupyterapp.commands.execute('notebook:run-all-cells')")
        # After an error the cells behind it never get a number.
        self.page.wait_for_function(
            """() => { const cells = [...document.querySelectorAll('.jp-CodeCell')];
            const done = (c) => /\\[\\d+\\]/.test(c.querySelector('.jp-InputArea-prompt').innerText)
              || !c.querySelector('.cm-content').innerText.trim();
            return cells.length && (cells.every(done)
              || document.querySelector('[data-mime-type="application/vnd.jupyter.error"], '
                + '[data-mime-type="application/vnd.jupyter.stderr"]')); }""",
            timeout=seconds * 1000,
        )
        assert self.output_errors() == []

    def theme(self, name):
        """Change the theme and wait for it."""
        self.page.evaluate(
            f"jupyterapp.commands.execute('apputils:change-theme', {{theme: '{name}'}})"
        )
        light = "false" if "Dark" in name else "true"
        self.page.wait_for_selector(f"body[data-jp-theme-light={light}]", state="attached")
        self.page.wait_for_timeout(400)

    def cells(self):
        return self.page.locator(".jp-Cell").count()

    def output_errors(self):
        """Texts of outputs that are tracebacks."""
        return self.page.locator(
            '.jp-OutputArea-output[data-mime-type="application/vnd.jupyter.stderr"], '
            '.jp-OutputArea-output[data-mime-type="application/vnd.jupyter.error"]'
        ).all_inner_texts()


@pytest.fixture
def open_notebook(lab, browser):
    """open_notebook(path or list of cell sources) -> Opened, with an idle kernel."""
    import nbformat

    pages = []

    def make(source, name="test.ipynb"):
        if isinstance(source, list):
            book = nbformat.v4.new_notebook(
                cells=[nbformat.v4.new_code_cell(text) for text in source],
                metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
            )
            nbformat.write(book, lab.folder / name)
        else:
            (lab.folder / name).write_bytes(Path(source).read_bytes())
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        pages.append(page)
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(lab.url(name))
        # Run All before the kernel is up would open a dialog.
        page.wait_for_selector('.jp-StatusBar-TextItem:has-text("| Idle")', timeout=60_000)
        return Opened(page, errors)

    yield make
    for page in pages:
        page.close()
