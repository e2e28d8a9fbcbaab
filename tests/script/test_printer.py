"""The printer: options, names, ranges, underlining, ill-formed programs, deep programs, time."""

from __future__ import annotations

import pytest

from workbench.core.errors import WorkbenchError
from workbench.core.traverse import iter_nodes
from workbench.ir import IRModule, Range
from workbench.ir.expr import GlobalVar, IntImm, Op, Var
from workbench.script import parse, print_with_ranges, script, tokenize, underline
from workbench.tirx import expr as E
from workbench.tirx import stmt as S
from workbench.tirx.buffer import decl_buffer
from workbench.tirx.function import PrimFunc

MATMUL = """\
# from workbench.script import ir as I
# from workbench.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((1024, 1024), "float32"), B: T.Buffer((1024, 1024), "float32"), C: T.Buffer((1024, 1024), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for i, j, k in T.grid(1024, 1024, 1024):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                T.reads(A[vi, vk], B[vk, vj])
                T.writes(C[vi, vj])
                with T.init():
                    C[vi, vj] = T.float32(0.0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]"""  # noqa: E501  (program text)


@pytest.fixture(scope="module")
def matmul() -> IRModule:
    return parse(MATMUL)


def block_c(mod: IRModule) -> S.SBlock:
    return next(b for b in iter_nodes(mod, S.SBlock) if b.name_hint == "C")


def test_text(matmul):
    assert str(matmul) == MATMUL
    assert matmul.script(package="tvm").startswith("# from tvm.script import ir as I\n")
    assert matmul.script(header=False) == MATMUL.partition("\n\n")[2]
    assert "class Other:" in matmul.script(name="Other")
    assert matmul["main"].script(name="kernel").split("\n")[3].startswith("def kernel(")
    assert "\n  for i, j" in matmul["main"].script(indent_spaces=2)


def test_without_sugar(matmul):
    text = matmul.script(syntax_sugar=False)
    assert "for i in T.serial(1024):" in text
    assert "vi = T.axis.spatial(1024, i)" in text
    assert 'with T.sblock("root"):' in text
    assert parse(text)["main"].body.block.name_hint == "root"


def test_options_are_checked(matmul):
    with pytest.raises(TypeError, match=r"sintax_sugar.*options: name, syntax_sugar"):
        matmul.script(sintax_sugar=False)
    assert matmul.script(verbose_expr=True, print_line_numbers=True) == MATMUL


def test_ranges(matmul):
    text, ranges = print_with_ranges(matmul)
    assert text == MATMUL
    inner = block_c(matmul)
    ((start, end),) = ranges[id(inner)]
    assert text[start:end].startswith('with T.sblock("C"):')
    assert text[start:end].endswith("* B[vk, vj]")
    store = inner.body
    ((start, end),) = ranges[id(store)]
    assert text[start:end] == "C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]"
    ((start, end),) = ranges[id(store.value)]
    assert text[start:end] == "C[vi, vj] + A[vi, vk] * B[vk, vj]"
    loops = list(iter_nodes(matmul, S.For))
    assert len({tuple(ranges[id(loop)]) for loop in loops}) == 1
    for places in ranges.values():
        for start, end in places:
            assert 0 <= start < end <= len(text)
    axis = inner.iter_vars[0]
    assert [text[a:b] for a, b in ranges[id(axis.var)]] == ["vi"] * len(ranges[id(axis.var)])
    assert len(ranges[id(axis.var)]) == 7


def test_every_node_of_a_program_has_a_range(matmul):
    _, ranges = print_with_ranges(matmul)
    hidden = (Range, GlobalVar, IntImm, Op)
    for node in iter_nodes(matmul):
        if not isinstance(node, (*hidden, E.IterVar)) and type(node).__name__ not in (
            "BufferType",
            "PrimType",
            "IRModule",
            "PointerType",
        ):
            assert id(node) in ranges or isinstance(node, S.BufferRegion), node


def test_underline(matmul):
    inner = block_c(matmul)
    text = underline(matmul["main"], [inner.body.value.b, inner.iter_vars[0].var], "not so")
    lines = text.split("\n")
    at = next(n for n, line in enumerate(lines) if "not so" in line)
    assert lines[at - 1].lstrip().startswith("C[vi, vj] = C")
    assert lines[at].count("^") >= len("A[vi, vk] * B[vk, vj]")
    error = WorkbenchError("no", nodes=[inner], root=matmul)
    assert 'with T.sblock("C"):\n            ^^^^^^^^^^^^^^^^^^^ no' in error.render()


def test_underline_options(matmul):
    inner = block_c(matmul)
    text = matmul.script(obj_to_underline=[inner], num_context_lines=1)
    assert text.count("\n") == 5
    assert text[0] == text[-1] == "…"
    text = matmul.script(obj_to_annotate={inner: "slow"})
    assert "^ slow" in text


