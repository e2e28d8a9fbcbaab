"""Start JupyterLab on one notebook, wait until it answers, open a browser, stay until it ends.

Every way this can fail is told in one sentence with what to do: JupyterLab is not installed, the
port is taken, the server does not come up, there is no browser.
"""

from __future__ import annotations

import importlib.util
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

__all__ = ["LabError", "free_port", "open_lab"]

_HOST = "127.0.0.1"
_TRIES = 50


class LabError(RuntimeError):
    """JupyterLab cannot be opened; the message says why and what to do."""


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError:
            return False
        return True


def free_port(wanted: int, say: Callable[[str], None] = print) -> int:
    """`wanted`, or the next free port, which is then said. Raises `LabError` if none is near."""
    for port in range(wanted, min(wanted + _TRIES, 65536)):
        if _is_free(port):
            if port != wanted:
                say(f"port {wanted} is taken; using {port} (choose another with --port)")
            return port
    raise LabError(
        f"no free port from {wanted} to {wanted + _TRIES - 1} on {_HOST}; choose one with --port"
    )


def _command(root: Path, port: int) -> list[str]:
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", f"--ip={_HOST}", f"--port={port}"),
        *("--ServerApp.port_retries=0", f"--ServerApp.root_dir={root}"),
        # The news prompt would be the first thing a newcomer sees.
        "--LabApp.news_url=None",
        "--log-level=WARN",
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")  # the server refuses root otherwise
    return command


def _wait(server: subprocess.Popen[bytes], url: str, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if server.poll() is not None:
            raise LabError(
                f"JupyterLab stopped at once with status {server.returncode}; its messages are "
                "above. `workbench doctor` shows what is installed."
            )
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise LabError(f"JupyterLab did not answer within {seconds:.0f} s")


def _open_browser(url: str, say: Callable[[str], None]) -> None:
    graphical = os.name == "nt" or sys.platform == "darwin"
    graphical = graphical or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    try:
        opened = graphical and webbrowser.open(url)
    except webbrowser.Error:
        opened = False
    if not opened:
        say("no browser could be opened here; open the address above in one")


def open_lab(
    notebook: Path,
    *,
    port: int = 8888,
    browser: bool = True,
    timeout: float = 60.0,
    say: Callable[[str], None] = print,
    until: Callable[[subprocess.Popen[bytes]], object] = lambda server: server.wait(),
) -> int:
    """Serve the folder of `notebook` and open it; returns the server's exit status.

    Blocks until the server ends or is interrupted. Raises `LabError` if it cannot be started.
    `until` is what to do while the server runs.
    """
    if importlib.util.find_spec("jupyterlab") is None:
        raise LabError('JupyterLab is not installed; to get it: pip install ".[lab]"')
    port = free_port(port, say)
    token = secrets.token_urlsafe(24)
    root = notebook.resolve().parent
    environment = {**os.environ, "JUPYTER_TOKEN": token}
    server = subprocess.Popen(_command(root, port), env=environment)
    try:
        base = f"http://{_HOST}:{port}"
        _wait(server, f"{base}/api", timeout)
        url = f"{base}/lab/tree/{quote(notebook.name)}?token={token}"
        say(f"JupyterLab is running; Ctrl-C stops it:\n  {url}")
        if browser:
            _open_browser(url, say)
        until(server)
        return server.returncode or 0
    except KeyboardInterrupt:
        say("\nstopping JupyterLab")
        return 0
    finally:
        if server.poll() is None:
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
