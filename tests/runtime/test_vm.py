"""The virtual machine: programs by hand, compiled programs, errors, recordings, export."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench.runtime as rt
from workbench import relax
from workbench.relax import op
from workbench.runtime.vm import (
    ArgumentError,
    ExecBuilder,
    Opcode,
    Program,
    VirtualMachine,
    VMError,
    VMExecutable,
    load_executable,
)
from workbench.runtime.vm.shapes import formula
from workbench.tirx import Var

RNG = np.random.default_rng(0)
W = RNG.standard_normal((8, 4)).astype("float32")


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def expected(x: np.ndarray, b: np.ndarray) -> np.ndarray:
    return softmax(np.maximum(x @ W + b, 0))


@pytest.fixture(scope="module")
def exe() -> VMExecutable:
    """softmax(relu(x @ W + b)) for x of n rows."""
    n = Var("n", "int64")
    x = relax.Var("x", relax.TensorType([n, 8], "float32"))
    b = relax.Var("b", relax.TensorType([4], "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, b]):
        with bb.dataflow():
            y = bb.emit(op.nn.relu(bb.emit(op.add(bb.emit(op.matmul(x, relax.const(W))), b))))
            out = bb.emit_output(op.nn.softmax(y))
        bb.emit_func_output(out)
    return relax.build(bb.get(), "llvm")


def inputs(rows: int) -> tuple[np.ndarray, np.ndarray]:
    return RNG.standard_normal((rows, 8)).astype("float32"), RNG.random(4, "float32")


def by_hand(fill: Any, num_inputs: int = 1) -> VirtualMachine:
    """A machine for a program whose `main` is written by `fill(builder)`."""
    ib = ExecBuilder()
    with ib.function("main", num_inputs=num_inputs):
        fill(ib)
    module = rt.Module(kind="none", lookup=lambda name: None)
    return VirtualMachine(VMExecutable(module, ib.get(), lambda symbol: 0))


@pytest.mark.parametrize("replay", [True, False])
def test_results_for_changing_shapes(exe: VMExecutable, replay: bool) -> None:
    vm = VirtualMachine(exe, rt.cpu())
    vm.replay = replay
    for rows in (1, 5, 1, 3, 5, 5):
        x, b = inputs(rows)
        np.testing.assert_allclose(vm["main"](x, b).numpy(), expected(x, b), rtol=1e-5, atol=1e-6)


def test_results_are_independent_of_later_calls(exe: VMExecutable) -> None:
    vm = VirtualMachine(exe)
    pairs = [inputs(3) for _ in range(4)]
    results = [vm["main"](x, b) for x, b in pairs]
    views = [np.from_dlpack(vm["main"](x, b)) for x, b in pairs]
    for (x, b), result, view in zip(pairs, results, views, strict=True):
        np.testing.assert_allclose(result.numpy(), expected(x, b), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(view, expected(x, b), rtol=1e-5, atol=1e-6)


def test_arguments_of_many_kinds(exe: VMExecutable) -> None:
    vm = VirtualMachine(exe)
    x, b = inputs(4)
    want = expected(x, b)
    wide = np.zeros((4, 16), "float32")
    wide[:, ::2] = x
    for given in (x, rt.tensor(x), wide[:, ::2], np.asfortranarray(x)):
        np.testing.assert_allclose(vm["main"](given, b).numpy(), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (1, r"main: expected 2 arguments \(x, b\), got 1"),
        (3, r"main: expected 2 arguments \(x, b\), got 3"),
        ("dtype", r"main: argument 0 \(x\): expected float32\[n, 8\], got float64\[4, 8\]"),
        ("rank", r"main: argument 0 \(x\): expected float32\[n, 8\], got float32\[32\]"),
        ("size", r"argument 0 \(x\): expected float32\[n, 8\], got float32\[4, 7\]: dimension 1"),
        ("second", r"main: argument 1 \(b\): expected float32\[4\], got float32\[3\]"),
        ("kind", r"main: argument 0 \(x\): expected float32\[n, 8\], got 'text'"),
    ],
)
def test_wrong_arguments_are_named(exe: VMExecutable, args: Any, message: str) -> None:
    x, b = inputs(4)
    given: dict[Any, tuple[Any, ...]] = {
        1: (x,),
        3: (x, b, b),
        "dtype": (x.astype("float64"), b),
        "rank": (x.reshape(32), b),
        "size": (x[:, :7], b),
        "second": (x, b[:3]),
        "kind": ("text", b),
    }
    vm = VirtualMachine(exe)
    vm["main"](x, b)  # also when a recording exists
    with pytest.raises(ArgumentError, match=message):
        vm["main"](*given[args])


def test_arguments_of_any_memory_layout(exe: VMExecutable) -> None:
    x, b = inputs(3)
    packed = np.zeros(3, dtype=[("tag", "u1"), ("row", "f4", 8)])  # rows 33 bytes apart
    packed["row"] = x
    main = VirtualMachine(exe)["main"]
    for same in (x.astype(">f4"), np.asfortranarray(x), packed["row"], x[::-1][::-1]):
        np.testing.assert_allclose(main(same, b).numpy(), expected(x, b), rtol=1e-5)
    np.testing.assert_allclose(main(x, b.astype(">f4")).numpy(), expected(x, b), rtol=1e-5)


def test_arguments_by_name(exe: VMExecutable) -> None:
    x, b = inputs(2)
    main = VirtualMachine(exe)["main"]
    for result in (main(x, b=b), main(b=b, x=x)):
        np.testing.assert_allclose(result.numpy(), expected(x, b), rtol=1e-5)
    with pytest.raises(ArgumentError, match=r"no parameter 'c'"):
        main(x, c=b)
    with pytest.raises(ArgumentError, match=r"'x' was given twice"):
        main(x, x=b)
    with pytest.raises(ArgumentError, match=r"expected 2 arguments \(x, b\), got 1; missing: b"):
        main(x=x)


def test_threads_may_share_a_machine(exe: VMExecutable) -> None:
    vm = VirtualMachine(exe)
    wrong: list[int] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(50):
            x = rng.standard_normal((int(rng.integers(1, 200)), 8)).astype("float32")
            b = rng.random(4, "float32")
            if not np.allclose(vm["main"](x, b).numpy(), expected(x, b), atol=1e-5):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_size_given_twice_must_agree() -> None:
    n = Var("n", "int64")
    x, y = (relax.Var(k, relax.TensorType([n], "float32")) for k in "xy")
    bb = relax.BlockBuilder()
    with bb.function("main", [x, y]):
        bb.emit_func_output(bb.emit(op.add(x, y)))
    vm = VirtualMachine(relax.build(bb.get(), "llvm"))
    a = np.ones(3, "float32")
    np.testing.assert_array_equal(vm["main"](a, a).numpy(), a + a)
    with pytest.raises(ArgumentError, match=r"argument 1 \(y\).*dimension 0 should be 3"):
        vm["main"](a, np.ones(4, "float32"))


def test_unknown_function_and_wrong_module(exe: VMExecutable) -> None:
    vm = VirtualMachine(exe)
    with pytest.raises(VMError, match="no function 'mein'"):
        vm["mein"]
    with pytest.raises(VMError, match="holds no program"):
        VirtualMachine(rt.Module(kind="none", lookup=lambda name: None))


def test_devices_are_checked(exe: VMExecutable) -> None:
    with pytest.raises(VMError, match="expected a device, got str 'gpu'"):
        VirtualMachine(exe, "gpu")  # type: ignore[arg-type]
    with pytest.raises(VMError, match="runs on the CPU, got cuda:0"):
        VirtualMachine(exe, rt.cuda())


def test_stateful_interface(exe: VMExecutable) -> None:
    vm = VirtualMachine(exe)
    x, b = inputs(2)
    with pytest.raises(VMError, match="call set_input first"):
        vm.invoke_stateful("main")
    vm.set_input("main", x, b=b)
    vm.invoke_stateful("main")
    np.testing.assert_allclose(vm.get_outputs("main").numpy(), expected(x, b), rtol=1e-5)
    with pytest.raises(ArgumentError, match="no parameter 'c'"):
        vm.set_input("main", x, c=b)


@pytest.mark.parametrize("replay", [True, False])
def test_profile_names_kernels_and_operators(exe: VMExecutable, replay: bool) -> None:
    vm = VirtualMachine(exe)
    vm.replay = replay
    x, b = inputs(2)
    vm["main"](x, b)
    rows = vm.profile("main", x, b)
    assert [r.name for r in rows] == ["fused_matmul_add_relu", "softmax"]
    assert rows[0].origins == ("matmul", "add", "nn.relu")
    assert all(r.seconds > 0 for r in rows)


def test_time_evaluator(exe: VMExecutable) -> None:
    x, b = inputs(2)
    result = exe.time_evaluator("main", number=2, repeat=3)(x, b)
    assert len(result.results) == 3


def test_text_python_and_stats(exe: VMExecutable) -> None:
    text = exe.as_text()
    assert "@main(%0: x, %1: b)" in text
    assert "call  fused_matmul_add_relu(%0, c" in text
    scope: dict[str, Any] = {}
    exec(exe.as_python(), scope)
    rebuilt = scope["ib"].get()
    assert rebuilt.functions["main"].code == exe.program.functions["main"].code
    assert "kernels 2" in exe.stats()


def test_stages_are_kept(exe: VMExecutable) -> None:
    names = [s.name for s in exe.stages]
    assert names[:2] == ["relax", "relax-lowered"]
    assert names[-1] == "vm"
    assert {"tirx", "llvm-ir", "asm"} <= set(names)


def test_programs_survive_bytes(exe: VMExecutable) -> None:
    data = exe.program.to_bytes()
    again = Program.from_bytes(data)
    assert again.functions == exe.program.functions
    assert again.kernels == exe.program.kernels
    for a, b in zip(again.constants, exe.program.constants, strict=True):
        assert (a == b) if not hasattr(a, "numpy") else np.array_equal(a.numpy(), b.numpy())
    with pytest.raises(VMError, match="no program"):
        Program.from_bytes(b"something else entirely")
    with pytest.raises(VMError, match="truncated"):
        Program.from_bytes(data[:40])
    with pytest.raises(VMError, match="truncated"):
        Program.from_bytes(data[:-64])


def test_exported_library_runs_without_a_compiler(exe: VMExecutable, tmp_path: Path) -> None:
    path = exe.export_library(tmp_path / "model.so")
    x, b = inputs(3)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "b.npy", b)
    script = f"""
        import sys
        import numpy as np
        from workbench.runtime import load_module
        from workbench.runtime.vm import VirtualMachine
        vm = VirtualMachine(load_module({str(path)!r}))
        x, b = np.load({str(tmp_path / "x.npy")!r}), np.load({str(tmp_path / "b.npy")!r})
        np.save({str(tmp_path / "y.npy")!r}, vm["main"](x, b).numpy())
        layers = {{m.split(".")[1] for m in sys.modules if m.startswith("workbench.")}}
        assert layers <= {{"core", "runtime"}}, layers
        assert "llvmlite" not in sys.modules
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), expected(x, b), rtol=1e-5, atol=1e-6)
    again = load_executable(path)
    np.testing.assert_allclose(again["main"](x, b).numpy(), expected(x, b), rtol=1e-5, atol=1e-6)


