"""Options in `PassContext(config={...})` change what the passes to loops do."""

from __future__ import annotations

from typing import Any

from workbench import s_tir, te, tirx
from workbench.core.traverse import iter_nodes
from workbench.ir import IRModule
from workbench.ir.transform import PassContext
from workbench.s_tir.pipeline import default_tir_pipeline
from workbench.script import ir as I
from workbench.script import tirx as T
from workbench.tirx import AllocBuffer, AssertStmt, Bind, For, ForKind, IfThenElse


def lowered(mod: Any, config: dict[str, Any], *passes: Any) -> Any:
    """`main` after passes under a configuration."""
    with PassContext(config=config):
        for item in passes:
            mod = item(mod)
    return mod["main"]


def kinds(func: Any) -> list[ForKind]:
    return [loop.kind for loop in iter_nodes(func.body, For)]


@I.ir_module
class Loops:
    @T.prim_func
    def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i in range(4):
            for j in T.vectorized(4):
                B[i * 4 + j] = A[i * 4 + j] + T.float32(1)


def test_disable_vectorize() -> None:
    one = tirx.transform.VectorizeLoop()
    assert kinds(lowered(Loops, {}, one)) == [ForKind.SERIAL]
    off = lowered(Loops, {"tirx.disable_vectorize": True}, one)
    assert kinds(off) == [ForKind.SERIAL, ForKind.SERIAL]
    off = lowered(Loops, {"tirx.disable_vectorize": True}, default_tir_pipeline())
    assert "Ramp" not in str(off) and len(kinds(off)) == 2


def test_unroll_loop() -> None:
    one = tirx.transform.UnrollLoop()
    config = {"tirx.disable_vectorize": True, "tirx.UnrollLoop": {"auto_max_step": 4}}
    passes = (tirx.transform.VectorizeLoop(), one)
    assert len(kinds(lowered(Loops, {}, *passes))) == 1
    assert len(kinds(lowered(Loops, config, *passes))) == 1
    config["tirx.UnrollLoop"] = {"auto_max_step": 16}
    assert len(kinds(lowered(Loops, config, *passes))) == 0


def test_loop_partition() -> None:
    @I.ir_module
    class Cut:
        @T.prim_func
        def main(A: T.Buffer((16,), "float32")):
            for i in range(16):
                if T.likely(i < 12):
                    A[i] = T.float32(1)

    one = s_tir.transform.LoopPartition()
    cut = lowered(Cut, {"s_tir.LoopPartition": {"partition_const_loop": True}}, one)
    whole = lowered(Cut, {"s_tir.LoopPartition": {"partition_const_loop": False}}, one)
    assert not list(iter_nodes(cut.body, IfThenElse))
    assert len(list(iter_nodes(whole.body, IfThenElse))) == 1


def test_disable_storage_rewrite() -> None:
    @I.ir_module
    class Twice:
        @T.prim_func
        def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
            for i in range(8):
                C = T.alloc_buffer((4,), "float32")
                C[0] = A[i]
                B[i] = C[0] + C[0]

    one = tirx.transform.StorageRewrite()
    assert list(iter_nodes(Twice["main"].body, AllocBuffer))
    moved = lowered(Twice, {}, one)
    assert not [a for loop in iter_nodes(moved.body, For) for a in iter_nodes(loop, AllocBuffer)]
    kept = lowered(Twice, {"tirx.disable_storage_rewrite": True}, one)
    assert str(kept) == str(Twice["main"])


def test_disable_common_subexpressions() -> None:
    @I.ir_module
    class Shared:
        @T.prim_func
        def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), n: T.int32):
            A[n * 3 + 5] = T.float32(1)
            B[n * 3 + 5] = T.float32(2)

    one = tirx.transform.CommonSubexprElim()
    assert list(iter_nodes(lowered(Shared, {}, one).body, Bind))
    assert not list(iter_nodes(lowered(Shared, {"tirx.disable_cse_tir": True}, one).body, Bind))


def test_disable_assert() -> None:
    @I.ir_module
    class Checked:
        @T.prim_func
        def main(A: T.Buffer((8,), "float32"), n: T.int32):
            assert n > 3, "too few"
            A[0] = T.float32(1)

    def checks(config: dict[str, Any]) -> int:
        func = lowered(Checked, config, default_tir_pipeline())
        return sum("too few" in str(a) for a in iter_nodes(func.body, AssertStmt))

    assert checks({}) == 1
    assert checks({"tirx.disable_assert": True}) == 0


def test_keep_trivial_loops() -> None:
    a = te.placeholder((1, 8), name="a")
    func = te.create_prim_func([a, te.compute((1, 8), lambda i, j: a[i, j] + 1.0)])
    mod = IRModule({"main": func})
    passes = (
        s_tir.transform.ConvertBlocksToOpaque(),
        s_tir.transform.LowerOpaqueBlock(),
    )
    assert len(kinds(lowered(mod, {}, *passes))) == 1
    assert len(kinds(lowered(mod, {"tirx.debug_keep_trivial_loop": True}, *passes))) == 2
