import numpy as np
import pytest

import workbench as wb
from workbench import te
from workbench.core.errors import WorkbenchError
from workbench.inspect.model_timing import time
from workbench.ir.expr import Var
from workbench.relax.block_builder import BlockBuilder
from workbench.relax.expr import const
from workbench.relax.op.linear import matmul
from workbench.relax.op.nn.activation import softmax
from workbench.relax.type import TensorType
from workbench.runtime.vm import VirtualMachine

X = np.ones((4, 8), "float32")


@pytest.fixture(scope="module")
def exe():
    bb = BlockBuilder()
    x = Var("x", TensorType((4, 8), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            a = bb.emit(matmul(x, const(np.ones((8, 8), "float32"))))
            b = bb.emit_output(softmax(a))
        bb.emit_func_output(b)
    return wb.compile(bb.get(), target="llvm")


def test_the_whole_call_and_every_kernel(exe):
    timing = time(exe, X, repeats=3)
    assert timing.title == "main on 4×8"
    assert timing.total is not None
    assert len(timing.total.samples) == 3
    launched = [one.name for one in VirtualMachine(exe).profile("main", X)]
    assert [part.name for part in timing.parts] == launched
    assert len(launched) >= 2
    assert all(part.median > 0 for part in timing.parts)
    assert timing.again is not None
    assert timing.again(lambda share, text: None).total is not None


def test_a_machine_may_be_given_and_progress_is_told(exe):
    said = []
    time(VirtualMachine(exe), X, repeats=4, tell=lambda share, text: said.append(share))
    assert said == [0.25, 0.5, 0.75, 1.0]


def test_a_loop_program_is_one_bar():
    a = te.placeholder((16,), name="A")
    b = te.compute((16,), lambda i: a[i] + 1.0, name="B")
    exe = wb.build(te.create_prim_func([a, b]))
    x, y = np.zeros(16, "float32"), np.zeros(16, "float32")
    timing = time(exe, x, y, repeats=3)
    assert timing.whole.median > 0
    assert len(timing.parts) == 1
    assert (y == 1).all()


def test_wrong_inputs_are_told(exe):
    with pytest.raises(WorkbenchError, match="expected a compiled program"):
        time("model.onnx", X)
    with pytest.raises(WorkbenchError, match="expected 1 arguments"):
        time(exe)
