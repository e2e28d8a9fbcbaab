"""The script language against the reference: each system reads what the other prints."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import textwrap

import pytest

from workbench.core import structural_equal
from workbench.script import parse, script

#: A Python that has `apache-tvm`: this one, or the one that the environment names.
REFERENCE = os.environ.get("WORKBENCH_REFERENCE_PYTHON", "")
if not REFERENCE and importlib.util.find_spec("tvm") is not None:
    REFERENCE = sys.executable

pytestmark = pytest.mark.skipif(
    not REFERENCE,
    reason="the reference is not installed and WORKBENCH_REFERENCE_PYTHON is not set",
)


def run(program: str, data: object) -> dict[str, str]:
    """Runs `program` with `data` (JSON) on its standard input; what it prints last is JSON."""
    done = subprocess.run(
        [REFERENCE, "-c", program],
        input=json.dumps(data),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


PARAMS = 'A: T.Buffer((4, 8), "float32"), n: T.int32, p: T.handle, q: T.handle("float32")'

#: Bodies of loop functions.
PLAIN = [
    'B = T.decl_buffer((32,), "float32", data=A.data)\nB[0] = 1.0',
    "B = T.decl_buffer((32,), data=A.data, elem_offset=3)\nB[0] = 1.0",
    "B = T.decl_buffer((8, 4), data=A.data, strides=[4, 1])\nB[0, 0] = 1.0",
    'B = T.decl_buffer((8, 4), "int32", data=A.data)\nB[0, 0] = 1',
    "B = T.decl_buffer((8, 4), data=p)\nB[0, 0] = 1.0",
    'B = T.decl_buffer((8, 4), data=T.reinterpret(T.handle("float32").ty, p))\nB[0, 0] = 1.0',
    "L = T.alloc_local((8,))\nB = T.decl_buffer((4, 2), data=L.data)\nB[0, 0] = 1.0",
    "B = T.decl_buffer((4,), data=T.address_of(A[1, 0]))\nB[0] = 1.0",
    'B = T.alloc_buffer((8, 4), scope="local")\nB[0, 0] = 1.0',
    'B = T.alloc_buffer((8, 4), "float16", scope="shared.dyn")\nB[0, 0] = T.float16(1)',
    'B = T.alloc_buffer((8, 4), scope="shared", strides=(8, 1))\nB[0, 0] = 1.0',
    'B = T.alloc_buffer((8, 4), scope="local", align=16)\nB[0, 0] = 1.0',
    "B = A.view(16, 2)\nB[0, 0] = 1.0",
    "x = n + 1\nT.evaluate(x)",
    "x: T.int32 = n + 1\nx = x + 1\nx += 2\nT.evaluate(x)",
    "x: T.int32\nx = n\nT.evaluate(x)",
    "x: T.let = n + 1\nT.evaluate(x)",
    'x: T.let[T.handle("float32")] = A.data\nT.evaluate(x)',
    "x = T.bind(n + 1)\nT.evaluate(x)",
    "x = T.meta_var(n + 1)\nT.evaluate(x)",
    "x = T.float32(0)\nfor i in range(4):\n    x = x + A[i, 0]\nA[0, 0] = x",
    'assert n > 0, "bad"',
    'assert n > 0, ("ValueError", ["a", "b"])',
    "if n > 0:\n    T.evaluate(n)\nelif n < 3:\n    T.evaluate(1)\nelse:\n    T.evaluate(2)",
    "for i in range(3, 9):\n    T.evaluate(i)",
    "for i in range(0, n, 2):\n    T.evaluate(i)",
    "for i, j in T.grid((1, 5), 3):\n    T.evaluate(i)",
    "for i in T.serial(4):\n    for j in T.parallel(4):\n        T.evaluate(i + j)",
    'for i in T.serial(4, annotations={"a": 1, "b": "s"}):\n    T.evaluate(i)',
    "for i in T.vectorized(4):\n    A[0, i] = 1.0",
    'for i in T.thread_binding(1, 4, thread="blockIdx.x", annotations={"a": 1}):\n'
    "    T.evaluate(i)",
    'bx = T.launch_thread("blockIdx.x", 8)\nT.evaluate(bx)',
    'T.attr(A.data, "x", 1)\nT.evaluate(n)',
    'with T.attr({"a": 1, "b": 2}):\n    T.evaluate(n)\nT.evaluate(n)',
    'T.call_packed("f", A.data, T.tvm_stack_make_shape(4, 8), T.float64(1.0), "s", True)',
    'T.evaluate(T.call_extern("float32", "sin", T.float32(1)))',
    "T.evaluate(T.Select(n > 0, 1, 2))\nT.evaluate(T.max(n, 3))\nT.evaluate(T.truncdiv(n, 3))",
    "A[0, 0:4] = T.Broadcast(T.float32(1), 4)\nA[0, 0:8:2] = A[1, T.Ramp(0, 2, 4)]",
    "A.vstore([0, T.Ramp(0, 1, 4)], T.Broadcast(T.float32(1), 4), "
    "predicate=T.Broadcast(T.bool(True), 4))",
    "T.evaluate(n > 0 and n < 3 or not n == 2)",
    "T.evaluate(1 if n > 0 else 2)",
    "T.evaluate(n + 1.5)\nT.evaluate(T.int64(1) + n)",
    "T.evaluate(-n)\nT.evaluate(~n)\nT.evaluate(n << 3)\nT.evaluate(n & 3)",
    'A[0, 0] = T.infinity("float32")\nA[0, 1] = T.float32("nan")',
    'T.evaluate(T.address_of(A[0, 0]))\nT.evaluate(A.access_ptr("rw"))',
    'T.evaluate(T.reinterpret("int32", T.float32(1)))\nT.evaluate(T.isnullptr(p))',
    "T.tvm_struct_set(p, 0, 1, n)\nT.evaluate(T.tvm_struct_get(p, 0, 1, 'int32'))",
    'T.evaluate(T.vectorlow("float32x4", T.Broadcast(T.float32(2), 8)))',
    "T.evaluate(T.atan2(T.float32(1), T.float32(2)))",
    "T.evaluate(n * 2 - (n + 3) - (n - n))",
    "pass",
]

#: Bodies of functions with blocks.
BLOCKS = [
    'C = T.sblock_alloc_buffer((4, 8), "float16", scope="local")\nC[0, 0] = T.float16(1)',
    'with T.sblock("b"):\n    vi = T.axis.spatial(4, n)\n    vk = T.axis.reduce((1, 5), n)\n'
    "    T.reads(A[vi, 0])\n    T.writes(A[vi, 0:2])\n    with T.init():\n        A[vi, 0] = 0.0\n"
    "    A[vi, vk] = A[vi, vk] + 1.0",
    'with T.sblock("b"):\n    vi = T.axis.spatial(T.int64(4), T.int64(2))\n    T.evaluate(vi)',
    'with T.sblock("b"):\n    vi = T.axis.S(4, n)\n    vj = T.axis.R(4, n)\n'
    "    A[vi, vj] = A[vj, vi] + 1.0",
    "with T.sblock():\n    T.reads()\n    T.writes()\n    T.evaluate(n)",
    'for i in range(4):\n    with T.sblock("b"):\n        vi = T.axis.remap("S", [i])\n'
    "        T.evaluate(vi)",
    'for i, j in T.grid(4, 4):\n    with T.sblock("b"):\n'
    '        vi, vj = T.axis.remap("SS", [i, j])\n        C = T.sblock_alloc_buffer((4,))\n'
    "        C[0] = A[vi, vj]",
    'for i in range(4):\n    A[i, 0] = 1.0\n    with T.sblock("b"):\n'
    '        vi = T.axis.remap("S", [i])\n        A[vi, 0] = 2.0',
    'with T.sblock("b"):\n    vi = T.axis.spatial(4, n)\n'
    '    T.sblock_attr({"a": [1, 2], "b": {"x": 1}, "c": True, "d": "s", "e": None, "f": 1.5})\n'
    '    T.sblock_attr({"zz": T.float32(1)})\n'
    '    C = T.match_buffer(A[vi, 0:4], (4,), "float32", strides=["s"], offset_factor=1)\n'
    "    T.evaluate(C[0])",
]

SIGNATURES = [
    "A: T.Buffer((4,))",
    'A: T.Buffer((), "int8")',
    'A: T.Buffer(("n", "m"), "int8", strides=("s", 1), offset_factor=2)',
    'A: T.Buffer(("n", 4)), B: T.Buffer(("n", "n * 2")), n: T.int32',
    'm: T.int64, A: T.Buffer(("m", 4))',
]

GRAPHS = [
    "R.add(x, x)",
    "R.sum(x, axis=[1], keepdims=True)",
    "R.nn.softmax(x, axis=-1)",
    "R.concat((x, x), axis=0)",
    "R.permute_dims(x, axes=[1, 0])",
    "R.reshape(x, R.shape([32]))",
    "R.split(x, indices_or_sections=2, axis=0)",
    "R.astype(x, dtype='float16')",
    "R.const(float('inf'), 'float32')",
    "(x, (x,))",
    "R.shape([4, 8])",
    "R.prim_value(3)",
    "R.str('text')",
    "R.dtype('float16')",
    "R.ExternFunc('f')",
    'R.call_packed("f", x, 1, R.str("s"), ty_args=(R.Tensor((4,), "float32"), R.Object))',
    'R.call_dps_packed("f", (x,), out_ty=R.Tensor((4, 8), "float32"))',
    'R.call_pure_packed("f", x, ty_args=(R.Object,))',
    'R.match_cast(x, R.Tensor((4, 8), "float32"))',
    "R.nn.conv2d(R.zeros((1, 1, 4, 4), 'float32'), R.zeros((1, 1, 3, 3), 'float32'), padding=1)",
    "R.take(x, R.const(0, 'int64'), axis=0)",
]


def _loops() -> dict[str, str]:
    out = {}
    for number, body in enumerate(PLAIN):
        text = textwrap.indent(body, "    ")
        out[f"plain {number}"] = f"@T.prim_func(private=True)\ndef main({PARAMS}):\n{text}\n"
    for number, body in enumerate(BLOCKS):
        text = textwrap.indent(body, "    ")
        out[f"block {number}"] = f"@T.prim_func(s_tir=True)\ndef main({PARAMS}):\n{text}\n"
    for number, params in enumerate(SIGNATURES):
        out[f"signature {number}"] = f"@T.prim_func\ndef main({params}):\n    T.evaluate(0)\n"
    return out


HEAD = '@R.function(private=True)\ndef main(x: R.Tensor((4, 8), dtype="float32")):\n'


def _graph(value: str) -> str:
    return f"{HEAD}    y = {value}\n    return y\n"


def _graphs() -> dict[str, str]:
    return {f"graph {n}": _graph(value) for n, value in enumerate(GRAPHS)} | {
        "dataflow": f"{HEAD}    with R.dataflow():\n        a = R.add(x, x)\n        b = R.exp(a)\n"
        "        R.output(b)\n    c = R.add(b, b)\n    return c\n",
        "branch": "@R.function\n"
        'def main(x: R.Tensor((4, 8), "float32"), c: R.Tensor((), "bool")):\n'
        "    if c:\n        t = R.exp(x)\n        r = R.add(t, t)\n"
        "    else:\n        r = R.sin(x)\n"
        "    return R.add(r, r)\n",
        "symbols": "@R.function\n"
        'def main(x: R.Tensor(("n", "n * 2"), "float32"), s: R.Shape(["m", 4]), o: R.Object):\n'
        "    n = T.int64()\n    m = T.int64()\n    y = R.add(x, x)\n"
        "    z = R.shape([n + m, 4])\n    return (y, z)\n",
        "inner": f"{HEAD}    @R.function\n"
        '    def inner(y: R.Tensor((4, 8), "float32")) -> R.Tensor((4, 8), "float32"):\n'
        "        z = R.add(y, x)\n        return z\n    return inner(x)\n",
        "module": "@I.ir_module\nclass Module:\n    @T.prim_func(private=True, s_tir=True)\n"
        "    def double(var_A: T.handle, var_B: T.handle):\n        n = T.int64()\n"
        '        A = T.match_buffer(var_A, (n, T.int64(8)), "float32")\n'
        '        B = T.match_buffer(var_B, (n, T.int64(8)), "float32")\n'
        '        for i, j in T.grid(n, T.int64(8)):\n            with T.sblock("B"):\n'
        '                vi, vj = T.axis.remap("SS", [i, j])\n'
        "                B[vi, vj] = A[vi, vj] * T.float32(2)\n"
        "    @R.function\n"
        '    def main(x: R.Tensor(("n", 8), "float32")) -> R.Tensor(("n", 8), "float32"):\n'
        "        n = T.int64()\n        cls = Module\n        with R.dataflow():\n"
        '            y = R.call_tir(cls.double, (x,), out_ty=R.Tensor((n, 8), "float32"))\n'
        "            R.output(y)\n        return y\n",
    }


PROGRAMS = {**_loops(), **_graphs()}

#: The reference does not read back its own text of these: the layout of a view is lost, and the
#: type of an access pointer.
LOST = ("plain 0", "plain 6", "plain 12", "plain 44")

#: Small arrays are written out here; the reference refers to metadata, which it does not print.
ARRAYS = {
    f"array {n}": _graph(value)
    for n, value in enumerate(
        ["R.const([1.5, 2.5], 'float32')", "R.take(x, R.const([0, 1], 'int64'), axis=0)"]
    )
}

PRINT = """
import json, sys, tvm
out = {}
for name, text in json.load(sys.stdin).items():
    out[name] = tvm.script.from_source(text, check_well_formed=False).script()
