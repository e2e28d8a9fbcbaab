"""Compiled code computes what the interpreter computes, for random programs.

WORKBENCH_EXAMPLES sets the number of examples a test (a run with 2,000 and more in all is made
before releases); then they are new ones each time.
"""

import os

from hypothesis import HealthCheck, given, settings

from tests.differential.test_lowering import assert_same, run
from workbench.ir import IRModule
from workbench.runtime import tensor
from workbench.s_tir.pipeline import default_tir_pipeline
from workbench.target import Target
from workbench.target.codegen import build
from workbench.testing.programs import Program, programs

#: Without contraction of a * b + c every operation is rounded as NumPy does.
EXACT = Target({"kind": "llvm", "fast-math-contract": False})
EXAMPLES = settings(
    max_examples=int(os.environ.get("WORKBENCH_EXAMPLES", "20")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    derandomize="WORKBENCH_EXAMPLES" not in os.environ,
    database=None,
)


def compiled_results(program: Program, seed: int):
    """The arguments after a run of the compiled program."""
    mod = default_tir_pipeline(EXACT)(IRModule({"main": program.func}))
    library = build(mod, EXACT)
    args = program.arguments(seed)
    tensors = [tensor(a) for a in args]
    library["main"](*tensors)
    return [t.numpy() for t in tensors]


def check_compiled(program: Program, seed: int = 0) -> None:
    want = run(program.func, program, seed)
    got = compiled_results(program, seed)
    assert_same(got, want, "compiled", program)


@EXAMPLES
@given(programs(blocks=True))
def test_compiled_blocks(program):
    check_compiled(program)


@EXAMPLES
@given(programs(blocks=False))
def test_compiled_loops(program):
    check_compiled(program)


@EXAMPLES
@given(programs(exact=False, dtypes=("float32", "float64")))
def test_compiled_functions_of_floats(program):
    check_compiled(program)
