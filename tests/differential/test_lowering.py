"""Every pass of the lowering pipeline keeps the meaning of random programs."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from workbench import tirx
from workbench.ir import IRModule
from workbench.s_tir.pipeline import default_tir_pipeline
from workbench.testing.programs import Program, programs

EXAMPLES = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    derandomize=True,
)


def run(target, program: Program, seed: int):
    args = program.arguments(seed)
    tirx.interpret(target, *args)
    return args


def assert_same(got, want, where, program):
    for a, b, param in zip(got, want, program.func.params, strict=True):
        kind = "float64" if param.ty.dtype.is_float else a.dtype
        a, b = a.astype(kind), b.astype(kind)
        if program.exact or not param.ty.dtype.is_float:
            same = np.array_equal(a, b, equal_nan=param.ty.dtype.is_float)
        else:
            same = np.allclose(a, b, rtol=4e-6, atol=4e-6, equal_nan=True)
        assert same, f"{where}: {param.name}\n{a}\n{b}\n{program.func}"


def check_each_pass(program: Program, seed: int = 0) -> None:
    want = run(program.func, program, seed)
    mod = IRModule({"main": program.func})
    for item in default_tir_pipeline().passes:
        new = item(mod)
        if new is not mod:
            tirx.analysis.verify_well_formed(new)
            try:
                got = run(new, program, seed)
            except tirx.InterpretError as error:
                raise AssertionError(f"after {item}: {error}\n{new}\n{program.func}") from error
            assert_same(got, want, f"after {item}\n{new}", program)
        mod = new


@EXAMPLES
@given(programs(blocks=True))
def test_passes_keep_the_meaning_of_blocks(program):
    check_each_pass(program)


@EXAMPLES
@given(programs(blocks=False))
def test_passes_keep_the_meaning_of_loops(program):
    check_each_pass(program)


def test_a_wrong_pass_is_noticed():
    from workbench.core.traverse import rewrite
    from workbench.tirx import Add, Sub

    A = tirx.decl_buffer((4,), "float32", "A")
    B = tirx.decl_buffer((4,), "float32", "B")
    i = tirx.Var("i", "int32")
    body = tirx.For(i, 0, 4, 0, tirx.BufferStore(B, A[i] + tirx.const(1.0, "float32"), [i]))
    program = Program(tirx.PrimFunc([A, B], body))
    wrong = rewrite(program.func, {Add: lambda n: Sub(n.a, n.b)})
    want = run(program.func, program, 0)
    with pytest.raises(AssertionError):
        assert_same(run(wrong, program, 0), want, "wrong", program)
