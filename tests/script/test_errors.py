"""What a wrong script says: the message, the line, the underlined place, what to try."""

from __future__ import annotations

import pickle

import pytest

from workbench.script import ScriptError, parse
from workbench.script import ir as I
from workbench.script import tirx as T

HEAD = '@T.prim_func\ndef main(A: T.Buffer((4, 8), "float32"), n: T.int32):\n'


def failing(text: str) -> ScriptError:
    with pytest.raises(ScriptError) as caught:
        parse(text)
    return caught.value


def body(*lines: str) -> ScriptError:
    return failing(HEAD + "".join(f"    {line}\n" for line in lines))


def test_the_whole_text_of_an_error():
    error = body("A[0, 0] = T.float32(1)", "A[0, m] = 1.0")
    assert str(error) == (
        "undefined variable 'm'\n"
        " --> <script>:4:10\n"
        "   |\n"
        " 4 |     A[0, m] = 1.0\n"
        "   |          ^\n"
        "  try: define it before this line, or pass it in extra_vars if it comes from outside"
    )
    assert (error.lineno, error.offset, error.end_offset) == (4, 10, 11)


def test_python_syntax_error():
    error = body("A[0, 0] = = 1.0")
    assert "not valid Python" in error.message
    assert error.lineno == 3
    assert "    A[0, 0] = = 1.0" in str(error)


CASES = {
    "unknown function": ("T.evaluate(T.sqr(1.0))", "T has no 'sqr'", "did you mean 'sqrt'"),
    "unknown intrinsic of nothing like it": ("T.evaluate(T.zzzz(1))", "T has no 'zzzz'", ""),
    "near name": ("T.evaluate(nn)", "undefined variable 'nn'", "did you mean 'n'"),
    "number of indices": ("A[0] = 1.0", "A has 2 dimensions, got 1", ""),
    "number of arguments": ("T.evaluate(T.exp())", "", ""),
    "wrong operand type": ("T.evaluate(T.exp(n))", "argument 0 must be floating point", ""),
    "loop variables": ("for i, j in T.grid(2, 3, 4): pass", "expected 3 loop variables, got 2", ""),
    "no loop": ("for i in n: pass", "expected a loop, got Var", "T.grid(n, m)"),
    "else of a loop": ("for i in range(3):\n        pass\n    else:\n        pass", "no else", ""),
    "axis outside of a block": (
        "vi = T.axis.spatial(4, n)",
        "T.axis stands outside of a block",
        "",
    ),
    "reads outside of a block": ("T.reads(A[0, 0])", "stands outside of a block", "T.sblock"),
    "no name": ("T.alloc_buffer((4,))", "has to be assigned to a name", ""),
    "not a buffer": ("n[0] = 1", "n is not a buffer", ""),
    "statement": ("import os", "Import statements are not part of TVMScript", ""),
    "return of nothing": ("return", "`return` needs a value", ""),
    "let without a value": ("x: T.let[T.int32]", "T.let needs a value", ""),
    "a buffer annotation": ("B: T.Buffer((4,)) = A", "T.alloc_buffer or T.decl_buffer", ""),
    "with something else": ("with n: pass", "`with` expects a frame", "T.sblock"),
    "remap of no loop": (
        'with T.sblock("b"):\n        vi = T.axis.remap("S", [n])',
        "expected loop variables",
        "T.axis.spatial",
    ),
    "two inits": (
        'with T.sblock("b"):\n        with T.init(): pass\n        with T.init(): pass',
        "a block has one",
        "",
    ),
    "thread": (
        "for i in T.thread_binding(4): pass",
        "the thread is missing",
        'thread="threadIdx.x"',
    ),
    "data type": ("T.evaluate(T.int33(1))", "T has no 'int33'", "int32"),
    "mixed vectors": (
        "T.evaluate(T.Broadcast(1, 4) + T.Broadcast(1, 8))",
        "vectors of different lengths",
        "",
    ),
    "truth of an expression": ("T.evaluate([x for x in [1] if n > 2])", "no truth value", ""),
    "assertion without message": ("assert n > 0", "needs a message", ""),
    "division by zero": ("T.evaluate(n // 0)", "division of n by zero", ""),
}


@pytest.mark.parametrize("name", CASES)
def test_statement(name: str):
    code, message, hint = CASES[name]
    error = body(*code.split("\n    "))
    assert message in str(error), error
    assert hint in str(error)
    assert error.lineno >= 3
    assert "^" in str(error)


def test_signature():
    error = failing("@T.prim_func\ndef main(a):\n    pass\n")
    assert "parameter 'a' has no type" in error.message
    assert (error.lineno, error.offset) == (2, 10)
    error = failing("@T.prim_func\ndef main(a: T.int32 = 3):\n    pass\n")
    assert "plain names" in error.message
    error = failing('@T.prim_func\ndef main(A: T.Buffer(("n +", 4))):\n    pass\n')
    assert "'n +' is no expression" in error.message
    error = failing(
        '@T.prim_func\ndef main(A: T.Buffer(("n", 4))):\n    n = T.int32()\n    n = T.int64()\n'
    )
    assert "n is int64 where it was used first, here it is int32" in error.message


def test_text_without_a_definition():
    assert "defines no function" in failing("x = 1\n").message
    assert (
        "expected one definition, found 2"
        in failing(HEAD + "    pass\n" + HEAD + "    pass\n").message
    )
    assert "no script decorator" in failing("def main():\n    pass\n").message
    assert "expected a decorated function or class" in failing("while True: pass\n").message
    with pytest.raises(TypeError, match="expected the text"):
        parse(3)