def test_long_programs_are_cut_to_the_place():
    A = decl_buffer((4,), "float32", "A")
    stores = [S.BufferStore(A, float(n), [0]) for n in range(300)]
    func = PrimFunc([A], S.SeqStmt(stores))
    lines = underline(func, [stores[200]], "this").split("\n")
    assert len(lines) < 25
    assert lines[0] == lines[-1] == "…"


def test_snippets_declare_what_they_use():
    n, i = Var("n", "int32"), Var("i", "int32")
    A = decl_buffer((n, 4), "float16", "A", scope="shared")
    text = script(S.BufferStore(A, E.Cast("float16", i), [i, 0]))
    assert text.split("\n") == [
        "n = T.int32()",
        'A = T.Buffer((n, 4), "float16", scope="shared")',
        "i = T.int32()",
        'A[i, 0] = T.Cast("float16", i)',
    ]
    assert script(i + n) == "i + n"


def test_names_are_unique_python_names():
    params = [Var(name, "int32") for name in ("x", "x", "T", "for", "a.b", "1", "")]
    func = PrimFunc(params, S.Evaluate(params[1]))
    header = script(func).split("\n")[3]
    assert header == (
        "def main(x: T.int32, x_1: T.int32, T_1: T.int32, for_1: T.int32, a_b: T.int32, "
        "v_1: T.int32, v: T.int32):"
    )


def test_a_name_is_free_again_after_its_scope():
    one, two = Var("i", "int32"), Var("i", "int32")
    ev = S.Evaluate
    text = script(S.SeqStmt([S.For(one, 0, 4, 1, ev(one)), S.For(two, 0, 4, 1, ev(two))]))
    assert text.count("for i in T.parallel(4):") == 2
    nested = script(S.For(one, 0, 4, 1, S.For(two, 0, 4, 1, ev(one + two))))
    assert "T.evaluate(i + i_1)" in nested


def test_ill_formed_programs_are_printed():
    free, i = Var("free", "int32"), Var("i", "int32")
    A = decl_buffer((4,), "float32", "A")
    func = PrimFunc(
        [], S.SeqStmt([S.BufferStore(A, 1.0, [free]), S.For(i, 0, free, 0, S.Evaluate(i))])
    )
    text = script(func)
    assert "A = T.Buffer((4,))" in text
    assert "free = T.int32()" in text
    parse(text)
    object.__setattr__(func, "body", "no statement")
    assert "not printable as script" in script(func)
    assert repr(func)


def test_a_node_without_a_printer_is_a_reference_to_metadata():
    from workbench.ir import Span

    func = PrimFunc(
        [], S.Evaluate(0), attrs={"where": Range(0, 4), "span": Span("cell", 1, 2, 3, 4)}
    )
    assert "I.Range(0, 4)" in script(func)
    assert 'I.Span("cell", 1, 2, 3, 4)' in script(func)


def test_deep_programs():
    value = Var("x", "int32")
    for _ in range(20_000):
        value = E.Add(value, Var("y", "int32"))
    func = PrimFunc([], S.Evaluate(value))
    text = script(func)
    assert text.count(" + ") == 20_000
    loop = S.Evaluate(0)
    for _ in range(1_500):
        loop = S.For(Var("i", "int32"), 0, 4, 1, loop)
    assert script(loop, indent_spaces=0).count("T.parallel") == 1_500


def test_tokens():
    line = '    x: T.let[T.int32] = T.max(n, 3)  # note "s"'
    found = [(kind, line[a:b]) for kind, a, b in tokenize(line)]
    assert found == [
        ("name", "x"),
        ("operator", ":"),
        ("prefix", "T"),
        ("operator", "."),
        ("name", "let"),
        ("operator", "["),
        ("prefix", "T"),
        ("operator", "."),
        ("dtype", "int32"),
        ("operator", "]"),
        ("operator", "="),
        ("prefix", "T"),
        ("operator", "."),
        ("function", "max"),
        ("operator", "("),
        ("name", "n"),
        ("operator", ","),
        ("number", "3"),
        ("operator", ")"),
        ("comment", '# note "s"'),
    ]
    assert [k for k, _, _ in tokenize("@T.prim_func\nfor i in range(True):")] == [
        "decorator",
        "keyword",
        "name",
        "keyword",
        "builtin",
        "operator",
        "constant",
        "operator",
        "operator",
    ]
    tokenize('"unfinished \n \\')


def test_a_node_without_a_printer_is_shown_in_the_generic_form():
    from workbench.core.node import Node

    class Unprinted(Node):
        x: int

    assert script(Unprinted(3)) == str(Unprinted(3)) == "Unprinted(x=3)"
