"""The reader: what scripts mean, where names come from, notebooks, macros."""

from __future__ import annotations

import linecache

import pytest

from workbench.core import assert_structural_equal, structural_equal
from workbench.ir import IRModule
from workbench.ir.expr import IntImm
from workbench.script import ScriptError, from_source, parse
from workbench.script import ir as I
from workbench.script import tirx as T
from workbench.tirx import expr as E
from workbench.tirx import stmt as S
from workbench.tirx.function import PrimFunc

N = 16


def read(
    *lines: str, params='A: T.Buffer((4, 8), "float32"), n: T.int32, p: T.handle', deco=""
) -> PrimFunc:
    text = f"@T.prim_func{deco}\ndef main({params}):\n"
    return parse(text + "".join(f"    {line}\n" for line in "\n".join(lines).split("\n")))


def same(one: PrimFunc, other: PrimFunc):
    assert_structural_equal(one, other)


def test_decorated_functions_see_names_around_them():
    M = 8

    @T.prim_func
    def main(A: T.Buffer((N, M), "float32"), B: T.Buffer(("n", N))):
        n = T.int32()
        for i in range(M):
            A[0, i] = B[n - 1, i] * T.float32(M)

    assert [int(d) for d in main.params[0].shape] == [16, 8]
    assert main.attrs["global_symbol"] == "main"
    assert main.params[1].shape[0].name == "n"


def test_closures():
    def make(extent):
        @T.prim_func(private=True)
        def kernel(A: T.Buffer((extent,), "float32")):
            for i in range(extent):
                A[i] = T.float32(extent)

        return kernel

    assert int(make(3).params[0].shape[0]) == 3
    assert make(5).body.extent.value == 5


def test_modules():
    scale = 2

    @I.ir_module
    class Module:
        I.module_attrs({"x": 1})

        @T.prim_func(private=True)
        def callee(n: T.int32) -> T.int32:
            return n * scale

        @T.prim_func
        def main(n: T.int32):
            T.evaluate(Module.callee(n))
            T.evaluate(cls.callee(n))

    assert isinstance(Module, IRModule)
    assert [g.name_hint for g in Module.functions] == ["callee", "main"]
    call = Module["main"].body.seq[0].value
    assert call.op.name_hint == "callee"
    assert call.dtype == "int32"
    assert Module.attrs["x"] == 1
    assert "global_symbol" not in Module["callee"].attrs


def test_extra_vars_and_imports():
    text = (
        "# from tvm.script import tirx as T\n"
        "from tvm.script import tirx as T\n"
        "import numpy as np\n\n"
        "@T.prim_func\ndef main(A: T.Buffer((K, 4))):\n"
        "    A[0, 0] = T.float32(np.pi)\n"
    )
    func = from_source(text, {"K": 3})
    assert int(func.params[0].shape[0]) == 3
    assert abs(func.body.value.value - 3.1415927) < 1e-6


def test_notebook_cells():
    cell = "@T.prim_func\ndef main(A: T.Buffer((4,), 'float32')):\n    A[0] = T.float32(1)\n"
    linecache.cache["<cell 1>"] = (len(cell), None, cell.splitlines(True), "<cell 1>")
    space = {"T": T, "__name__": "__main__"}
    exec(compile(cell, "<cell 1>", "exec"), space)
    assert isinstance(space["main"], PrimFunc)
    cell = (
        "x = 3\n@I.ir_module\nclass Mod:\n"
        "    @T.prim_func\n    def f(n: T.int32):\n        T.evaluate(n + x)\n"
    )
    linecache.cache["<cell 2>"] = (len(cell), None, cell.splitlines(True), "<cell 2>")
    space = {"T": T, "I": I, "__name__": "__main__"}
    exec(compile(cell, "<cell 2>", "exec"), space)
    assert isinstance(space["Mod"], IRModule)