def test_program_by_hand() -> None:
    def fill(ib: ExecBuilder) -> None:
        ib.emit_call("vm.builtin.shape_of", args=[ib.r(0)], dst=ib.r(1))
        ib.emit_call("vm.builtin.make_tuple", args=[ib.r(1), 7], dst=ib.r(2))
        ib.emit_ret(ib.r(2))

    assert by_hand(fill)["main"](np.zeros((2, 3))) == ((2, 3), 7)


def test_control_flow_by_hand() -> None:
    def fill(ib: ExecBuilder) -> None:
        ib.emit_if(ib.r(0), 3)
        ib.emit_call("vm.builtin.copy", args=["yes"], dst=ib.r(1))
        ib.emit_goto(2)
        ib.emit_call("vm.builtin.copy", args=["no"], dst=ib.r(1))
        ib.emit_ret(ib.r(1))

    vm = by_hand(fill)
    assert vm["main"](np.array(True)) == "yes"
    assert vm["main"](np.array(False)) == "no"


def test_ill_formed_programs() -> None:
    ib = ExecBuilder()
    with pytest.raises(VMError, match="outside a function"):
        ib.emit_ret(ib.r(0))
    with pytest.raises(VMError, match="does not end with ret"), ib.function("f"):
        ib.emit_call("vm.builtin.null_value")
    with pytest.raises(VMError, match="jumps out"), ib.function("g"):
        ib.emit_goto(5)
    with ib.function("h", 1):
        ib.emit_ret(ib.r(0))
    with pytest.raises(VMError, match="already"), ib.function("h", 1):
        ib.emit_ret(ib.r(0))
    assert ib.get().functions["h"].code[0].op is Opcode.RET


