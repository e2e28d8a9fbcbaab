"""Every stage of compiling a network is printed and read back."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

import workbench
from workbench import te
from workbench import tirx as T
from workbench.core import get_first_structural_mismatch
from workbench.ir import IRModule
from workbench.ir.instrument import PassInstrument
from workbench.ir.transform import PassContext
from workbench.models import digits
from workbench.relax.expr import BindingBlock, Function, SeqExpr
from workbench.relax.frontend.onnx import from_onnx
from workbench.script import parse, script

MODELS = Path(digits.__file__).parent


class ReadBack(PassInstrument):
    """Collects the passes after which the module does not survive printing and reading."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.wrong: list[str] = []

    def run_after_pass(self, mod, info) -> None:
        text = script(mod, show_meta=True)
        if text in self.seen:
            return
        self.seen.add(text)
        again = parse(text)
        found = get_first_structural_mismatch(again, joined(mod))
        if found is not None:
            self.wrong.append(f"{info.name}: {found[0]}: {found[1]} / {found[2]}")


def joined(mod: IRModule) -> IRModule:
    """The module with plain binding blocks that follow each other as one: their text is one."""
    functions = {}
    for gvar, func in mod.functions.items():
        if isinstance(func, Function):
            blocks: list[BindingBlock] = []
            for block in func.body.blocks:
                if blocks and type(block) is type(blocks[-1]) is BindingBlock:
                    blocks[-1] = BindingBlock((*blocks[-1].bindings, *block.bindings))
                else:
                    blocks.append(block)
            func = func.replace(body=SeqExpr(tuple(blocks), func.body.body))
        functions[gvar] = func
    return mod.replace(functions=functions)


def test_network():
    reader = ReadBack()
    mod = from_onnx(onnx.load(MODELS / "digits_mlp.onnx"))
    with PassContext(instruments=[reader]):
        workbench.compile(mod, target="llvm")
    assert not reader.wrong
    assert len(reader.seen) > 20


@pytest.mark.parametrize("symbolic", [False, True])
def test_kernel(symbolic):
    n = te.var("n") if symbolic else 16
    A = te.placeholder((n, 16), name="A")
    k = te.reduce_axis((0, 16), name="k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    C = te.compute((n,), lambda i: T.max(B[i], T.const(0.0, "float32")), name="C")
    reader = ReadBack()
    with PassContext(instruments=[reader]):
        workbench.compile(te.create_prim_func([A, C]), target="llvm")
    assert not reader.wrong
    assert len(reader.seen) > 5