EQUAL = {
    "ranges": (
        "for i in range(3, 9):\n    T.evaluate(i)",
        "for i in T.serial(3, 9):\n    T.evaluate(i)",
    ),
    "grid with starts": (
        "for i, j in T.grid((1, 5), 3):\n    T.evaluate(i)",
        "for i in range(1, 6):\n    for j in range(3):\n        T.evaluate(i)",
    ),
    "with and without": (
        'with T.attr(A, "x", 1):\n    T.evaluate(n)',
        'T.attr(A, "x", 1)\nT.evaluate(n)',
    ),
    "attributes": (
        'T.attr({"a": 1, "b": 2})\nT.evaluate(n)',
        'with T.attr({"a": 1}):\n    with T.attr({"b": 2}):\n        T.evaluate(n)',
    ),
    "threads": (
        'bx = T.launch_thread("blockIdx.x", 8)\nT.evaluate(bx)',
        'bx = T.env_thread("blockIdx.x")\nwith T.launch_thread(bx, 8):\n    T.evaluate(bx)',
    ),
    "branches": (
        "if n > 3:\n    T.evaluate(1)\nelse:\n    T.evaluate(2)",
        "with T.If(n > 3):\n    with T.Then():\n        T.evaluate(1)\n"
        "    with T.Else():\n        T.evaluate(2)",
    ),
    "elif": (
        "if n > 3:\n    T.evaluate(1)\nelif n > 2:\n    T.evaluate(2)",
        "if n > 3:\n    T.evaluate(1)\nelse:\n    if n > 2:\n        T.evaluate(2)",
    ),
    "scalars": ("x = n + 1\nx += 2\nT.evaluate(x)", "x: T.int32 = n + 1\nx = x + 2\nT.evaluate(x)"),
    "binding": ("x: T.let = n + 1\nT.evaluate(x)", "x = T.bind(n + 1)\nT.evaluate(x)"),
    "vectors": ("A[0, 0:4] = A[1, T.Ramp(0, 1, 4)]", "A[0, T.Ramp(0, 1, 4)] = A[1, 0:4]"),
    "strided vectors": ("A[0, 0:8:2] = A[1, 0:4]", "A[0, T.Ramp(0, 2, 4)] = A[1, T.Ramp(0, 1, 4)]"),
    "views": (
        "B = A.view(16, 2)\nB[0, 0] = 1.0",
        "B = T.decl_buffer((16, 2), data=A.data)\nB[0, 0] = 1.0",
    ),
    "choice": ("T.evaluate(1 if n > 0 else 2)", "T.evaluate(T.if_then_else(n > 0, 1, 2))"),
    "chains": ("T.evaluate(0 < n < 4)", "T.evaluate(T.And(0 < n, n < 4))"),
    "casts": ("T.evaluate(n + 1.5)", 'T.evaluate(T.Cast("float32", n) + T.float32(1.5))'),
    "handles": (
        'B = T.match_buffer(p, (4, n), "float32")\nB[0, 0] = 1.0',
        "m = T.meta_var(n)\nB = T.match_buffer(p, [4, m])\nB[0, 0] = T.float32(1)",
    ),
    "python loops": (
        "for k in [1, 2]:\n    T.evaluate(n + k)",
        "T.evaluate(n + 1)\nT.evaluate(n + 2)",
    ),
    "decided branches": ("if 1 > 2:\n    T.evaluate(1)\nelse:\n    T.evaluate(2)", "T.evaluate(2)"),
    "comprehensions": (
        "T.call_packed('f', *[n + k for k in range(2)])".replace("range(2)", "[0, 1]"),
        "T.call_packed('f', n, n + 1)",
    ),
    "assertion": ('assert n > 0, "bad"', 'assert n > 0, ("RuntimeError", ["bad"])'),
    "folding": ("T.evaluate(n * 1 + 0)", "T.evaluate(n)"),
    "docstring": ('"""What it does."""\nT.evaluate(n)', "T.evaluate(n)"),
    "short words": ("T.evaluate(T.i64(1))", "T.evaluate(T.int64(1))"),
    "astype": ('T.evaluate(n.astype("int64"))', 'T.evaluate(T.Cast("int64", n))'),
}


@pytest.mark.parametrize("name", EQUAL)
def test_two_forms_of_one_program(name):
    one, other = EQUAL[name]
    same(read(one), read(other))


