"""Every node and operator of the graph IR: print, read, structurally equal."""

from __future__ import annotations

import numpy as np
import pytest

from workbench import relax, te
from workbench.core import assert_structural_equal
from workbench.core.node import iter_node_types
from workbench.ir import IRModule, TupleType
from workbench.ir.expr import Call, FloatImm, IntImm, StringImm, Var
from workbench.relax import op
from workbench.relax.block_builder import BlockBuilder
from workbench.relax.expr import (
    Constant,
    DataTypeImm,
    ExternFunc,
    Function,
    If,
    SeqExpr,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    const,
)
from workbench.relax.type import AnyType, FuncType, PackedFuncType, ShapeType, TensorType
from workbench.script import ScriptError, parse, script
from workbench.script import relax as R
from workbench.script.printer import load_printer, printers

F32 = TensorType([4, 8], "float32")


def build(emit, *params: Var, attrs=None, pure=True) -> IRModule:
    """A module with a function that binds what `emit(builder, *params)` returns."""
    bb = BlockBuilder()
    params = params or (Var("x", F32),)
    with bb.function("main", list(params), attrs, pure):
        bb.emit_func_output(bb.emit(emit(bb, *params)))
    return bb.get()


def check(value):
    """Printing and reading gives an equal value; printing that gives the same text."""
    text = script(value, show_meta=True)
    again = parse(text)
    assert_structural_equal(again, value)
    assert script(again, show_meta=True) == text


n, m = Var("n", "int64"), Var("m", "int64")
TYPES = {
    "tensor": F32,
    "symbolic tensor": TensorType([n, n * 2 + 1], "int8"),
    "rank": TensorType(ndim=3),
    "dtype": TensorType(dtype="float16", ndim=-1),
    "unknown": TensorType(dtype=None),
    "scalar tensor": TensorType([], "bool"),
    "shape": ShapeType([n, 4]),
    "rank of a shape": ShapeType(ndim=2),
    "any shape": ShapeType(),
    "tuple": TupleType([F32, TupleType([]), ShapeType([m])]),
    "any": AnyType(),
    "packed": PackedFuncType(),
    "function": FuncType([F32, AnyType()], F32, False),
    "any function": FuncType.opaque_func(),
    "pure function of anything": FuncType.opaque_func(ret=F32, purity=True),
    "scalar": relax.type.prim_type("float32"),
}


@pytest.mark.parametrize("name", TYPES)
def test_types(name):
    x = Var("x", TYPES[name])
    check(Function([x], SeqExpr((), x), TYPES[name], True, {"global_symbol": "main"}))


VALUES = {
    "constant": lambda bb, x: op.add(x, const(1.5)),
    "constants": lambda bb, x: op.add(x, const(np.arange(8, dtype="float32") / 10)),
    "constant of nothing finite": lambda bb, x: op.add(x, const(float("-inf"))),
    "large constant": lambda bb, x: op.add(x, const(np.ones((4, 8), "float32"))),
    "bool constant": lambda bb, x: op.where(const(True), x, x),
    "bfloat16": lambda bb, x: op.add(op.astype(x, "bfloat16"), const(0.1, "bfloat16")),
    "shape": lambda bb, x: ShapeExpr([4, 8]),
    "tuple": lambda bb, x: Tuple([x, Tuple([x])]),
    "item": lambda bb, x: TupleGetItem(op.split(x, 2, axis=0), 1),
    "dtype": lambda bb, x: DataTypeImm("float16"),
    "text": lambda bb, x: StringImm('a "b"\n'),
    "int": lambda bb, x: IntImm("int64", 3),
    "float": lambda bb, x: FloatImm("float64", 0.5),
    "truth": lambda bb, x: IntImm("bool", 1),
    "packed": lambda bb, x: op.call_packed(
        "f", x, IntImm("int64", 1), StringImm("s"), ty_args=[F32]
    ),
    "pure packed": lambda bb, x: op.call_pure_packed("f", x, ty_args=[F32, AnyType()]),
    "dps": lambda bb, x: op.call_dps_packed("f", [x], F32),
    "extern": lambda bb, x: ExternFunc("f"),
    "unary": lambda bb, x: op.nn.relu(op.negative(x)),
    "alias": lambda bb, x: x,
}


@pytest.mark.parametrize("name", VALUES)
def test_values(name):
    check(build(VALUES[name]))


def add_one(a):
    return te.compute(a.shape, lambda i, j: a[i, j] + 1.0, name="add_one")


