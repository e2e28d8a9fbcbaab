"""`workbench doctor` finds what is there and says what the rest would give."""

import json
import subprocess
import sys
from argparse import Namespace

import pytest

from workbench.cli import doctor, main
from workbench.cli.doctor import PARTS, Part, examine


def test_everything_needed_is_found_with_its_version():
    findings = {finding.name: finding for finding in examine()}
    needed = [part.name for part in PARTS if part.group == "needed"]
    assert {"numpy", "llvmlite", "onnx", "apache-tvm-ffi", "graphviz", "ml_dtypes"} == set(needed)
    for name in needed:
        assert findings[name].status == "ok"
        assert findings[name].found[0].isdigit()


def test_missing_package_and_program_are_said_with_what_they_would_give():
    parts = (
        Part("no-such-package-at-all", "notebook", "a thing", "pip install it"),
        Part("no such tool", "tools", "another", "apt", programs=("no-such-tool-1", "no-such-2")),
    )
    package, program = examine(parts)
    assert (package.status, program.status) == ("missing", "missing")
    assert "no-such-tool-1, no-such-2" in program.found
    assert not package.fatal


def test_too_old_is_broken_and_fatal_only_where_needed():
    (needed,) = examine((Part("numpy", "needed", "arrays", "pip", (99, 1)),))
    assert needed.status == "broken"
    assert "99.1 or newer" in needed.found
    assert needed.fatal


def report(monkeypatch, parts, **options):
    monkeypatch.setattr(doctor, "examine", lambda: examine(parts))
    lines = []
    status = doctor.run(Namespace(json=False, **options), lines.append)
    return status, "\n".join(lines)


def test_report_of_a_broken_installation(monkeypatch):
    status, text = report(
        monkeypatch, (Part("no-such-package", "needed", "everything", "pip install it"),)
    )
    assert status == 1
    assert "would give: everything" in text
    assert "to get it:  pip install it" in text
    assert "cannot work: no-such-package" in text


def test_report_when_llvm_fails(monkeypatch):
    def fail():
        raise RuntimeError("no code today")

    monkeypatch.setattr(doctor, "check_llvm", fail)
    status, text = report(monkeypatch, PARTS[:1])
    assert status == 1
    assert "RuntimeError: no code today" in text


def test_json_is_complete(capsys):
    assert main(["doctor", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert {part["name"] for part in facts["parts"]} == {part.name for part in PARTS}
    assert facts["llvm"]["cpu"]
    assert facts["machine"]["usable"] >= 1


def test_text_report_of_this_machine(capsys):
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    for title in ("Machine", "vectors", "threads", "Needed by the compiler", "Notebook"):
        assert title in text
    assert text.strip().splitlines()[-1].startswith("The compiler works")


def test_every_part_says_what_it_gives():
    assert all(part.gives and part.install for part in PARTS)


def test_usage(capsys):
    assert main([]) == 2
    assert "doctor" in capsys.readouterr().out
    with pytest.raises(SystemExit) as stop:
        main(["cure"])
    assert stop.value.code == 2
    assert "cure" in capsys.readouterr().err


def test_help_and_doctor_import_no_heavy_package():
    code = (
        "import sys; from workbench.cli import main; main([]);"
        "print([m for m in ('onnx', 'llvmlite', 'matplotlib', 'jupyterlab') if m in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip().splitlines()[-1] == "[]"
