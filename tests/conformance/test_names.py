"""Public names and signatures of TVM 0.26: present here, or left out for a reason."""

import pytest
from conformance.omitted import NAMESPACES, OMITTED, reason
from conformance.reference import both, needs_reference

#: Parameters that only say where to look or what to warn of.
IGNORED = {"self", "span", "enable_warning", "traceable", "args", "kwargs", "context", "trace"}
#: "namespace.name.parameter" of the reference that is called or does something else here, and why.
SIGNATURES = {
    "C++ handles have no constructor of their own here": (
        "DataType.content ir.DictAttrs.__dict__ runtime.Module.* arith.IterMapExpr.*"
        " s_tir.StmtSRef.seq_index"
    ),
    "the type of a function or an expression follows from its parts": (
        "ir.BaseFunc.ty ir.Expr.ty s_tir.schedule.ExprRV.ty"
    ),
    "declared in another order or by name": (
        "ir.EnvFunc.func ir.Array runtime.ShapeTuple ir.transform.PassInfo*"
        " runtime.DataType.content DataType.content te.PlaceholderOp.* s_tir.schedule.StmtSRef.*"
    ),
    "programs for GPUs": "tirx*.tvm_warp_shuffle_* tirx.analysis.*.device_func",
    "functions of the tuner": "*auto_scheduler* *meta_schedule*",
    "options of the reference's own registries": (
        "target.TargetKind.* target.register_tag.override s_tir.schedule.Instruction*"
    ),
}


@pytest.fixture(scope="module")
def described():
    return both("describe.py", *NAMESPACES)


def names(found):
    return {n: d for n, d in found.items() if d["kind"] != "module"}


@needs_reference
@pytest.mark.parametrize("namespace", NAMESPACES)
def test_names(described, namespace):
    reference, ours = (d["" if namespace == "." else namespace] for d in described)
    missing = [n for n in names(reference) if n not in ours and reason(namespace, n) is None]
    assert not missing, f"{namespace}: neither here nor in omitted.py: {missing}"


@needs_reference
def test_omissions_are_needed(described):
    """What is listed as left out is not here."""
    reference, _ = described
    used = {
        reason(space or ".", name) for space, found in reference.items() for name in names(found)
    }
    assert set(OMITTED) <= used, set(OMITTED) - used


def parameters(description):
    found = description.get("signature") or description.get("init") or []
    return [name for name, *_ in found if name not in IGNORED]


@needs_reference
@pytest.mark.parametrize("namespace", [n for n in NAMESPACES if not n.startswith("topi")])
def test_parameters(described, namespace):
    """Parameters that a program can name, in the order in which it can give them."""
    reference, ours = (names(d["" if namespace == "." else namespace]) for d in described)
    allowed = [p for patterns in SIGNATURES.values() for p in patterns.split()]
    wrong = []
    for name, description in reference.items():
        here = ours.get(name)
        if here is None or parameters(here) == [] or description["kind"] != here["kind"]:
            continue
        wanted, got = parameters(description), parameters(here)
        full = f"{namespace}.{name}".removeprefix("..")
        if _matches(full, allowed):
            continue
        absent = [p for p in wanted if p not in got and not _matches(f"{full}.{p}", allowed)]
        order = [p for p in got if p in wanted]
        if absent or order != [p for p in wanted if p in got]:
            wrong.append(f"{full}({', '.join(wanted)}), here ({', '.join(got)})")
    assert not wrong, "\n".join(wrong)


def _matches(text, patterns):
    from fnmatch import fnmatch

    return any(fnmatch(text, p) for p in patterns)
