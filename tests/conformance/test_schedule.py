"""Schedules compared with TVM 0.26: the same primitives give the same program and the same trace.

Skipped unless WORKBENCH_REFERENCE_PYTHON names a Python that has `apache-tvm`.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.script import parse

sys.path.insert(0, str(Path(__file__).parent))
import schedule_cases

#: Our simplifier also resolves the division of a fused loop that was split again.
SIMPLER = {"fuse_two", "compute_at_fused", "compute_at_fused_rows"}


@pytest.fixture(scope="module")
def reference():
    python = os.environ.get("WORKBENCH_REFERENCE_PYTHON")
    if not python:
        pytest.skip("WORKBENCH_REFERENCE_PYTHON is not set")
    done = subprocess.run(
        [python, schedule_cases.__file__, "tvm"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def ours():
    return schedule_cases.run("workbench")


@pytest.mark.parametrize("name", schedule_cases.CASES)
def test_same_as_reference(name, reference, ours):
    want, got = reference[name], ours[name]
    assert got["ok"] == want["ok"], (want, got)
    if not got["ok"]:
        assert got["error"] == "ScheduleError"
        return
    assert got["trace"] == want["trace"]
    if name not in SIMPLER:
        # read and printed again: texts in signatures are written in another form here
        assert got["script"] == schedule_cases.script_of(parse(want["script"]))


#: The reference accepts these, and computes something else; here they are refused.
UNSOUND = {
    "reduction_repeated": (
        "twice",
        lambda s: s.reverse_compute_at("D", s.get_loops(s.get_sblock("C"))[2]),
    ),
}


@pytest.mark.parametrize("name", UNSOUND)
def test_unsound_in_the_reference(name):
    from workbench.s_tir import Schedule, ScheduleError

    program, action = UNSOUND[name]
    sch = Schedule(getattr(schedule_cases.Programs("workbench"), program)())
    with pytest.raises(ScheduleError, match="would repeat"):
        action(sch)
