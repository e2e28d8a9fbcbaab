"""Small programs written for TVM 0.26 give the same results here after changing the import."""

import ast

import pytest
from conformance.known_differences import KNOWN, normal
from conformance.reference import HERE, both, needs_reference

FILES = sorted(p.stem for p in (HERE / "programs").glob("*_cases.py"))


@needs_reference
@pytest.mark.parametrize("name", FILES)
def test_same_results(name):
    reference, ours = both("run_cases.py", f"{HERE}/programs/{name}.py")
    assert reference.keys() == ours.keys()
    broken = [k for k, v in reference.items() if isinstance(v, str) and v.startswith("! ")]
    assert not broken, "the reference fails on these programs"
    wrong = {
        case: (normal(reference[case]), normal(ours[case]))
        for case in reference
        if case not in KNOWN and normal(reference[case]) != normal(ours[case])
    }
    assert not wrong, "\n".join(
        f"{k}\n  reference {a}\n  here      {b}" for k, (a, b) in wrong.items()
    )


def test_known_differences_name_cases():
    """A difference that is explained belongs to a case that exists."""
    texts = "".join((HERE / "programs" / f"{n}.py").read_text() for n in FILES)
    for case in KNOWN:
        assert case.removeprefix("case_") in texts, case


@pytest.mark.parametrize("name", FILES)
def test_programs_are_python(name):
    ast.parse((HERE / "programs" / f"{name}.py").read_text())