def test_kernels():
    bb = BlockBuilder()
    x = Var("x", TensorType([n, 8], "float32"))
    with bb.function("main", [x], {"a": 1}, private=True):
        with bb.dataflow():
            y = bb.emit_te(add_one, x)
            z = bb.emit_output(op.reshape(y, ShapeExpr([n * 8])))
        w = bb.emit(op.exp(z))
        bb.emit_func_output(Tuple([w, z]))
    check(bb.get())


MODULE = """\
# from workbench.script import ir as I
# from workbench.script import tirx as T
# from workbench.script import relax as R

@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice({"keys": ["cpu"], "kind": "llvm", "tag": ""}, 0, "global")]})

    @R.function(private=True)
    def callee(x: R.Tensor(("n", 8), dtype="float32")) -> R.Tensor(("n", 8), dtype="float32"):
        n = T.int64()
        y: R.Tensor((n, 8), dtype="float32") = R.add(x, x)
        return y

    @R.function(pure=False)
    def main(x: R.Tensor((4, 8), dtype="float32", vdevice="llvm:0:global"), c: R.Tensor((), dtype="bool"), u: R.Tensor) -> R.Tuple(R.Tensor((4, 8), dtype="float32"), R.Any):
        R.func_attr({"num_input": 1})
        cls = Module
        R.print(x, format="{}")
        with R.dataflow():
            a: R.Tensor((4, 8), dtype="float32") = R.add(x, x)
            b: R.Tensor((4, 8), dtype="float32") = R.multiply(a, a)
            R.output(b)
        n = T.int64()
        z: R.Tensor((n, 8), dtype="float32") = R.match_cast(u, R.Tensor((n, 8), dtype="float32"))
        s: R.Shape([n, n * 2]) = R.shape([n, n * 2])
        if c:
            t: R.Tensor((4, 8), dtype="float32") = R.exp(b)
            r: R.Tensor((4, 8), dtype="float32") = t
        else:
            r: R.Tensor((4, 8), dtype="float32") = b
        @R.function
        def inner(y: R.Tensor((4, 8), dtype="float32")) -> R.Tensor((4, 8), dtype="float32"):
            v: R.Tensor((4, 8), dtype="float32") = R.add(y, b)
            return v
        q: R.Tensor((4, 8), dtype="float32") = inner(r)
        k: R.Tensor((4, 8), dtype="float32") = cls.callee(q)
        f: R.Any = R.call_packed("f", k, ty_args=(R.Any,))
        return (k, f)"""  # noqa: E501  (program text)


def test_module_text():
    mod = parse(MODULE)
    assert script(mod) == MODULE
    check(mod)
    main = mod["main"]
    assert isinstance(main.body.blocks[1].bindings[0].var, relax.expr.DataflowVar)
    assert type(main.body.blocks[1].bindings[1].var) is Var
    values = [b.value for block in main.body.blocks for b in block.bindings]
    assert sum(isinstance(v, If) for v in values) == 1
    assert main.params[0].ty.vdevice is mod.global_infos["vdevice"][0]


def test_types_need_not_be_written():
    short = parse(
        "@R.function\n"
        "def main(x: R.Tensor((4, 8), 'float32')):\n"
        "    with R.dataflow():\n"
        "        y = R.add(x, R.add(x, x))\n"
        "        R.output(y)\n"
        "    a, b = R.split(y * 2.0 + x, 2)\n"
        "    return a\n"
    )
    assert short.ret_ty == TensorType([2, 8], "float32")
    check(short)
    text = script(short, show_all_ty=False)
    assert "y = R.add(x, " in text
    assert_structural_equal(parse(text), short)


def test_a_call_that_the_builder_does_not_make():
    x = Var("x", F32)
    call = Call(relax.op.relax_ops["relax.add"].op, (x, x), {"odd": 1}, ret_ty=F32)
    text = script(call)
    assert text == (
        'R.Call("relax.add", [x, x], attrs={"odd": 1}, ret_ty=R.Tensor((4, 8), dtype="float32"))'
    )


def test_metadata_has_to_be_given():
    mod = build(VALUES["large constant"])
    text = script(mod)
    assert 'metadata["relax.expr.Constant"][0]' in text
    assert "# Metadata omitted" in text
    with pytest.raises(ScriptError, match="undefined variable 'metadata'"):
        parse(text)
    found = mod["main"].body.blocks[0].bindings[0].value.args[1]
    assert isinstance(found, Constant)
    again = parse(text, {"metadata": {"relax.expr.Constant": [found]}})
    assert_structural_equal(again, mod)


