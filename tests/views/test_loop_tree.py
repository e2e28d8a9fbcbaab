from workbench import te
from workbench.core.traverse import rewrite
from workbench.ir.expr import IntImm
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import Evaluate, For, ForKind
from workbench.views.highlight import code_lines
from workbench.views.loop_tree import buffer_rows, loop_tree, scopes
from workbench.views.part import Empty
from workbench.views.render_html import to_html
from workbench.views.render_text import to_text
from workbench.views.script_view import identified


def two_blocks():
    a = te.placeholder((16, 8), name="A")
    b = te.compute((16, 8), lambda i, j: a[i, j] * 2.0, name="B")
    k = te.reduce_axis((0, 8), name="k")
    c = te.compute((16,), lambda i: te.sum(b[i, k], axis=k), name="C")
    return te.create_prim_func([a, c])


def test_tree_names_loops_blocks_kinds_and_buffers():
    func = two_blocks()
    text = to_text(loop_tree(func))
    assert "for i 16" in text
    assert "block B SS B ← A" in text
    assert "block C SR C ← B" in text
    assert "[reduction]" in text
    assert ("B", "(16, 8) f32", "allocated (global)") in list(buffer_rows(func))


def test_kind_and_annotation_are_words():
    marked = rewrite(
        two_blocks(),
        {
            For: lambda f: f.replace(
                kind=ForKind.PARALLEL, annotations={"unroll": IntImm("int32", 4)}
            )
        },
    )
    html = to_html(loop_tree(marked))
    assert "✓ parallel" in html
    assert "unroll = 4" in html


def test_identities_are_counted_and_match_the_script():
    names = [scope.ident for top in scopes(two_blocks()) for scope in top.walk()]
    assert names == ["loop:i", "loop:j", "block:B", "loop:i#2", "loop:k", "block:C"]
    script = """\
@T.prim_func
def main(A: T.Buffer((16, 8), "float32")):
    for i, j in T.grid(16, 8):
        with T.sblock("B"):
            pass
    for i, k in T.grid(16, 8):
        with T.sblock("C"):
            pass
"""
    found = [line.ident for line in identified(code_lines(script)) if line.ident]
    assert " ".join(found).split() == names


def test_no_loops_says_so():
    found = loop_tree(PrimFunc([], Evaluate(0)))
    assert isinstance(found, Empty)
    assert "straight-line" in found.reason
