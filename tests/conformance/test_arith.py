"""Integer arithmetic answers as TVM 0.26 does.

Set WORKBENCH_REFERENCE_PYTHON to an interpreter that has `apache-tvm` 0.26 to run this.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

REFERENCE = os.environ.get("WORKBENCH_REFERENCE_PYTHON", "")
CASES = Path(__file__).with_name("arith_cases.py")

pytestmark = pytest.mark.skipif(not REFERENCE, reason="no reference interpreter is named")


def answers(interpreter, system):
    done = subprocess.run(
        [interpreter, str(CASES), system], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def both():
    return answers(REFERENCE, "tvm"), answers(sys.executable, "workbench")


def test_simplified_forms(both):
    theirs, ours = both
    assert ours["simplify"] == theirs["simplify"]


def test_bounds_are_as_tight(both):
    for (text, low, high), (same, our_low, our_high) in zip(
        both[0]["bounds"], both[1]["bounds"], strict=True
    ):
        assert text == same
        assert low <= our_low <= our_high <= high, text


def test_residues_are_as_precise(both):
    for (text, coeff, base), (same, our_coeff, our_base) in zip(
        both[0]["residues"], both[1]["residues"], strict=True
    ):
        assert text == same
        if coeff == 0:
            assert (our_coeff, our_base) == (coeff, base), text
        else:
            assert our_coeff % coeff == 0, text
            assert our_base % coeff == base, text


#: Maps that are found here only: indices are simplified before.
BEYOND = {"[(i * 8 + j) // 4, j % 4]"}


def test_iteration_maps(both):
    for theirs, ours in zip(both[0]["iter_maps"], both[1]["iter_maps"], strict=True):
        if theirs[0] in BEYOND:
            assert theirs[-1] == []
            assert ours[-1]
        else:
            assert ours == theirs
