"""Helper processes that compile: same code, no process left behind, failures are made good here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from workbench.target import Target
from workbench.target.codegen import compile_pool
from workbench.target.codegen.compile import compile_ir
from workbench.target.codegen.compile_pool import CompilePool
from workbench.target.codegen.machine import CodegenError, machine_of

TARGET = Target({"kind": "llvm", "cache": False})


def text(number: int) -> str:
    return f"define i32 @f{number}(i32 %x) {{\n  %y = mul i32 %x, {number}\n  ret i32 %y\n}}\n"


def children() -> set[str]:
    return {
        pid
        for task in Path("/proc/self/task").iterdir()
        for pid in (task / "children").read_text().split()
    }


def compiled_by(pool: CompilePool, texts: list[str]) -> list[bytes]:
    return [c.obj for c in pool.finish([pool.add(t) for t in texts])]


def test_helpers_make_the_same_code_and_end():
    texts = [text(n) for n in range(1, 7)]
    expected = [compile_ir(t, machine_of(TARGET), 3, use_cache=False).obj for t in texts]
    before = children()
    pool = CompilePool(TARGET, 1)
    jobs = [pool.add(t) for t in texts]
    for job in jobs:  # nobody but the helper works
        while job.result is None and pool.threads[0].is_alive():
            pool.threads[0].join(0.01)
    assert all(job.result is not None for job in jobs)
    assert [c.obj for c in pool.finish(jobs)] == expected
    assert children() == before


def test_a_dead_helper_is_made_good(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(compile_pool, "_START", "raise SystemExit(3)")
    texts = [text(n) for n in range(1, 5)]
    expected = [compile_ir(t, machine_of(TARGET), 3, use_cache=False).obj for t in texts]
    assert compiled_by(CompilePool(TARGET, 2), texts) == expected


def test_refused_text_is_an_error_here():
    before = children()
    with pytest.raises(CodegenError, match="LLVM refuses"):
        compiled_by(CompilePool(TARGET, 1), [text(1), "define nonsense", text(2)])
    assert children() == before


def test_few_functions_start_no_process():
    assert compile_pool.helpers_for(compile_pool.MIN_FUNCTIONS - 1) == 0
    pool = CompilePool(TARGET, 0)
    assert compiled_by(pool, [text(1)])


def test_scripts_need_no_guard(tmp_path: Path):
    script = tmp_path / "script.py"
    script.write_text(
        "print('once')\n"
        "from workbench.target import Target\n"
        "from workbench.target.codegen.compile_pool import CompilePool\n"
        "pool = CompilePool(Target({'kind': 'llvm', 'cache': False}), 1)\n"
        "jobs = [pool.add('define void @f%d() {\\n  ret void\\n}\\n' % n) for n in range(4)]\n"
        "print(len(pool.finish(jobs)))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)
    assert done.stdout == "once\n4\n", done.stderr