print(json.dumps(out))
"""

COMPARE = """
import json, sys, tvm
out = {}
for name, (theirs, ours) in json.load(sys.stdin).items():
    try:
        a = tvm.script.from_source(theirs, check_well_formed=False)
        b = tvm.script.from_source(ours, check_well_formed=False)
        tvm.ir.assert_structural_equal(a, b, map_free_vars=True)
        out[name] = ""
    except Exception as error:
        out[name] = str(error)[:1500]
print(json.dumps(out))
"""


@pytest.fixture(scope="module")
def printed() -> dict[str, str]:
    """What the reference prints for every program."""
    return run(PRINT, PROGRAMS)


@pytest.fixture(scope="module")
def compared() -> dict[str, str]:
    """For every program: empty, or why the reference does not read ours as the program."""
    ours = {}
    for name, text in {**PROGRAMS, **ARRAYS}.items():
        ours[name] = (text, script(parse(text), package="tvm"))
    return run(COMPARE, ours)


@pytest.mark.parametrize("name", PROGRAMS)
def test_we_read_what_the_reference_prints(printed, name):
    wanted = parse(PROGRAMS[name])
    text = printed[name]
    if name == "module":  # the reference prints symbols of kernels in a form that it cannot read
        assert '"n"' in text
    found = parse(text)
    assert structural_equal(found, wanted, map_free_vars=True), text


@pytest.mark.parametrize("name", [n for n in (*PROGRAMS, *ARRAYS) if n not in LOST])
def test_the_reference_reads_what_we_print(compared, name):
    assert compared[name] == ""


#: Programs that we write in another form than the reference, though both forms mean the same.
ANOTHER_FORM = {
    "signature 3": "symbols in signatures are always texts, so that Python can evaluate them",
    "signature 4": "symbols in signatures are always texts",
    "module": "kernels with int64 symbols take handles, which the reference can read",
}


@pytest.mark.parametrize("name", [n for n in _loops() if n not in ANOTHER_FORM])
def test_loop_programs_look_the_same(printed, name):
    def content(text: str) -> list[str]:
        return [line for line in text.split("\n") if line and not line.startswith("#")]

    assert content(script(parse(PROGRAMS[name]))) == content(printed[name])
