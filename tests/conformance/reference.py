"""The system to compare with: another interpreter that has `tvm` 0.26, used by subprocess only.

Set WORKBENCH_REFERENCE_PYTHON to its path; without it the tests of this folder are skipped.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PYTHON = os.environ.get("WORKBENCH_REFERENCE_PYTHON", "")
needs_reference = pytest.mark.skipif(
    not PYTHON, reason="WORKBENCH_REFERENCE_PYTHON names no interpreter that has tvm 0.26"
)


def output(python, script, *args, timeout=240):
    """The JSON on the last line that a script of this folder prints."""
    done = subprocess.run(
        [python, str(HERE / script), *args],
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd=HERE.parent,
    )
    lines = done.stdout.strip().splitlines()
    assert done.returncode == 0 and lines, done.stderr[-3000:]
    return json.loads(lines[-1])


def both(script, *args):
    """What a script gives under the reference, and here."""
    return output(PYTHON, script, "tvm", *args), output(sys.executable, script, "workbench", *args)