def test_regions_are_found():
    func = read(
        "for i, j in T.grid(4, 4):",
        '    with T.sblock("b"):',
        '        vi, vk = T.axis.remap("SR", [i, j])',
        "        with T.init():",
        "            A[vi, 0] = 0.0",
        "        for l in range(2):",
        "            A[vi, 0] = A[vi, 0] + B[vk, vi * 2 + l]",
        params='A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")',
        deco="(s_tir=True)",
    )
    block = next(b for b in _blocks(func) if b.name_hint == "b")
    assert [str(r) for r in block.reads] == ["B[vk, vi * 2:vi * 2 + 2]"]
    assert [str(w) for w in block.writes] == ["A[vi, 0]"]
    assert func.attrs["s_tir"] is True


def _blocks(func):
    from workbench.core.traverse import iter_nodes

    return list(iter_nodes(func, S.SBlock))


def test_the_root_block_is_added():
    func = read(
        "for i in range(4):",
        '    with T.sblock("b"):',
        "        vi = T.axis.spatial(4, i)",
        "        A[vi, 0] = 1.0",
    )
    assert isinstance(func.body, S.SBlockRealize)
    assert func.body.block.name_hint == "root"
    assert isinstance(read("A[0, 0] = 1.0").body, S.BufferStore)
    own = read('with T.sblock("mine"):', "    T.reads()", "    T.writes()", "    T.evaluate(n)")
    assert own.body.block.name_hint == "mine"


def test_allocations_go_to_the_innermost_block():
    func = read(
        "C = T.sblock_alloc_buffer((4,))",
        'with T.sblock("b"):',
        "    D = T.sblock_alloc_buffer((4,))",
        "    D[0] = C[0]",
    )
    root = func.body.block
    assert [b.name for b in root.alloc_buffers] == ["C"]
    assert [b.name for b in root.body.block.alloc_buffers] == ["D"]


def test_operators_build_what_they_say():
    func = read("T.evaluate(n + n - (n - n))")
    value = func.body.value
    assert isinstance(value, E.Sub)
    assert isinstance(value.b, E.Sub)
    exact = read("T.evaluate(T.Add(n, 0))").body.value
    assert isinstance(exact, E.Add)
    assert isinstance(exact.b, IntImm)


def test_macros():
    @T.macro
    def twice(buffer, value):
        buffer[0, 0] = value
        buffer[0, 1] = value

    @T.prim_func(private=True)
    def main(A: T.Buffer((4, 8), "float32")):
        twice(A, T.float32(3))

    same(
        main,
        read(
            "A[0, 0] = 3.0",
            "A[0, 1] = 3.0",
            params='A: T.Buffer((4, 8), "float32")',
            deco="(private=True)",
        ),
    )


def test_symbols_of_the_signature_keep_their_type():
    func = read(
        "n = T.int64()",
        "T.evaluate(n)",
        params='A: T.Buffer(("n", 4), "float32"), B: T.Buffer(("n * 2", 4))',
    )
    n = func.params[0].shape[0]
    assert n.dtype == "int64"
    assert func.body.value is n
    assert structural_equal(func.params[1].shape[0], n * 2)


def test_layouts_of_tvm():
    func = read(
        "T.evaluate(0)",
        params='A: T.Buffer((4, 8), "float32", layout=T.TileLayout(T.S[(4, 8):(8, 1)])), '
        "B: T.Buffer((), layout=None)",
    )
    assert func.params[0].ty.layout is None


def test_every_registered_intrinsic_is_in_the_namespace():
    from workbench.ir.expr import Op

    for name in Op.list_op_names():
        if name.startswith("tirx."):
            assert callable(getattr(T, name[5:])), name
    assert {"exp", "float32"} <= set(dir(T))


def test_annotations_work_without_reading():
    assert repr(T.float32) == "T.float32"
    assert T.Buffer(("n", 4), "float32") is not None
    with pytest.raises(ScriptError, match="only in the parameters"):
        T.Buffer(("n", 4)).bind("A")