def test_formulas_of_sizes() -> None:
    assert formula("((s0 * 4) + s1) // 2")([3, 5]) == 8
    assert formula("max(s0 - 2, 0) % 7")([20]) == 4
    for bad in ("__import__('os')", "s0 ** 2", "s0.real", "1.5", "[s0]", "s0 +"):
        with pytest.raises(VMError):
            formula(bad)


def test_packed_functions_are_called() -> None:
    rt.register_global_func("test.vm.double", lambda t: rt.tensor(t.numpy() * 2), override=True)

    def fill(ib: ExecBuilder) -> None:
        ib.emit_call("test.vm.double", args=[ib.r(0)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))

    got = by_hand(fill)["main"](np.arange(3, dtype="float32"))
    np.testing.assert_array_equal(got.numpy(), [0, 2, 4])


def _module_with_if() -> Any:
    c = relax.Var("c", relax.TensorType((), "bool"))
    x = relax.Var("x", relax.TensorType((4,), "float32"))
    yes = relax.Var("yes", x.ty)
    no = relax.Var("no", x.ty)
    branch = relax.If(
        c,
        relax.SeqExpr([relax.BindingBlock([relax.VarBinding(yes, op.exp(x))])], yes),
        relax.SeqExpr([relax.BindingBlock([relax.VarBinding(no, op.negative(x))])], no),
        ty=x.ty,
    )
    r = relax.Var("r", x.ty)
    body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(r, branch)])], r)
    from workbench.ir import IRModule

    return IRModule({"main": relax.Function([c, x], body, attrs={"global_symbol": "main"})})


