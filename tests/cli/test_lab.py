"""Starting JupyterLab: the port, the browser, a server that does not come up, and one that does."""

import importlib.util
import json
import os
import socket
import sys
import urllib.request
import webbrowser

import pytest

from workbench.cli import lab


@pytest.fixture
def taken():
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        yield holder.getsockname()[1]


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    for name in ("CONFIG", "DATA", "RUNTIME"):
        monkeypatch.setenv(f"JUPYTER_{name}_DIR", str(tmp_path / name.lower()))
    path = tmp_path / "served" / "some notebook.ipynb"
    path.parent.mkdir()
    content = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(content))
    return path


def test_free_port_is_kept_silently():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    said = []
    assert lab.free_port(port, said.append) == port
    assert said == []


def test_taken_port_is_said_and_the_next_free_one_used(taken):
    said = []
    port = lab.free_port(taken, said.append)
    assert port > taken
    assert said == [f"port {taken} is taken; using {port} (choose another with --port)"]


def test_no_free_port_at_all(monkeypatch):
    monkeypatch.setattr(lab, "_is_free", lambda _port: False)
    with pytest.raises(lab.LabError, match=r"no free port from 8888 to 8937 .* --port"):
        lab.free_port(8888)


def test_jupyterlab_not_installed(monkeypatch, notebook):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "jupyterlab" else found(name)
    )
    with pytest.raises(lab.LabError, match=r'not installed; to get it: pip install "\.\[lab\]"'):
        lab.open_lab(notebook)


def test_server_that_stops_at_once(monkeypatch, notebook):
    monkeypatch.setattr(lab, "_command", lambda *_: [sys.executable, "-c", "raise SystemExit(3)"])
    with pytest.raises(lab.LabError, match="stopped at once with status 3"):
        lab.open_lab(notebook, browser=False, say=lambda _: None)


def test_server_that_never_answers_is_ended(monkeypatch, notebook):
    monkeypatch.setattr(
        lab, "_command", lambda *_: [sys.executable, "-c", "import time; time.sleep(60)"]
    )
    with pytest.raises(lab.LabError, match="did not answer within 1 s"):
        lab.open_lab(notebook, browser=False, timeout=1, say=lambda _: None)


@pytest.mark.parametrize("display", ["", ":0"])
def test_no_browser_is_said(monkeypatch, display):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setitem(os.environ, "DISPLAY", display)
    monkeypatch.delitem(os.environ, "WAYLAND_DISPLAY", raising=False)

    def fail(_url):
        raise webbrowser.Error("could not locate runnable browser")

    monkeypatch.setattr(webbrowser, "open", fail)
    said = []
    lab._open_browser("http://somewhere", said.append)
    assert said == ["no browser could be opened here; open the address above in one"]


def test_real_server_serves_the_notebook_and_stops(notebook):
    said, served = [], []

    def look(_server):
        url = said[-1].split()[-1]
        base, token = url.split("/lab/tree/")[0], url.split("token=")[1]
        with urllib.request.urlopen(f"{base}/api/contents?token={token}", timeout=20) as answer:
            served.extend(entry["name"] for entry in json.load(answer)["content"])

    assert lab.open_lab(notebook, port=28888, browser=False, say=said.append, until=look) == 0
    assert served == ["some notebook.ipynb"]
    assert "some%20notebook.ipynb" in said[-1]
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(said[-1].split()[-1], timeout=5)
