"""The layers of docs/architecture.md: who may import whom, cycles, seams, sizes."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "workbench"

#: Longest matching prefix decides. A module imports from its own or a lower layer.
LAYERS = {
    "workbench": 1,
    "workbench.core": 0,
    "workbench.runtime": 1,
    "workbench.script": 1,
    "workbench.models": 1,
    "workbench.ir": 2,
    "workbench.tirx": 3,
    "workbench.target": 3,
    "workbench.arith": 4,
    "workbench.te": 5,
    "workbench.tirx.transform": 5,
    "workbench.tirx.analysis": 5,
    "workbench.tirx.interpreter": 5,
    "workbench.tirx.script": 5,
    "workbench.ir.script": 5,
    "workbench.topi": 6,
    "workbench.target.codegen": 6,
    "workbench.target.kinds": 6,
    "workbench.relax": 7,
    "workbench.s_tir": 7,
    "workbench.tirx.pipeline": 7,
    "workbench.relax.transform": 8,
    "workbench.relax.pipeline": 8,
    "workbench.relax.vm_build": 8,
    "workbench.s_tir.meta_schedule": 8,
    "workbench.s_tir.dlight": 8,
    "workbench.relax.frontend": 9,
    "workbench.relax.backend": 9,
    "workbench.driver": 10,
    "workbench.inspect": 10,
    "workbench.testing": 10,
    "workbench.cli": 12,
    "workbench.views": 11,
    "workbench.widgets": 12,
}

#: Function-level imports: (importing module, imported package), and why there.
SEAMS = {
    ("workbench.core", "workbench.core"): "a node's own text, JSON and generated functions",
    ("workbench.core.live", "workbench.views"): "rich display of values",
    ("workbench.core.live", "workbench.widgets"): "live views and HTML files of values",
    ("workbench.target.target", "workbench.target"): "a target looks its kind up",
    ("workbench.tirx", "workbench.tirx"): "operators and indexing of expressions build other nodes",
    ("workbench.relax", "workbench.relax"): "types and expressions refer to each other",
    ("workbench.runtime", "workbench.runtime"): "an executable makes its machine",
    ("workbench.s_tir.schedule", "workbench.s_tir.schedule"): "an instruction replays a trace",
}
#: The command line imports what a subcommand needs when it runs.
IMPORTS_LATE = "workbench.cli"


def seam_of(name: str, target: str) -> tuple[str, str] | None:
    """The seam that allows a function of `name` to import `target`."""
    for module, package in SEAMS:
        inside = name == module or name.startswith(f"{module}.")
        if inside and (target == package or target.startswith(f"{package}.")):
            return module, package
    return None


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer(name: str) -> int:
    while name not in LAYERS:
        name = name.rpartition(".")[0]
    return LAYERS[name]


@cache
def modules() -> dict[str, Path]:
    return {module_name(p): p for p in sorted(PACKAGE.rglob("*.py"))}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def imports(path: Path, inside: bool) -> Iterator[tuple[int, str]]:
    """(line, imported module) at module level, or inside functions."""

    def visit(node: ast.AST, in_function: bool) -> Iterator[tuple[int, str]]:
        for child in ast.iter_child_nodes(node):
            if _is_type_checking(child):
                continue
            if isinstance(child, ast.ImportFrom) and child.module and in_function == inside:
                for alias in child.names:
                    full = f"{child.module}.{alias.name}"
                    yield child.lineno, full if full in modules() else child.module
            elif isinstance(child, ast.Import) and in_function == inside:
                for alias in child.names:
                    yield child.lineno, alias.name
            function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from visit(child, in_function or function)

    for line, name in visit(tree(path), False):
        if name == "workbench" or name.startswith("workbench."):
            yield line, name


@pytest.mark.parametrize("name", sorted(modules()))
def test_imports_point_downwards(name: str) -> None:
    wrong = [
        f"line {line}: {name} (layer {layer(name)}) imports {target} (layer {layer(target)})"
        for line, target in imports(modules()[name], inside=False)
        if layer(target) > layer(name)
    ]
    assert not wrong, "\n".join(wrong)


def test_imports_inside_functions_are_the_named_seams() -> None:
    wrong, used = [], set()
    for name, path in modules().items():
        if name.startswith(IMPORTS_LATE):
            continue
        for line, target in imports(path, inside=True):
            seam = seam_of(name, target)
            used.add(seam)
            if seam is None:
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {target}")
    assert not wrong, "\n".join(wrong)
    assert used == set(SEAMS), "a seam is no longer used"
    assert len(SEAMS) < 10


def test_there_are_no_import_cycles() -> None:
    graph = {
        name: {t for _, t in imports(path, inside=False) if t != name}
        for name, path in modules().items()
    }
    done: set[str] = set()

    def visit(name: str, trail: list[str]) -> list[str]:
        if name in trail:
            return [*trail[trail.index(name) :], name]
        if name in done:
            return []
        for target in sorted(graph.get(name, ())):
            # A package's own modules may be imported by its __init__ and import each other.
            if name.startswith(f"{target}."):
                continue
            found = visit(target, [*trail, name])
            if found:
                return found
        done.add(name)
        return []

    for name in sorted(graph):
        cycle = visit(name, [])
        assert not cycle, " → ".join(cycle)


def test_no_star_imports() -> None:
    wrong = [
        f"{path}:{node.lineno}"
        for path in modules().values()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ImportFrom) and any(a.name == "*" for a in node.names)
    ]
    assert not wrong, wrong


def test_runtime_loads_no_compiler() -> None:
    code = (
        "import sys, workbench.runtime;"
        "bad = [m for m in sys.modules if m.startswith('workbench.') and"
        " m.split('.')[1] not in ('core', 'runtime')];"
        "heavy = [m for m in ('llvmlite', 'onnx', 'tvm_ffi', 'anywidget', 'matplotlib', 'torch')"
        " if m in sys.modules];"
        "print(bad, heavy); sys.exit(bool(bad or heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_importing_the_package_loads_nothing_heavier_than_numpy() -> None:
    code = (
        "import sys, workbench;"
        "heavy = [m for m in ('llvmlite', 'onnx', 'tvm_ffi', 'anywidget', 'matplotlib', 'torch',"
        " 'graphviz', 'IPython', 'ml_dtypes') if m in sys.modules];"
        "print(heavy); sys.exit(bool(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


#: Modules that run something when executed.
_NOT_ALONE = ("workbench.cli.__main__", "workbench.models.digits.train")

_ALONE = """
import importlib, os, sys, traceback
import ast, dataclasses, hashlib, inspect, json, re, typing
import numpy
names = sys.argv[1:]
running, failed = {}, []
while names or running:
    while names and len(running) < 4:
        name = names.pop()
        pid = os.fork()
        if pid == 0:
            try:
                importlib.import_module(name)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        running[pid] = name
    pid, status = os.wait()
    name = running.pop(pid)
    if status:
        failed.append(name)
print(failed)
sys.exit(bool(failed))
"""


def test_every_module_can_be_imported_alone() -> None:
    """Each in a process of its own, forked before any module of the package is loaded."""
    names = [n for n in modules() if not n.startswith(_NOT_ALONE)]
    done = subprocess.run(
        [sys.executable, "-c", _ALONE, *names], capture_output=True, text=True, timeout=1200
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


def test_sizes_of_files_and_functions() -> None:
    wrong = []
    for path in modules().values():
        lines = path.read_text(encoding="utf-8").count("\n")
        if lines > 1000:
            wrong.append(f"{path.relative_to(ROOT)} has {lines} lines (at most 1,000)")
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > 80:
                    wrong.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {length}")
    assert not wrong, "\n".join(wrong)
