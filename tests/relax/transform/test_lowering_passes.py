"""From values to memory and bytecode: allocation, planning, shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from workbench import relax
from workbench.core.errors import WorkbenchError
from workbench.core.traverse import iter_nodes
from workbench.ir import IRModule, assert_structural_equal
from workbench.ir.expr import Call
from workbench.ir.transform import Sequential
from workbench.relax import op, transform
from workbench.relax.transform.static_plan_block_memory import planned_bytes
from workbench.relax.transform.vm_shape_lower import dim_text
from workbench.script import ir as I
from workbench.script import relax as R
from workbench.script import tirx as T
from workbench.tirx import Var


def names_of(func: relax.Function) -> list[str]:
    """What the bindings of a function call, in order."""
    out = []
    for block in func.body.blocks:
        for binding in block.bindings:
            callee = getattr(binding.value, "op", None)
            if callee is not None:
                out.append(
                    getattr(callee, "name", "")
                    or getattr(callee, "name_hint", "")
                    or callee.global_symbol
                )
    return out


def chain(length: int, shape: Any, params: list[Any] | None = None) -> IRModule:
    """`main` with a chain of kernels, allocated but not planned."""
    x = relax.Var("x", relax.TensorType(shape, "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        y: Any = x
        for _ in range(length):
            y = bb.emit(op.exp(y))
        bb.emit_func_output(y)
    passes = [transform.LegalizeOps(), transform.ToNonDataflow(), transform.CallTIRRewrite()]
    return Sequential(passes)(bb.get())


def test_outputs_of_kernels_are_allocated() -> None:
    @I.ir_module
    class Before:
        @T.prim_func(private=True)
        def copy(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
            for i in range(4):
                b[i] = a[i]

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            cls = Before
            gv = R.call_tir(cls.copy, (x,), out_ty=R.Tensor((4,), "float32"))
            return gv

    after = transform.CallTIRRewrite()(Before)
    assert names_of(after["main"]) == ["relax.builtin.alloc_tensor", "copy"]
    call = after["main"].body.blocks[0].bindings[1].value
    assert [a.name for a in call.args] == ["x", "gv"]


def test_several_outputs_and_scalars() -> None:
    n = Var("n", "int64")
    x = relax.Var("x", relax.TensorType([n], "float32"))
    gvar = relax.GlobalVar("k")
    out = [relax.TensorType([n], "float32"), relax.TensorType([n], "int32")]
    call = relax.call_tir(gvar, [x], out, tir_vars=[n])
    y = relax.Var("y", call.ty)
    body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(y, call)])], y)
    func = relax.Function([x], body)
    after = transform.CallTIRRewrite()(IRModule({"main": func}))["main"]
    assert names_of(after) == ["relax.builtin.alloc_tensor", "relax.builtin.alloc_tensor", "k"]
    kernel = after.body.blocks[0].bindings[2].value
    assert len(kernel.args) == 4
    assert isinstance(kernel.args[3], relax.ShapeExpr)


def test_unknown_output_shape_is_an_error() -> None:
    x = relax.Var("x", relax.TensorType((4,), "float32"))
    call = relax.call_tir(relax.GlobalVar("k"), [x], relax.TensorType(dtype="float32", ndim=1))
    y = relax.Var("y", call.ty)
    func = relax.Function([x], relax.SeqExpr([relax.BindingBlock([relax.VarBinding(y, call)])], y))
    with pytest.raises(WorkbenchError, match="allocation needs its shape"):
        transform.CallTIRRewrite()(IRModule({"main": func}))


def test_a_chain_needs_two_memories() -> None:
    func = transform.StaticPlanBlockMemory()(chain(6, (256,)))["main"]
    names = names_of(func)
    assert names.count("relax.memory.alloc_storage") == 2
    assert names.count("relax.memory.alloc_tensor") == 5
    assert names.count("relax.builtin.alloc_tensor") == 1, "the result is not planned"
    assert planned_bytes(func) == 2 * 256 * 4


def test_values_in_use_do_not_share_memory() -> None:
    """Random graphs: two tensors in one storage are never alive together."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        x = relax.Var("x", relax.TensorType((64,), "float32"))
        bb = relax.BlockBuilder()
        with bb.function("main", [x]):
            values: list[Any] = [x]
            for _ in range(12):
                a, b = rng.integers(0, len(values), 2)
                values.append(bb.emit(op.add(values[a], values[b])))
            bb.emit_func_output(values[-1])
        passes = [transform.LegalizeOps(), transform.CallTIRRewrite()]
        func = transform.StaticPlanBlockMemory()(Sequential(passes)(bb.get()))["main"]
        _check_plan(func)


