"""Modules made of Python functions: look-up, sources, timing. Compiled ones: tests/target."""

import subprocess
import sys
from pathlib import Path

import pytest
import tvm_ffi

from workbench import runtime
from workbench.runtime import threads
from workbench.runtime.function import FunctionNotFoundError
from workbench.runtime.module import ModuleError
from workbench.runtime.threads import ThreadCountError


def make(**functions: object) -> runtime.Module:
    table = {name: tvm_ffi.convert(f) for name, f in functions.items()}
    return runtime.Module(
        kind="python", lookup=table.get, names=tuple(table), sources={"py": lambda: "text"}
    )


def test_look_up() -> None:
    mod = make(main=lambda: 1, other=lambda x: x + 1)
    assert mod["main"]() == mod.main() == mod() == 1
    assert mod.other(2) == 3
    assert mod.implements_function("main")
    assert not mod.implements_function("mian")
    with pytest.raises(FunctionNotFoundError, match="did you mean 'main'"):
        mod["mian"]
    with pytest.raises(AttributeError):
        mod.mian
    outer = make(here=lambda: 0)
    outer.import_module(mod)
    assert outer.get_function("main", query_imports=True)() == 1
    with pytest.raises(FunctionNotFoundError):
        outer.get_function("main")


def test_sources() -> None:
    mod = make(main=lambda: 1)
    assert mod.inspect_source() == mod.inspect_source("py") == "text"
    with pytest.raises(ModuleError, match="formats: py"):
        mod.inspect_source("asm")
    with pytest.raises(ModuleError, match="no object code"):
        mod.export_library("x.so")


def test_time_evaluator_counts_its_calls() -> None:
    calls = []
    mod = make(main=lambda: calls.append(1))
    result = mod.time_evaluator("main", runtime.cpu(), number=3, repeat=4)()
    assert len(calls) == 1 + 12
    assert len(result.results) == 4
    assert result.min <= result.spread[0] <= result.median <= result.spread[1] <= result.max
    assert "median (ms)" in str(result)


def test_executable_stages() -> None:
    exe = runtime.Executable(
        make(main=lambda: 5), [runtime.Stage("tirx", "python", lambda: "for i", {1: (2,)})]
    )
    assert exe() == exe["main"]() == 5
    assert exe.stage("tirx").text == "for i"
    with pytest.raises(KeyError, match="stages: tirx"):
        exe.stage("asm")


def test_load_module_errors(tmp_path: Path) -> None:
    with pytest.raises(ModuleError, match="no such file"):
        runtime.load_module(tmp_path / "none.so")
    (tmp_path / "bad.so").write_text("not a library")
    with pytest.raises(ModuleError, match=r"bad\.so"):
        runtime.load_module(tmp_path / "bad.so")


def test_thread_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_chosen", None)
    monkeypatch.setenv("WORKBENCH_NUM_THREADS", "3")
    assert runtime.num_threads() == 3
    monkeypatch.setenv("WORKBENCH_NUM_THREADS", "many")
    with pytest.raises(ThreadCountError, match="'many'"):
        runtime.num_threads()
    monkeypatch.delenv("WORKBENCH_NUM_THREADS")
    assert runtime.num_threads() >= 1
    for bad in (0, -1, 1.5, True):
        with pytest.raises(ThreadCountError):
            runtime.set_num_threads(bad)  # type: ignore[arg-type]


def test_import_is_light() -> None:
    code = (
        "import sys, workbench.runtime\n"
        "heavy = {'tvm_ffi', 'llvmlite', 'onnx', 'ml_dtypes'} & set(sys.modules)\n"
        "layers = [m for m in sys.modules if m.startswith('workbench.')"
        " and m.split('.')[1] not in ('runtime', 'core')]\n"
        "print(heavy, layers)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set() []", done.stdout
