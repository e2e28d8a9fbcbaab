"""Every node of the loop IR: print, read, structurally equal."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, reject, settings

from workbench.core import assert_structural_equal, structural_equal
from workbench.core.node import FrozenMap, Node, iter_node_types
from workbench.ir import IRModule, Range, VDevice
from workbench.ir import expr as ir_expr
from workbench.ir import type as ir_type
from workbench.ir.attrs import Attrs
from workbench.ir.expr import FloatImm, IntImm, StringImm, Var
from workbench.ir.global_info import DummyGlobalInfo
from workbench.script import ScriptError, parse, script
from workbench.script.printer import load_printer, printers
from workbench.target import Target
from workbench.testing.programs import Program, programs
from workbench.testing.syntax import prim_funcs
from workbench.tirx import expr as E
from workbench.tirx import op as T
from workbench.tirx import stmt as S
from workbench.tirx.buffer import BufferType, decl_buffer
from workbench.tirx.function import IndexMap, PrimFunc, TensorIntrin

i, j = Var("i", "int32"), Var("j", "int32")
x, y = Var("x", "float32"), Var("y", "float32")
b = Var("b", "bool")
k = Var("k", "int64")
p = Var("p", "handle")
A = decl_buffer((4, 8), "float32", "A")
call = T.call_extern("int32", "f", i)


def function(*body, params=(i, j, x, y, b, k, p, A), ret=None, attrs=None):
    """A function of the usual variables over some statements."""
    return PrimFunc(params, body[0] if len(body) == 1 else S.SeqStmt(body), ret, attrs)


def check(value):
    """Printing and reading gives an equal value; printing that gives the same text."""
    text = script(value)
    again = parse(text)
    assert_structural_equal(again, value)
    assert script(again) == text


vi, vk = E.IterVar(Range(0, 4), "vi", 0), E.IterVar(Range(0, 8), "vk", 2)
C = decl_buffer((4,), "float32", "C", scope="local")


def block(**changes):
    content = {
        "iter_vars": (vi, vk),
        "reads": (
            S.BufferRegion(A, [Range(0, 4), Range.from_min_extent(vi.var, IntImm("int32", 2))]),
        ),
        "writes": (S.BufferRegion.from_point(A, [vi.var, vk.var]),),
        "name_hint": "blk",
        "body": S.BufferStore(A, x, [vi.var, vk.var]),
    }
    return S.SBlock(**{**content, **changes})


EXPRESSIONS = {
    "Add": E.Add(i, j),
    "Add of constants": E.Add(IntImm("int32", 3), IntImm("int32", 4)),
    "Add of zero": E.Add(i, IntImm("int32", 0)),
    "Sub": E.Sub(E.Sub(i, j), E.Sub(i, E.Sub(j, i))),
    "Mul": E.Mul(E.Add(i, j), IntImm("int32", -2)),
    "Div": E.Div(x, y),
    "Div of integers": E.Div(i, j),
    "Mod": E.Mod(i, j),
    "FloorDiv": E.FloorDiv(E.FloorDiv(i, j), E.FloorDiv(j, i)),
    "FloorMod": E.FloorMod(i, j),
    "Min": E.Min(i, j),
    "Max": E.Max(IntImm("int32", 1), IntImm("int32", 2)),
    "EQ": E.EQ(i, j),
    "EQ of comparisons": E.EQ(E.LT(i, j), b),
    "NE": E.NE(i, j),
    "LT": E.LT(IntImm("int32", 1), IntImm("int32", 2)),
    "LE": E.LE(i, j),
    "GT": E.GT(k, IntImm("int64", 5)),
    "GE": E.GE(i, j),
    "And": E.And(b, E.And(E.Or(b, b), IntImm("bool", 1))),
    "Or": E.Or(E.And(b, b), E.Or(b, b)),
    "Not": E.Not(E.And(b, E.Not(b))),
    "Select": E.Select(b, i, j),
    "Cast": E.Cast("float16x4", E.Broadcast(x, 4)),
    "Cast to the same": E.Cast("int32", i),
    "Let": E.Let(Var("z", "int32"), E.Add(i, j), i),
    "Ramp": E.Ramp(i, 2, 4),
    "Broadcast": E.Broadcast(x, 4),
    "Shuffle": E.Shuffle((x, y), (1, 0)),
    "BufferLoad": E.BufferLoad(A, [i, E.Ramp(j, 1, 4)]),
    "BufferLoad with a predicate": E.BufferLoad(A, [i, E.Ramp(j, 1, 4)], E.Broadcast(b, 4)),
    "IntImm": IntImm("uint8", 200),
    "FloatImm": FloatImm("float32", 0.1),
    "FloatImm inf": FloatImm("float16", float("-inf")),
    "FloatImm nan": FloatImm("float64", float("nan")),
    "FloatImm of the smallest": FloatImm("float64", 5e-324),
    "StringImm": T.call_packed("f", StringImm('a "quoted"\n\\text with é')),
    "Call": T.exp(x),
    "Call of a constant": ir_expr.Call(
        ir_expr.Op.get("tirx.exp"), (FloatImm("float32", 1.0),), ret_ty="float32"
    ),
    "Call of another type": ir_expr.Call(ir_expr.Op.get("tirx.exp"), (x,), ret_ty="float64"),
    "Call with attributes": ir_expr.Call(
        ir_expr.Op.get("tirx.exp"), (x,), Attrs({"a": 1}), ret_ty="float32"
    ),
    "buffer data": T.address_of(E.BufferLoad(A, [i, j])),
    "access pointer": A.access_ptr("rw", offset=3),
    "if_then_else": T.if_then_else(b, i, j),
    "reinterpret": T.reinterpret("int32", x),
    "pointer": T.reinterpret(
        ir_type.PointerType(ir_type.prim_type("float32")), T.tvm_struct_get(p, 0, 1, "handle")
    ),
    "bits": T.bitwise_xor(i & j, ~(i << j)),
}

ev = S.Evaluate(call)
D = decl_buffer((2, 16), "float32", "D")
view = Var("V", BufferType("float32", "global", (4,), (Var("s", "int32"),), Var("o", "int32")))
tx = E.IterVar(Range(0, 8), "tx", 1, "threadIdx.x")

lhs, rhs = Var("lhs", "float32"), Var("rhs", "float32")
REDUCER = E.CommReducer((lhs,), (rhs,), (E.Add(lhs, rhs),), (FloatImm("float32", 0.0),))

STATEMENTS = {
    "Bind": [S.Bind(Var("z", "int32"), E.Add(i, j)), ev],
    "Bind of a pointer": [S.Bind(Var("q", A.data.ty), A.data), ev],
    "AssertStmt": [S.AssertStmt("ValueError", E.LT(i, j), ("bad ", "x"))],
    "For": [S.For(Var("t", "int32"), 0, 8, 0, ev)],
    "For parallel": [S.For(Var("t", "int32"), 1, 8, 1, ev, None, {"a": 1, "b": "s"}, 2)],
    "For vectorized": [S.For(Var("t", "int32"), 0, i, 2, ev)],
    "For unrolled": [S.For(Var("t", "int32"), i, j, 3, ev)],
    "For with a step": [S.For(Var("t", "int32"), 0, 8, 0, ev, None, {}, 2)],
    "For over int64": [S.For(Var("t", "int64"), IntImm("int64", 0), IntImm("int64", 8), 0, ev)],
    "For of threads": [
        S.For(Var("t", "int32"), 0, 8, 4, ev, E.IterVar(None, "", 1, "threadIdx.x"))
    ],
    "For of threads with a domain": [S.For(Var("t", "int32"), 0, 8, 4, ev, tx)],
    "grid": [S.For(Var("t", "int32"), 0, 8, 0, S.For(Var("u", "int32"), 0, i, 0, ev))],
    "While": [S.While(E.LT(i, j), S.IfThenElse(b, S.Break(), S.Continue()))],
    "IfThenElse": [S.IfThenElse(b, ev, S.IfThenElse(b, ev, None))],
    "Return": [S.IfThenElse(b, S.Return(i), None), S.Return(j)],
    "BufferStore": [S.BufferStore(A, x, [i, j])],
    "BufferStore of vectors": [S.BufferStore(A, E.Broadcast(x, 4), [i, E.Ramp(j, 2, 4)])],
    "BufferStore with a predicate": [
        S.BufferStore(A, E.Broadcast(x, 4), [i, E.Ramp(j, 1, 4)], E.Broadcast(b, 4))
    ],
    "AllocBuffer": [S.AllocBuffer(C, {"x": 1}), S.BufferStore(C, x, [i])],
    "AllocBuffer of a scalar": [
        S.AllocBuffer(v := decl_buffer((1,), "float32", "v", scope="local")),
        S.BufferStore(v, x, [0]),
        S.BufferStore(v, E.BufferLoad(v, [0]), [0]),
        S.Evaluate(v.data),
        S.BufferStore(v, E.BufferLoad(v, [i]), [i]),
    ],
    "DeclBuffer": [S.DeclBuffer(D, A.data), S.BufferStore(D, x, [i, j])],
    "DeclBuffer over nothing": [S.DeclBuffer(D), S.BufferStore(D, x, [i, j])],
    "DeclBuffer over a pointer": [
        S.DeclBuffer(decl_buffer((4,), "int8", "E", elem_offset=i), p),
        ev,
    ],
    "AttrStmt": [ev, S.AttrStmt(A, "storage", 64, S.SeqStmt([ev, ev])), ev],
    "AttrStmt of 0": [S.AttrStmt(0, "a", 1, S.AttrStmt(0, "b", "s", ev))],
    "AttrStmt of a constant": [S.AttrStmt(IntImm("int32", 0), "a", 1, ev), ev],
    "threads": [S.AttrStmt(tx, "thread_extent", 8, S.BufferStore(A, x, [tx.var, i]))],
    "a reducer as attribute": [S.AttrStmt(REDUCER, "reduce", 0, ev)],
    "Evaluate": [S.Evaluate(i), S.Evaluate(0), S.Evaluate(A.data)],
    "SBlockRealize": [S.SBlockRealize((i, j), E.LT(i, j), block())],
    "SBlockRealize of loops": [
        S.For(
            i2 := Var("i2", "int32"),
            0,
            4,
            0,
            S.For(
                k2 := Var("k2", "int32"),
                0,
                8,
                0,
                S.SBlockRealize((i2, k2), True, block(init=S.BufferStore(A, y, [vi.var, vk.var]))),
            ),
        )
    ],
    "SBlock": [block()],
    "SBlock with everything": [
        S.SBlockRealize(
            (i, j),
            True,
            block(
                alloc_buffers=(C,),
                match_buffers=(
                    S.MatchBufferRegion(view, S.BufferRegion(A, [Range(0, 1), Range(0, 4)])),
                ),
                annotations={
                    "a": (1, 2),
                    "b": FrozenMap({"c": 1.5}),
                    "d": None,
                    "e": True,
                    "f": IntImm("int32", 1),
                    "g": StringImm("s"),
                    "h": FloatImm("float32", 1.0),
                    "t": Target("llvm"),
                },
                body=S.Evaluate(E.Add(view.ty.elem_offset, view.ty.strides[0])),
            ),
        )
    ],
    "root block": [S.SBlockRealize((), True, S.SBlock((), (), (), "root", ev, None, (C,)))],
    "root block with attributes": [
        S.SBlockRealize((), True, S.SBlock((), (), (), "root", ev, None, (), (), {"a": 1}))
    ],
}

FUNCTIONS = {
    "empty": PrimFunc([], S.Evaluate(0)),
    "returning": function(S.Return(i), ret="int32"),
    "attributes": function(
        ev,
        attrs={
            "global_symbol": "g",
            "s_tir": True,
            "tirx.noalias": True,
            "target": Target("llvm"),
            "list": [1, "a"],
            "map": {"a": IntImm("int64", 1)},
            "none": None,
            "index": IndexMap.from_func(lambda a, c: [c, a // 4]),
        },
    ),
    "symbolic": function(
        ev, params=(decl_buffer((i, i * 2, j), name="S"), decl_buffer((j, 4), name="S"), j, p)
    ),
    "symbolic int64": function(
        ev, params=(decl_buffer((k, 4), name="S"), decl_buffer((4, k), name="R"))
    ),
    "own offset and strides": function(
        S.Evaluate(view.ty.elem_offset),
        params=(view, decl_buffer((4,), "int8", "Q", offset_factor=8)),
    ),
    "scalar buffer": function(ev, params=(decl_buffer((), "float32", "Z"),)),
    "names": function(
        ev, params=(Var("T", "int32"), Var("if", "int32"), Var("a.b", "int32"), Var("a.b", "int32"))
    ),
    "typed pointer": function(
        ev, params=(Var("q", ir_type.PointerType(ir_type.prim_type("int8"), "shared")), p)
    ),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions(name):
    check(function(S.Evaluate(EXPRESSIONS[name])))


@pytest.mark.parametrize("name", STATEMENTS)
def test_statements(name):
    check(function(*STATEMENTS[name]))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    value = FUNCTIONS[name]
    text = script(value)
    assert structural_equal(parse(text), value, map_free_vars=True), text


def test_modules():
    callee = function(S.Return(i), params=(i,), ret="int32")
    gvar = ir_expr.GlobalVar("f")
    caller = function(S.Evaluate(T.call_tir(ir_expr.GlobalVar("f", ty=callee.ty), i)), params=(i,))
    device = VDevice(Target("llvm"), 1, "global")
    mod = IRModule(
        {gvar: callee, "main": caller},
        {"x": 1, "y": ["a", None]},
        {"vdevice": [device], "dummy": [DummyGlobalInfo()]},
    )
    check(mod)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_random_programs(program: Program):
    check(program.func)


QUICK = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True}


@settings(max_examples=80, **QUICK)
@given(prim_funcs())
def test_random_syntax(func: PrimFunc):
    text = script(func)
    try:
        again = parse(text)
    except ScriptError as error:
        # Made-up indices and jumps may be ones that no valid program has.
        assert "is outside of dimension" in error.message or "outside of a loop" in error.message
        reject()
    assert structural_equal(again, func), text
    assert script(again) == text


#: Node classes that are shown but have no text that can be read, and why.
NOT_READ = {
    "core.Node": "the base class",
    "ir._Operators": "a base class",
    "ir.Expr": "a base class",
    "ir.BaseFunc": "a base class",
    "ir.Type": "a base class",
    "ir.GlobalInfo": "a base class",
    "ir.EnvFunc": "a function of this process, which no text can hold",
    "tirx.BinaryOp": "a base class",
    "tirx.CmpOp": "a base class",
    "tirx.LogicalOp": "a base class",
    "tirx.Stmt": "a base class",
    "tirx.ProducerLoad": "belongs to te; create_prim_func replaces it",
}


def test_every_node_class_of_ir_and_tirx_has_a_printer():
    import workbench.tirx.script  # noqa: F401

    missing = []
    for key, cls in iter_node_types():
        if key.partition(".")[0] not in ("core", "ir", "tirx") or key in NOT_READ:
            continue
        if printers.find(cls) is None and load_printer(cls) is None:
            missing.append(key)
    assert not missing, f"no printer and no reason: {missing}"


def test_examples_cover_every_node_class_of_tirx():
    from workbench.core.traverse import iter_nodes

    seen: set[type] = set()
    values = [*EXPRESSIONS.values(), *[s for group in STATEMENTS.values() for s in group]]
    for value in (*values, *FUNCTIONS.values()):
        seen.update(type(n) for n in iter_nodes(value))
    elsewhere = {E.Reduce, TensorIntrin}  # shown, tested below
    wanted = {
        cls
        for key, cls in iter_node_types()
        if key.startswith("tirx.")
        and key not in NOT_READ
        and cls.__module__.startswith("workbench.tirx.")
    }
    assert wanted - seen - elsewhere == set()


def test_reductions_and_intrinsics_are_shown():
    axis = E.IterVar(Range(0, 4), "r", 2)
    combiner = E.CommReducer((x,), (y,), (E.Add(x, y),), (FloatImm("float32", 0.0),))
    reduce = E.Reduce(combiner, (E.BufferLoad(A, [axis.var, 0]),), (axis,), IntImm("bool", 1), 0)
    text = script(reduce)
    assert text.startswith("T.reduce(T.comm_reducer(lambda x, y: x + y, [T.float32(0.0)])")
    shown = script(TensorIntrin(function(ev), function(ev)))
    assert "def desc(" in shown
    assert "def impl(" in shown


@pytest.mark.parametrize("value", [*EXPRESSIONS.values()], ids=[*EXPRESSIONS])
def test_parts_are_printed_alone(value):
    assert isinstance(value, Node)
    assert "not printable" not in script(value)