ERRORS = {
    "unknown operator": ("y = R.ad(x, x)", "R has no 'ad'", "did you mean 'add'"),
    "unknown operator of a group": ("y = R.nn.rel(x)", "R.nn has no 'rel'", "relu"),
    "shapes": ("y = R.matmul(x, x)", "matmul", ""),
    "statement": ("while True:\n        pass", "While statements", ""),
    "no else": ("if R.const(True):\n        y = x", "needs an else", ""),
    "output": ("R.output(x)", "stands inside of", ""),
    "with": ("with x:\n        pass", "expects R.dataflow()", ""),
    "after return": ("return x\n    y = x", "never reached", ""),
    "truth": ("y = R.add(x, x) and x", "R.logical_and", ""),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    code, message, hint = ERRORS[name]
    with pytest.raises(ScriptError) as caught:
        parse(f'@R.function\ndef main(x: R.Tensor((4, 8), "float32")):\n    {code}\n    return x\n')
    assert message in str(caught.value)
    assert hint in str(caught.value)
    assert caught.value.lineno >= 3


def test_no_return():
    with pytest.raises(ScriptError, match="'main' returns nothing"):
        parse("@R.function\ndef main(x: R.Tensor):\n    y = R.exp(x)\n")


def test_decorated_in_python():
    @R.function
    def main(x: R.Tensor(("n", 8), "float32")) -> R.Tensor(("n", 8), "float32"):
        return R.nn.relu(x)

    assert isinstance(main, Function)
    check(main)


NOT_READ = {
    "relax.Binding": "a base class",
    "relax.BindingBlock": "shown as its bindings",
    "relax.SeqExpr": "the body of a function",
}


def test_every_node_class_of_relax_has_a_printer():
    missing = [
        key
        for key, cls in iter_node_types()
        if key.startswith("relax.")
        and cls.__module__ in ("workbench.relax.expr", "workbench.relax.type")
        and key not in NOT_READ
        and printers.find(cls) is None
        and load_printer(cls) is None
    ]
    assert not missing, f"no printer and no reason: {missing}"


def test_every_operator_is_in_the_namespace():
    for name in relax.op.relax_ops.names():
        word = R
        for part in name.split(".")[1:]:
            word = getattr(word, part)
        assert callable(word), name


#: Operators applied to small tensors: a text whose reading and printing must agree.
CALLS = [
    "R.add(x, x)", "R.nn.relu(x)", "R.sum(x, axis=[1], keepdims=True)", "R.mean(x)",
    "R.permute_dims(x, [1, 0])", "R.reshape(x, (32,))", "R.concat((x, x), axis=0)",
    "R.split(x, 2, axis=0)", "R.split(x, [1, 3], axis=1)", "R.astype(x, 'float16')",
    "R.nn.softmax(x, axis=-1)", "R.clip(x, 0, 6)", "R.take(x, R.const([0, 1], 'int64'), axis=0)",
    "R.strided_slice(x, [0], [1], [3])", "R.broadcast_to(x, (2, 4, 8))", "R.expand_dims(x, [0])",
    "R.zeros((2, 3), 'float32')", "R.full((2, 3), R.const(1.0), dtype='float32')",
    "R.arange(0, 10, 2)", "R.where(x > x, x, x)", "R.argmax(x, axis=1)", "R.cumsum(x, 0)",
    "R.tril(x, 1)", "R.repeat(x, 2, 0)", "R.tile(x, (2, 2))", "R.flip(x, 0)", "R.shape_of(x)",
    "R.nn.conv2d(R.zeros((1, 1, 4, 4), 'float32'), R.zeros((1, 1, 3, 3), 'float32'), padding=1)",
    "R.nn.max_pool2d(R.zeros((1, 1, 4, 4), 'float32'), [2, 2])",
    "R.nn.layer_norm(x, R.const([1.0] * 8), R.const([0.0] * 8), axes=[-1])",
    "R.image.resize2d(R.zeros((1, 1, 4, 4), 'float32'), (8, 8))",
    "R.matmul(x, R.permute_dims(x))", "x + x * 2.0", "-x", "x - x",
]  # fmt: skip


@pytest.mark.parametrize("text", CALLS)
def test_operators(text):
    func = parse(
        f'@R.function\ndef main(x: R.Tensor((4, 8), "float32")):\n    y = {text}\n    return y\n'
    )
    check(func)
    assert "R.Call(" not in script(func)


def test_names_that_python_cannot_take():
    kernel = parse("@T.prim_func(private=True)\ndef main(n: T.int32):\n    T.evaluate(n)\n")
    mod = IRModule({"<lambda>": kernel, "_lambda_": kernel, "for": kernel})
    again = parse(script(mod))
    assert [g.name_hint for g in again.functions] == ["_lambda_", "_lambda__1", "for_1"]