def _check_plan(func: relax.Function) -> None:
    bindings = [b for block in func.body.blocks for b in block.bindings]
    place: dict[int, tuple[int, int]] = {}
    last: dict[int, int] = {}
    for position, binding in enumerate(bindings):
        for var in iter_nodes(binding.value, relax.Var):
            last[id(var)] = position
        if getattr(binding.value.op, "name", "") == "relax.memory.alloc_tensor":
            place[id(binding.var)] = (id(binding.value.args[0]), position)
    items = list(place.items())
    for n, (a, (storage, start)) in enumerate(items):
        for b, (other, begin) in items[n + 1 :]:
            if storage == other:
                assert last[a] < begin or last[b] < start


def test_views_keep_their_memory_alive() -> None:
    x = relax.Var("x", relax.TensorType((8, 8), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        a = bb.emit(op.exp(x))
        v = bb.emit(op.reshape(a, (64,)))
        b = bb.emit(op.exp(a))
        c = bb.emit(op.exp(b))
        d = bb.emit(op.exp(c))
        w = bb.emit(op.exp(v))
        bb.emit_func_output(relax.Tuple([d, w]))
    custom = {"relax.reshape": lambda builder, call: call}
    mod = transform.LegalizeOps(customize_legalize_map=custom)(bb.get())
    func = transform.StaticPlanBlockMemory()(transform.CallTIRRewrite()(mod))["main"]
    _check_plan_with_views(func)


def _check_plan_with_views(func: relax.Function) -> None:
    storages = {}
    for block in func.body.blocks:
        for binding in block.bindings:
            if getattr(binding.value.op, "name", "") == "relax.memory.alloc_tensor":
                storages.setdefault(binding.value.args[0].name, []).append(binding.var.name)
    first = next(names for names in storages.values() if "lv" in names or "gv" in names)
    assert first[0] in ("lv", "gv")
    assert len(first) == 1, f"the viewed tensor shares its memory: {storages}"


def test_symbolic_sizes_share_when_equal_or_bounded() -> None:
    n = Var("n", "int64")
    mod = chain(4, [n, 4])
    func = transform.StaticPlanBlockMemory()(mod)["main"]
    assert names_of(func).count("relax.memory.alloc_storage") == 2
    assert planned_bytes(func) == 0
    bounded = mod.with_func("main", mod["main"].with_attr("tir_var_upper_bound", {"n": 16}))
    assert planned_bytes(transform.StaticPlanBlockMemory()(bounded)["main"]) == 2 * 16 * 4 * 4


def test_the_rest_is_allocated_one_by_one() -> None:
    mod = transform.LowerAllocTensor()(chain(2, (4,)))
    names = names_of(mod["main"])
    assert "relax.builtin.alloc_tensor" not in names
    assert names.count("relax.memory.alloc_storage") == 2


def test_objects_are_killed_after_their_last_use() -> None:
    mod = Sequential(
        [
            transform.StaticPlanBlockMemory(),
            transform.LowerAllocTensor(),
            transform.KillAfterLastUse(),
        ]
    )(chain(3, (4,)))
    func = mod["main"]
    names = names_of(func)
    assert names.count("relax.memory.kill_tensor") == 2
    assert names.count("relax.memory.kill_storage") == 2
    killed: set[str] = set()
    for block in func.body.blocks:
        for binding in block.bindings:
            used = {v.name for v in iter_nodes(binding.value, relax.Var)}
            assert not used & killed, f"{used & killed} used after it was killed"
            if "kill" in getattr(binding.value.op, "name", ""):
                killed |= used
    assert func.body.body.name not in killed


def test_builtins_of_the_machine() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4, 2), "float32")):
            lv = R.reshape(x, R.shape([8]))
            s = R.shape_of(lv)
            t = R.shape_to_tensor(s)
            return t

    names = names_of(transform.VMBuiltinLower()(Before)["main"])
    assert names == ["vm.builtin.reshape", "vm.builtin.shape_of", "vm.builtin.shape_to_tensor"]


