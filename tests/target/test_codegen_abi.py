"""Entries: checks of arguments, symbolic sizes, export, caching, line maps, fork and exit."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import tvm_ffi

from tests.target.programs import compile_func, flat
from workbench import runtime
from workbench.ir import Call, GlobalVar, IRModule
from workbench.runtime.linker import LinkError
from workbench.runtime.tensor import TensorError
from workbench.target import Target
from workbench.target.codegen import build, kernels_of, object_cache
from workbench.target.codegen.compile import optimise
from workbench.target.codegen.data import data_objects
from workbench.target.codegen.machine import CodegenError, machine_of
from workbench.target.codegen.writes import written_params
from workbench.tirx import (
    Add,
    BufferLoad,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    Mul,
    PrimFunc,
    SeqStmt,
    Var,
    decl_buffer,
)


def add_one(n: Var | int = 32, kind: ForKind = ForKind.SERIAL, name: str = "main") -> PrimFunc:
    a, b, i = flat("A", n), flat("B", n), Var("i", "int32")
    loop = For(i, 0, n, kind, BufferStore(b, BufferLoad(a, [i]) + 1.0, [i]))
    return PrimFunc([a, b], loop, attrs={"global_symbol": name, "tirx.noalias": True})


def matrix_func() -> PrimFunc:
    n = Var("n", "int32")
    a = decl_buffer((n, 4), "float32", "A")
    b = decl_buffer((n * 2, 4), "float32", "B")
    c = decl_buffer((n, 4), "float32", "C")
    flat_a, flat_c, i = flat("FA", n * 4), flat("FC", n * 4), Var("i", "int32")
    body = SeqStmt(
        [
            DeclBuffer(flat_a, a.data),
            DeclBuffer(flat_c, c.data),
            For(
                i, 0, n * 4, ForKind.SERIAL, BufferStore(flat_c, BufferLoad(flat_a, [i]) * 2.0, [i])
            ),
        ]
    )
    return PrimFunc([a, b, c], body, attrs={"global_symbol": "f", "tirx.noalias": True})


F = "float32"
X, Y = np.ones((3, 4), F), np.zeros((3, 4), F)


@pytest.mark.parametrize(
    ("args", "kind", "words"),
    [
        ((X,), TypeError, "f: expected 3 arguments (A: float32[n, 4], B: float32[n * 2, 4]"),
        (
            (X.astype("float64"), X, Y),
            TypeError,
            "argument 0 (A): expected float32[n, 4], got float64[3, 4]",
        ),
        (
            (X, np.ones((6, 4), "int8"), Y),
            TypeError,
            "(B): expected float32[n * 2, 4], got int8[6, 4]",
        ),
        ((X[0], X, Y), ValueError, "argument 0 (A): expected float32[n, 4], got float32[4]"),
        ((np.ones((3, 5), F), X, Y), ValueError, "(A): expected float32[n, 4], got float32[3, 5]"),
        (
            (X, np.ones((5, 4), F), Y),
            ValueError,
            "with n * 2 = 6 from the arguments before, got float32[5, 4]",
        ),
        (
            (X, np.ones((6, 4), F), Y[:2]),
            ValueError,
            "argument 2 (C): expected float32[n, 4] with n = 3",
        ),
        ((X, np.ones((6, 4), F), np.zeros((4, 3), F).T), ValueError, "compact strides"),
        (
            (X, np.ones((6, 4), F), None),
            TypeError,
            "argument 2 (C): expected float32[n, 4], got None",
        ),
        ((X, np.ones((6, 4), F), 3), TypeError, "got the int 3"),
        ((X, np.ones((6, 4), F), 2.5), TypeError, "got the float 2.5"),
        ((X, np.ones((6, 4), F), "text"), TypeError, "got a str"),
        ((X, np.ones((6, 4), F), True), TypeError, "got a bool"),
        ((X, np.ones((6, 4), F), [1, 2]), TypeError, "got a list or tuple"),
        ((X, np.ones((6, 4), bool), Y), TypeError, "got bool[6, 4]"),
    ],
)
def test_argument_errors(args: tuple[object, ...], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind) as caught:
        MATRIX["f"](*args)
    assert words in str(caught.value)


MATRIX = build(IRModule({"f": matrix_func()}), Target({"kind": "llvm", "cache": False}))


def test_symbolic_sizes_come_from_the_arguments() -> None:
    for n in (1, 3, 10, 0):
        out = np.zeros((n, 4), F)
        MATRIX["f"](np.full((n, 4), 3, F), np.zeros((2 * n, 4), F), out)
        assert (out == 6).all()


def test_a_size_that_cannot_be_read_is_an_error() -> None:
    n = Var("n", "int32")
    buffer = flat("A", n * 2)
    with pytest.raises(CodegenError, match="'n' cannot be read from the arguments"):
        compile_func([buffer], For(Var("i", "int32"), 0, n, ForKind.SERIAL, SeqStmt([])))


def test_a_size_that_is_a_parameter() -> None:
    n = Var("n", "int32")
    a, i = flat("A", n), Var("i", "int32")
    body = For(i, 0, n, ForKind.SERIAL, BufferStore(a, BufferLoad(a, [i]) + 1.0, [i]))
    f = compile_func([a, n], body)["main"]
    x = np.zeros(5, F)
    f(x, 5)
    assert (x == 1).all()
    with pytest.raises(ValueError, match="with n = 4 from the arguments before, got float32"):
        f(x, 4)


def test_own_strides_and_offset() -> None:
    s, start = Var("s", "int32"), Var("start", "int32")
    a = decl_buffer((8,), F, "A", strides=[s], elem_offset=start)
    b, i = flat("B", 8), Var("i", "int32")
    plain = flat("P", 64)
    body = SeqStmt(
        [
            DeclBuffer(plain, a.data),
            For(
                i,
                0,
                8,
                ForKind.SERIAL,
                BufferStore(b, BufferLoad(plain, [Add(start, Mul(i, s))]), [i]),
            ),
        ]
    )
    f = compile_func([a, b], body)["main"]
    data, out = np.arange(64, dtype=F), np.zeros(8, F)
    f(data[:16:2], out)
    assert (out == data[:16:2]).all()
    f(data[8:16], out)
    assert (out == data[8:16]).all()


def test_unaligned_and_offset_data() -> None:
    f = build(IRModule({"main": add_one(4)}), Target("llvm"))["main"]
    raw = np.zeros(64, "uint8")
    shifted = raw[1:17].view(F)
    with pytest.raises(ValueError, match=r"\(A\): expected float32\[4\] aligned"):
        f(shifted, np.zeros(4, F))
    part = np.arange(9, dtype=F)[5:]
    out = np.zeros(4, F)
    f(part, out)
    assert (out == part + 1).all()


def test_tensors_of_all_libraries() -> None:
    f = build(IRModule({"main": add_one(4)}), Target("llvm"))["main"]
    x = runtime.tensor(np.arange(4, dtype=F))
    out = runtime.empty((4,), F)
    f(x, out)
    assert (out.numpy() == np.arange(4) + 1).all()
    f(tvm_ffi.from_dlpack(x), out)
    assert (out.numpy() == np.arange(4) + 1).all()


@pytest.mark.parametrize("kind", [ForKind.SERIAL, ForKind.PARALLEL])
def test_export_and_load(tmp_path: Path, kind: ForKind) -> None:
    mod = build(IRModule({"main": add_one(kind=kind), "g": add_one(8, name="g")}), Target("llvm"))
    path = mod.export_library(tmp_path / "lib.so")
    x, out = np.arange(32, dtype=F), np.zeros(32, F)
    loaded = runtime.load_module(path)
    loaded["main"](x, out)
    assert (out == x + 1).all()
    loaded.g(x[:8], out[:8])
    with pytest.raises(TypeError, match=r"argument 1 \(B\): expected float32\[32\], got int8"):
        loaded["main"](x, np.zeros(32, "int8"))
    with pytest.raises(AttributeError, match="no function 'nope'"):
        loaded["nope"]
    # Any tvm-ffi host loads it.
    out[:] = 0
    tvm_ffi.load_module(str(path)).main(x, out)
    assert (out == x + 1).all()
    mod.export_library(tmp_path / "lib.o")
    assert (tmp_path / "lib.o").read_bytes()[:4] == b"\x7fELF"


def test_a_loaded_library_needs_no_compiler(tmp_path: Path) -> None:
    mod = build(IRModule({"main": add_one(kind=ForKind.PARALLEL)}), Target("llvm"))
    path = mod.export_library(tmp_path / "lib.so")
    code = f"""
        import sys
        import numpy as np
        from workbench import runtime
        runtime.set_num_threads(3)
        x, out = np.arange(32, dtype="float32"), np.zeros(32, "float32")
        mod = runtime.load_module({str(path)!r})
        for _ in range(50):
            mod["main"](x, out)
        assert (out == x + 1).all()
        assert "llvmlite" not in sys.modules and "workbench.tirx" not in sys.modules
        print("ran")
    """
    assert _run(code) == "ran"


def test_export_errors(tmp_path: Path) -> None:
    mod = build(IRModule({"main": add_one()}), Target("llvm"))
    with pytest.raises(LinkError, match=r"cannot link lib\.so"):
        mod.export_library(tmp_path / "lib.so", addons=[str(tmp_path / "missing.o")])
    seen = []
    mod.export_library(
        tmp_path / "x.so", fcompile=lambda out, files, **kw: seen.append((out, len(files), kw)), k=1
    )
    assert seen[0][0].endswith("x.so")
    assert seen[0][2] == {"k": 1}


def test_embedded_data(tmp_path: Path) -> None:
    mod = build(IRModule({"main": add_one()}), Target("llvm"))
    data = bytes(range(256)) * 1000
    mod.objects = (*mod.objects, *data_objects("weights", data, Target("llvm")))
    loaded = runtime.load_module(mod.export_library(tmp_path / "lib.so"))
    view = loaded.embedded("weights")
    del loaded
    assert bytes(view) == data


def test_other_machines_compile_but_do_not_run() -> None:
    target = Target({"kind": "llvm", "mtriple": "aarch64-linux-gnu", "mcpu": "cortex-a76"})
    mod = build(IRModule({"main": add_one()}), target)
    assert "fadd" in mod.inspect_source("asm")
    assert mod.objects[0][18] == 183  # the machine number of AArch64 in an ELF file
    with pytest.raises(CodegenError, match="aarch64"):
        mod["main"]
    assert machine_of(target).vector_bits == 128
    with pytest.raises(CodegenError, match="no machine"):
        build(IRModule({"main": add_one()}), Target({"kind": "llvm", "mtriple": "zzz-none"}))


def test_raw_entries() -> None:
    import ctypes

    mod = build(IRModule({"f": matrix_func()}), Target("llvm"))
    kernel = kernels_of(mod).by_name["f"]
    assert [p.name for p in kernel.signature.params] == ["A", "B", "C"]
    assert [p.name for p in kernel.signature.implicit] == ["n"]
    pointer = ctypes.c_void_p
    f = ctypes.CFUNCTYPE(ctypes.c_int32, pointer, pointer, pointer, ctypes.c_int32)(kernel.address)
    x, out = np.full((2, 4), 3, F), np.zeros((2, 4), F)
    assert f(x.ctypes.data, 0, out.ctypes.data, 2) == 0
    assert (out == 6).all()


def test_stages_and_line_maps() -> None:
    func = add_one()
    body = func.body
    assert isinstance(body, For)
    lines = {id(body): 10, id(body.body): 11}
    mod = build(IRModule({"main": func}), Target("llvm"), lambda name, f: lines)
    stages = kernels_of(mod).stages()
    assert [s.name for s in stages] == ["llvm-ir", "llvm-ir-optimised", "asm"]
    asm, found = stages[-1].text.splitlines(), stages[-1].line_map
    adds = [n for n, text in enumerate(asm, 1) if "addps" in text or "addss" in text]
    assert adds
    assert all(found[n] == (11,) for n in adds)
    assert "!DILocation(line: 11" in stages[0].text
    assert "define" in mod.inspect_source("ll-optimised")
    plain = build(IRModule({"main": func}), Target({"kind": "llvm", "debug-info": False}))
    assert "DILocation" not in plain.inspect_source("ll")


def test_full_vector_width_is_used() -> None:
    mod = build(IRModule({"main": add_one(1024)}), Target("llvm -mcpu=x86-64-v4"))
    assert "zmm" in mod.inspect_source("asm")
    narrow = build(IRModule({"main": add_one(1024)}), Target("llvm -mcpu=x86-64-v3"))
    assert "ymm" in narrow.inspect_source("asm")


def test_object_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path))
    text = "define i32 @f(i32 %x) {\n %y = mul i32 %x, 77\n ret i32 %y\n}\n"
    first, second = optimise(text, Target("llvm")), optimise(text, Target("llvm"))
    assert not first.from_cache
    assert second.from_cache
    assert first.obj == second.obj
    other = optimise(text, Target("llvm -mcpu=x86-64"))
    assert not other.from_cache
    for entry in (tmp_path / "objects").glob("*/*.o"):
        entry.write_bytes(entry.read_bytes()[:-5])
    damaged = optimise(text, Target("llvm"))
    assert not damaged.from_cache
    assert damaged.obj == first.obj
    assert not optimise(text, Target("llvm -cache=false")).from_cache
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", "/proc/nowhere")
    assert optimise(text, Target("llvm")).obj == first.obj
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(object_cache, "LIMIT_BYTES", 0)
    monkeypatch.setattr(object_cache, "_pruned", set())
    optimise(text + "; changed\n", Target("llvm"))
    assert not list((tmp_path / "objects").glob("*/*.o"))


def test_invalid_ir_is_told() -> None:
    with pytest.raises(CodegenError, match="LLVM refuses"):
        optimise("define i32 @f() { ret i64 0 }", Target("llvm"))


def test_threads_fork_and_exit() -> None:
    """Calls from several threads, after a fork, and an exit right after a launch."""
    code = """
        import os, threading
        import numpy as np
        from tests.target.test_codegen_abi import add_one
        from workbench import runtime
        from workbench.ir import Call, GlobalVar, IRModule
        from workbench.target import Target
        from workbench.target.codegen import build
        from workbench.tirx import ForKind
        runtime.set_num_threads(4)
        f = build(IRModule({"main": add_one(kind=ForKind.PARALLEL)}), Target("llvm"))["main"]
        def work():
            x, out = np.arange(32, dtype="float32"), np.zeros(32, "float32")
            for _ in range(300):
                f(x, out)
            assert (out == x + 1).all()
        workers = [threading.Thread(target=work) for _ in range(4)]
        for w in workers: w.start()
        for w in workers: w.join()
        child = os.fork()
        if child == 0:
            work()
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        for n in (1, 3, 2):
            runtime.set_num_threads(n)
            work()
        print("ran")
    """
    for _ in range(3):
        assert _run(code) == "ran"


def _run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"mcpu": "znver44"}, "processor 'znver44'"),
        ({"mcpu": "znver4", "mattr": ["+avx9"]}, r"feature '\+avx9'"),
    ],
)
def test_unknown_processors_are_told(
    config: dict[str, object], words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CodegenError, match=words):
        build(IRModule({"main": add_one()}), Target({"kind": "llvm", **config}))
    assert "recognized" not in capfd.readouterr().err


def test_read_only_arrays_are_refused_where_they_are_written(tmp_path: Path) -> None:
    mod = build(IRModule({"main": add_one()}), Target("llvm"))
    a, out = np.arange(32, dtype="float32"), np.zeros(32, "float32")
    a.flags.writeable = False
    mod["main"](a, out)  # what is only read may be read-only
    np.testing.assert_array_equal(out, a + 1)
    out.flags.writeable = False
    before = out.copy()
    message = r"main: argument 1 \(B\) is written, but the given array is read-only"
    for given in (out, runtime.from_dlpack(out)):
        with pytest.raises(TensorError, match=message):
            mod["main"](a + 1, given)
    loaded = runtime.load_module(mod.export_library(tmp_path / "lib.so"))
    with pytest.raises(TensorError, match="main: argument 1 is written, but"):
        loaded["main"](a + 1, out)
    np.testing.assert_array_equal(out, before)
    again = np.zeros(32, "float32")
    loaded["main"](a, again)
    np.testing.assert_array_equal(again, a + 1)


def test_writes_through_views_and_callees_are_known() -> None:
    b, view, handle = flat("B", 4), flat("view", 4), Var("p", "handle")
    inner = PrimFunc([handle, b], SeqStmt([DeclBuffer(view, handle), BufferStore(view, 1.0, [0])]))
    a, c, g = flat("A", 4), flat("C", 4), GlobalVar("inner")
    outer = PrimFunc([c, a, b], Evaluate(Call(g, [a, c])))
    assert written_params(inner, {}) == (0,)
    assert written_params(outer, {"inner": inner}) == (1,)
