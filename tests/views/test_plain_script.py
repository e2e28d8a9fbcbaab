"""Constants are told by type and check sum, so that a comparison of passes shows what changed."""

import numpy as np

from workbench.inspect.pass_trace import trace
from workbench.ir.expr import Var
from workbench.ir.transform import Sequential
from workbench.relax.block_builder import BlockBuilder
from workbench.relax.expr import const
from workbench.relax.op.binary import add, multiply
from workbench.relax.op.manipulate import reshape
from workbench.relax.transform import FoldConstant
from workbench.relax.type import TensorType
from workbench.views.pass_trace import trace_panel
from workbench.views.plain_script import reading_text

LONG = np.arange(32, dtype="float32")


def module(*constants):
    """x times a constant that folding reshapes, then plus each of the others."""
    bb = BlockBuilder()
    x = Var("x", TensorType((4, 32), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            folded = bb.emit(reshape(const(LONG), (1, 32)))
            value = bb.emit(multiply(x, folded))
            for one in constants:
                value = bb.emit(add(value, const(one)))
            out = bb.emit_output(value)
        bb.emit_func_output(out)
    return bb.get()


def test_equal_constants_have_equal_texts_and_others_do_not():
    a, b, c = (reading_text(module(x)) for x in (LONG * 3, LONG * 3, LONG * 4))
    assert a == b != c
    assert "const(float32[32]," in a
    assert "metadata[" not in a and "Metadata omitted" not in a


def test_small_constants_are_written_out():
    assert "R.const(2.5" in reading_text(module(np.float32(2.5)))


def test_a_constant_that_goes_does_not_change_the_lines_of_others():
    made = module(LONG * 3, LONG * 4, LONG * 5)
    panel = trace_panel(trace(made, Sequential([FoldConstant()])))
    step = next(i for i, one in enumerate(panel.steps) if one.status == "changed")
    # One binding goes, and the one that read it reads a constant now.
    assert panel.counts(step) == "+1 −2"
