"""Progress on a terminal and in a log."""

import io
import re
import time

import pytest

from workbench.cli.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_log_has_one_line_per_step_with_its_result():
    out = io.StringIO()
    progress = Progress(2, out)
    with progress.step("first") as step:
        step.result = "12 things"
    with progress.step("second"):
        pass
    first, second = out.getvalue().splitlines()
    assert re.fullmatch(r"\[1/2\] first +0\.\d\d s  12 things", first)
    assert re.fullmatch(r"\[2/2\] second +0\.\d\d s", second)


def test_failed_step_is_marked_and_the_error_goes_on():
    out = io.StringIO()
    with pytest.raises(RuntimeError, match="no"), Progress(1, out).step("try"):
        raise RuntimeError("no")
    assert out.getvalue().rstrip().endswith("failed")


def test_terminal_shows_the_running_step_and_rewrites_the_line():
    out = Terminal()
    with Progress(1, out).step("wait"):
        limit = time.monotonic() + 10
        while out.getvalue().count("[1/1] wait") < 2 and time.monotonic() < limit:
            time.sleep(0.05)
    assert out.getvalue().count("\r\x1b[K") >= 3
    assert out.getvalue().endswith("\n")