def test_shape_lowering_checks_and_computes() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor(("n", 8), "float32"), y: R.Tensor(("n * 2", 4), "float32")):
            n = T.int64()
            s = R.shape([n * 8, 4])
            return s

    func = transform.VMShapeLower()(Before)["main"]
    names = names_of(func)
    assert names[:5] == [
        "vm.builtin.alloc_shape_heap", "vm.builtin.check_tensor_info", "vm.builtin.match_shape",
        "vm.builtin.check_tensor_info", "vm.builtin.match_shape",
    ]  # fmt: skip
    assert names.count("vm.builtin.compute_dim") == 2
    assert names.count("vm.builtin.match_shape") == 3, "the formula is compared once n is known"
    assert names[-1] == "vm.builtin.make_shape"


def test_undefined_dimensions_are_named() -> None:
    n = Var("n", "int64")
    x = relax.Var("x", relax.TensorType((4,), "float32"))
    s = relax.Var("s", relax.ShapeType([n]))
    binding = relax.VarBinding(s, relax.ShapeExpr([n]))
    func = relax.Function([x], relax.SeqExpr([relax.BindingBlock([binding])], s))
    with pytest.raises(WorkbenchError, match="dimension n is used, but no argument defines it"):
        transform.VMShapeLower()(IRModule({"main": func}))


def test_formulas_as_text() -> None:
    n, m = Var("n", "int64"), Var("m", "int64")
    slots = {id(n): 0, id(m): 1}
    text = dim_text((n * 4 + m) // 2 - n % 3, lambda v: slots[id(v)])
    assert text == "((((s0 * 4) + s1) // 2) - (s0 % 3))"
    with pytest.raises(WorkbenchError, match="a dimension may use"):
        dim_text(n < m, lambda v: 0)


def test_global_symbols_and_purity() -> None:
    mod = transform.AttachGlobalSymbol()(chain(1, (4,)))
    assert all(f.attrs["global_symbol"] == g.name_hint for g, f in mod.functions.items())
    assert transform.AttachGlobalSymbol()(mod) is mod
    assert transform.RemovePurityChecking()(mod)["main"].attrs["relax.force_pure"]


def test_pure_packed_calls_are_unwrapped() -> None:
    x = relax.Var("x", relax.TensorType((4,), "float32"))
    call = relax.call_pure_packed("my.func", x, ty_args=relax.TensorType((4,), "float32"))
    y = relax.Var("y", call.ty)
    func = relax.Function([x], relax.SeqExpr([relax.BindingBlock([relax.VarBinding(y, call)])], y))
    after = transform.RemovePurityChecking()(IRModule({"main": func}))["main"]
    assert names_of(after) == ["my.func"]


def test_every_pass_shows_before_and_after() -> None:
    for name in transform.__all__:
        factory = getattr(transform, name)
        info = getattr(factory, "info", None)
        if info is not None:
            assert "→" in info.doc, f"{name} does not show what it does"


def test_conversion_round_trip() -> None:
    mod = chain(2, (4,))
    assert_structural_equal(transform.ToNonDataflow()(mod), mod)
    assert not any(isinstance(n, Call) and n.ty is None for n in iter_nodes(mod))