def test_branches_run() -> None:
    vm = VirtualMachine(relax.build(_module_with_if(), "llvm"))
    x = RNG.standard_normal(4).astype("float32")
    for _ in range(2):
        np.testing.assert_allclose(vm["main"](np.array(True), x).numpy(), np.exp(x), rtol=1e-5)
        np.testing.assert_array_equal(vm["main"](np.array(False), x).numpy(), -x)


def test_functions_call_functions_and_return_tuples() -> None:
    x = relax.Var("x", relax.TensorType((4,), "float32"))
    z = relax.Var("z", relax.TensorType((4,), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("inner", [z]):
        inner = bb.emit_func_output(bb.emit(op.exp(z)))
    with bb.function("main", [x]):
        call = relax.Call(inner, [x], ret_ty=x.ty)
        y = bb.emit(call)
        v = bb.emit(op.reshape(x, (2, 2)))
        bb.emit_func_output(relax.Tuple([y, v, x]))
    vm = VirtualMachine(relax.build(bb.get(), "llvm"))
    data = RNG.random(4, "float32")
    for _ in range(2):
        a, b, c = vm["main"](data)
        np.testing.assert_allclose(a.numpy(), np.exp(data), rtol=1e-5)
        np.testing.assert_array_equal(b.numpy(), data.reshape(2, 2))
        np.testing.assert_array_equal(c.numpy(), data)


def test_match_cast_and_value_dependent_shapes() -> None:
    n = Var("n", "int64")
    s = relax.Var("s", relax.TensorType((1,), "int64"))
    x = relax.Var("x", relax.TensorType(dtype="float32", ndim=1))
    bb = relax.BlockBuilder()
    with bb.function("main", [s, x]):
        y = bb.match_cast(x, relax.TensorType([n], "float32"))
        bb.emit_func_output(bb.emit(op.exp(y)))
    vm = VirtualMachine(relax.build(bb.get(), "llvm"))
    for rows in (2, 5):
        data = RNG.random(rows, "float32")
        got = vm["main"](np.array([rows]), data).numpy()
        np.testing.assert_allclose(got, np.exp(data), rtol=1e-5)


def test_operators_that_were_not_lowered_are_named() -> None:
    x = relax.Var("x", relax.TensorType(dtype="float32", ndim=2))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(op.exp(x)))
    from workbench.core.errors import WorkbenchError

    with pytest.raises(WorkbenchError, match=r"relax\.exp was not lowered.*needs the shape"):
        relax.build(bb.get(), "llvm")


def test_memory_is_reused_between_calls(exe: VMExecutable) -> None:
    """Results that nobody holds any more give their memory to the next call."""
    vm = VirtualMachine(exe)
    x, b = inputs(3)
    vm["main"](x, b)
    first = vm["main"](x, b).data_ptr()
    second = vm["main"](x, b).data_ptr()
    held = vm["main"](x, b)
    third = vm["main"](x, b).data_ptr()
    assert first == second
    assert third != held.data_ptr()


def _doubling() -> Any:
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            out = builder.emit_output(op.add(x, x))
        builder.emit_func_output(out)
    return relax.VirtualMachine(relax.build(builder.get(), "llvm"), rt.cpu())


def test_save_function() -> None:
    vm = _doubling()
    vm.save_function("main", "saved", rt.tensor(np.ones((2, 3), "float32")))
    assert vm["saved"]().numpy().tolist() == [[2.0] * 3] * 2
    vm.save_function("main", "quiet", x=rt.tensor(np.ones((2, 3), "float32")), include_return=False)
    assert vm["quiet"]() is None
    with pytest.raises(VMError, match="'main' already"):
        vm.save_function("main", "main", rt.tensor(np.ones((2, 3), "float32")))
    with pytest.raises(ArgumentError, match="expected 1 arguments"):
        vm.save_function("main", "other")


def test_set_instrument() -> None:
    vm = _doubling()
    seen: list[Any] = []
    run = vm["main"]
    ones = rt.tensor(np.ones((2, 3), "float32"))
    run(ones)

    def look(func: str, name: str, before: bool, result: Any, *args: Any) -> None:
        if name == "add":
            seen.append((before, [tuple(a.shape) for a in args]))

    vm.set_instrument(look)
    assert run(ones).numpy().tolist() == [[2.0] * 3] * 2
    assert seen == [(True, [(2, 3), (2, 3)]), (False, [(2, 3), (2, 3)])]
    vm.set_instrument(lambda func, name, before, result, *args: int(name == "add"))
    run(ones)  # 1 is SKIP_RUN: the kernel does not run
    vm.set_instrument(None)
    assert run(ones).numpy().tolist() == [[2.0] * 3] * 2
    assert len(seen) == 2
