from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.views.ir_diff import diff, diff_part, find_renames, folded, split_functions
from workbench.views.part import CodeFold
from workbench.views.render_text import to_text

MATMUL = """\
@T.prim_func(s_tir=True)
def main(A: T.Buffer((128, 128), "float32"), C: T.Buffer((128, 128), "float32")):
    for i, j, k in T.grid(128, 128, 128):
        with T.sblock("C"):
            v_i, v_j, v_k = T.axis.remap("SSR", [i, j, k])
            C[v_i, v_j] = C[v_i, v_j] + A[v_i, v_k] * A[v_k, v_j]
"""
SPLIT = """\
@T.prim_func(s_tir=True)
def main(A: T.Buffer((128, 128), "float32"), C: T.Buffer((128, 128), "float32")):
    for i_0 in T.parallel(8):
        for i_1, j, k in T.grid(16, 128, 128):
            with T.sblock("C"):
                v_i = T.axis.spatial(128, i_0 * 16 + i_1)
                v_j, v_k = T.axis.remap("SR", [j, k])
                C[v_i, v_j] = C[v_i, v_j] + A[v_i, v_k] * A[v_k, v_j]
"""
MODULE = """\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        with R.dataflow():
            lv = R.nn.relu(x)
            lv1 = R.add(lv, lv)
            R.output(lv1)
        return lv1

    @T.prim_func(private=True)
    def other(A: T.Buffer((2,), "float32")):
        T.evaluate(0)
"""


def test_equal_programs():
    found = diff(MATMUL, MATMUL)
    assert not found.changed
    assert found.counts == "no change"
    assert "the programs are equal" in to_text(diff_part(found))


def test_renames_are_not_changes():
    renamed = MATMUL.replace("v_i", "w0").replace("v_k", "v_z")
    found = diff(MATMUL, renamed)
    assert not found.changed
    assert dict(found.renames) == {"v_i": "w0", "v_k": "v_z"}
    assert "only names of variables differ" in to_text(diff_part(found))


def test_swapped_operands_are_a_change():
    found = diff(MATMUL, MATMUL.replace("A[v_i, v_k] * A[v_k, v_j]", "A[v_k, v_j] * A[v_i, v_k]"))
    assert (found.added, found.removed) == (1, 1)
    assert not found.renames


def test_changed_constant_is_a_change_and_is_emphasised():
    found = diff(MATMUL, MATMUL.replace("T.grid(128, 128, 128)", "T.grid(128, 128, 64)"))
    assert found.counts == "+1 −1"
    (function,) = found.functions
    strong = [
        t.text for line in function.lines if line.mark == "+" for t in line.tokens if t.strong
    ]
    assert strong == ["64"]


def test_split_is_told_as_split_and_deeper_lines_are_no_change():
    found = diff(MATMUL, SPLIT)
    assert "loop i (128) split into i_0 (8) × i_1 (16)" in found.summary
    assert "loop i_0 is parallel" in found.summary
    marks = {line.text.strip(): line.mark for line in found.functions[0].lines}
    assert marks['with T.sblock("C"):'] == "~"
    assert marks["C[v_i, v_j] = C[v_i, v_j] + A[v_i, v_k] * A[v_k, v_j]"] == "~"


def test_loop_kind_and_fusion_and_order():
    kind = "    for i in T.vectorized(4):\n        A[i] = 1\n"
    base = "    for i in range(4):\n        A[i] = 1\n"
    head = "def f():\n"
    assert "loop i is now vectorized (was serial)" in diff(head + base, head + kind).summary
    two = head + "    for i, j in T.grid(4, 5):\n        A[i, j] = 1\n"
    fused = head + "    for i_j_fused in range(20):\n        A[i_j_fused // 5] = 1\n"
    assert "loops i, j fused into i_j_fused (20)" in diff(two, fused).summary
    swapped = head + "    for j, i in T.grid(5, 4):\n        A[i, j] = 1\n"
    found = diff(two, swapped)
    assert found.changed or dict(found.renames) == {"i": "j", "j": "i"}


def test_functions_are_matched_by_name():
    names = [name for name, _ in split_functions(MODULE)]
    assert names == ["", "main", "other"]
    head, rest = MODULE.split("    @T.prim_func", 1)
    moved = head.split("    @R.function")[0] + "    @T.prim_func" + rest
    moved += "\n    @R.function" + head.split("    @R.function")[1]
    assert not diff(MODULE, moved).changed
    gone = diff(MODULE, head)
    assert [f.status for f in gone.functions] == ["same", "same", "removed"]
    assert gone.summary[0] == "function removed: other"
    assert (gone.added, gone.removed) == (0, 3)


def test_operator_counts():
    found = diff(MODULE, MODULE.replace("R.add(lv, lv)", "R.multiply(lv, lv)"))
    assert "uses: R.add −1, R.multiply +1" in found.summary


def test_folding_keeps_the_context():
    body = "".join(f"    x{i} = {i}\n" for i in range(40))
    found = diff("def f():\n" + body, "def f():\n" + body.replace("x20 = 20", "x20 = 99"))
    lines = folded(found.functions[0].lines)
    assert [type(one) for one in lines].count(CodeFold) == 2
    assert sum(len(one.lines) if isinstance(one, CodeFold) else 1 for one in lines) == 42


@given(st.permutations(["a", "b", "c", "d"]))
@settings(max_examples=24, deadline=None)
def test_any_permutation_of_names_is_found(names):
    text = ["a = f(b)", "b = g(a, c)", "c = h(d, a, a)", "d = k(d)"]
    table = dict(zip("abcd", names, strict=True))
    new = ["".join(table.get(ch, ch) for ch in line) for line in text]
    assert find_renames(text, new) == {a: b for a, b in table.items() if a != b}


@given(
    st.text(alphabet="abT. \n:()[]'\"#@=+", max_size=80),
    st.text(alphabet="abT. \n:#@", max_size=80),
)
@settings(max_examples=60, deadline=None)
def test_never_fails_on_ill_formed_text(a, b):
    found = diff(a, b)
    to_text(diff_part(found))
    if a == b:
        assert not found.changed