def test_wrong_use_of_decorators():
    with pytest.raises(ScriptError, match=r"T\.prim_func decorates a function, got int"):
        T.prim_func(3)
    with pytest.raises(ScriptError, match="decorates a class"):
        I.ir_module(lambda: None)
    error = failing(HEAD.replace("@T.prim_func", "@T.prim_func(privat=True)") + "    pass\n")
    assert "privat" in error.message
    error = failing(HEAD.replace("@T.prim_func", "@T.prim_func(True)") + "    pass\n")
    assert "given by name" in error.message


def test_module():
    error = failing(
        "@I.ir_module\nclass Module:\n    @T.prim_func\n    def f(n: T.int32):\n"
        "        T.evaluate(Module.g(n))\n"
    )
    assert "Module has no 'g'" in error.message
    assert error.lineno == 5
    error = failing("@I.ir_module\nclass Module:\n    for i in []: pass\n")
    assert "For statements have no meaning in a module" in error.message


def test_place_in_this_file():
    with pytest.raises(ScriptError) as caught:

        @T.prim_func
        def main(A: T.Buffer((4,), "float32")):
            A[0] = T.float32(1)
            A[1] = unknown_name

    error = caught.value
    assert error.filename == __file__
    lines = open(__file__, encoding="utf-8").read().split("\n")
    assert lines[error.lineno - 1][error.offset - 1 : error.end_offset - 1] == "unknown_name"
    assert "A[1] = unknown_name" in str(error)


def test_source_that_is_not_there():
    space: dict = {"T": T}
    with pytest.raises(ScriptError, match="source of 'main' is not available"):
        exec("@T.prim_func\ndef main(n: T.int32):\n    pass\n", space)


def test_columns_count_characters():
    error = body('T.evaluate(T.call_packed("ééé", q))')
    assert (error.offset, error.end_offset) == (37, 38)


def test_words_outside_of_a_function():
    with pytest.raises(ScriptError, match=r"T.reads has a meaning only inside"):
        T.reads()
    with pytest.raises(AttributeError, match="did you mean 'parallel'"):
        T.parallell


def test_an_error_can_be_copied():
    error = body("T.evaluate(m)")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "@T.prim_func\ndef f(a: T.Buffer((8,), 'float32')):\n    for i in range(8.5):\n"
            "        a[i] = 0.0\n",
            "expected an integer as extent of loop i",
        ),
        (
            "@T.prim_func\ndef f(a: T.Buffer((8,), 'float32')):\n    a[0] = 'x'\n",
            "a string is no number",
        ),
        (
            "@T.prim_func\ndef f(a: T.int32, a: T.int32):\n    T.evaluate(a)\n",
            "two parameters are named 'a'",
        ),
        (
            "@R.function\ndef f(x: R.Tensor((2,), 'int8'), x: R.Tensor((2,), 'int8')):\n"
            "    return x\n",
            "two parameters are named 'x'",
        ),
        (
            "@R.function\ndef f(x: R.Tensor((2, 3), 'float32')):\n"
            "    y: R.Tensor((7, 3), 'float32') = R.add(x, x)\n    return y\n",
            r"'y' is declared as R.Tensor\(\(7, 3\).*the value has the type R.Tensor\(\(2, 3\)",
        ),
        (
            "@R.function\ndef f(x: R.Tensor((2,), 'int8')) -> R.Tensor((3,), 'int8'):\n"
            "    return x\n",
            "the result of 'f' is declared as",
        ),
        (
            "@R.function\ndef f(x: R.Tensor((2,), 'int8')):\n    with R.dataflow():\n"
            "        y = R.add(x, x)\n    return y\n",
            "undefined variable 'y'",
        ),
    ],
)
def test_contradictions_are_refused_where_they_stand(text: str, message: str) -> None:
    head = "from workbench.script import relax as R, tirx as T\n"
    with pytest.raises(ScriptError, match=message) as caught:
        parse(head + text)
    assert caught.value.lineno


@pytest.mark.parametrize(
    ("line", "index", "column"),
    [
        ("A[4, 0] = 0.0", 4, 7),
        ("A[0, -1] = 0.0", -1, 10),
        ("A[0, 0] = A[3, T.int64(8)]", 8, 20),
        ("A[0, 0] += A[0, 9]", 9, 21),
    ],
)
def test_a_constant_index_outside_of_its_buffer(line, index, column):
    error = body(line)
    assert error.message.startswith(f"index {index} is outside of dimension ")
    assert (error.lineno, error.offset) == (3, column)
    assert "^" in str(error)


def test_guarded_accesses_and_addresses_may_name_what_does_not_exist():
    parse(
        HEAD + "    if n > 3:\n        A[4, 0] = T.float32(0)\n"
        "    A[0, 0] = T.if_then_else(n > 3, A[-1, 0], T.float32(0))\n"
        "    T.evaluate(T.address_of(A[4, 0]))\n"
    )


@pytest.mark.parametrize("word", ["break", "continue"])
def test_leaving_a_loop_outside_of_one(word):
    error = body("A[0, 0] = T.float32(0)", "if n > 3:", f"    {word}")
    assert error.message == f"`{word}` stands outside of a loop"
    assert (error.lineno, error.offset) == (5, 9)
    parse(HEAD + f"    for i in range(4):\n        if n > i:\n            {word}\n")
