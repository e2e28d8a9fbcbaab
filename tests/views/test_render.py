import json
import re
import shutil
from html.parser import HTMLParser

import pytest

from workbench.views import dot
from workbench.views.graph import Edge, Graph, Group, Node
from workbench.views.highlight import code_lines, tokens
from workbench.views.layout import layout
from workbench.views.part import (
    Badge,
    Bar,
    Bullets,
    Code,
    CodeFold,
    CodeLine,
    Details,
    Empty,
    GraphPart,
    Heading,
    Note,
    Plot,
    Text,
    Token,
    Tree,
    TreeItem,
    column,
    line,
    row,
    table,
)
from workbench.views.render_html import display_html, style, to_html
from workbench.views.render_json import to_json
from workbench.views.render_png import graph_png, plot_png
from workbench.views.render_svg import plot_svg
from workbench.views.render_text import number, to_text

GRAPH = Graph(
    (
        Node("x", "x", "(1, 8) f32", "param"),
        Node("lv", "relu<&>", "(1, 8) f32", "op", "g"),
        Node("out", "output", kind="output"),
    ),
    (Edge("x", "lv"), Edge("lv", "out")),
    (Group("g", "fused"),),
)
PAGE = column(
    Heading("Title & more"),
    line("words", Badge("changed", "info"), Badge("broken", "bad"), Text("dim", "dim")),
    row(Text("left"), Text("right", "code")),
    Code(
        (
            CodeLine((Token("a = 1 < 2"),), 1, "-"),
            CodeLine((Token("a = "), Token("3", "n", True)), 1, "+", "node", "here"),
            CodeFold("2 unchanged lines", code_lines("b\nc")),
        ),
        "listing",
    ),
    table(("name", "n"), [("a", "1"), ("<b>", "22")], "caption", "lr"),
    Tree((TreeItem(Text("root"), (TreeItem(Text("leaf"), ident="id1"),)),), "tree"),
    Bullets((Text("one"), Text("two")), True),
    Details(Text("more"), Text("hidden")),
    Note(Text("careful"), "warn"),
    Empty("nothing was found"),
    GraphPart(GRAPH, layout(GRAPH), "Graph of main"),
    Plot(
        (Bar("conv", 1.5, 1.4, 1.9), Bar("dense", 0.2, 0.19, 0.3, "noise")),
        "ms",
        "Kernels",
        ("2 cores",),
    ),
)


class Balanced(HTMLParser):
    """Fails on markup whose elements do not close in order."""

    def __init__(self):
        super().__init__()
        self.stack = []
        self.words = []

    def handle_starttag(self, tag, attrs):
        if tag not in ("img", "meta", "br", "input"):
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.stack[-1:] == [tag], f"</{tag}> closes {self.stack}"
        self.stack.pop()

    def handle_data(self, data):
        self.words.append(data)


def test_html_is_balanced_and_escaped():
    parser = Balanced()
    parser.feed(to_html(PAGE))
    assert parser.stack == []
    words = "".join(parser.words)
    for text in ("Title & more", "a = 1 < 2", "<b>", "relu<&>", "nothing was found"):
        assert text in words


def test_html_reads_without_style_script_and_svg():
    bare = re.sub(r"<style>.*?</style>|<svg.*?</svg>", "", display_html(PAGE, False), flags=re.S)
    assert "<script" not in bare
    for text in ("✗ broken", "Warning:", "<mark>", "<caption>caption", "Nodes (3)", "median ms"):
        assert text in bare
    # Every line of a listing ends in a line break of its own.
    listing = re.search(r"<pre.*?</pre>", bare, re.S).group()
    assert re.sub(r"<[^>]+>", "", listing).count("\n") == 4
    assert re.search(r'class="wb-mk">-<', listing)


def test_classes_are_prefixed():
    classes = set(re.findall(r'class="([^"]*)"', to_html(PAGE)))
    assert all(c.startswith("wb") for names in classes for c in names.split())
    selectors = re.sub(r"\{[^}]*\}", " ", style())
    assert all(name.startswith("wb") for name in re.findall(r"\.([a-zA-Z][\w-]*)", selectors))


def test_style_has_a_fall_back_for_every_jupyter_variable():
    assert re.findall(r"var\(--jp-[\w-]+\)", style()) == []


def test_text():
    text = to_text(PAGE)
    for part in (
        "Title & more\n------------",
        "[✗ broken]",
        "└─ leaf",
        "1. one",
        "(nothing was found)",
    ):
        assert part in text
    assert "1 + a = 3  # here" in text
    assert "lv: relu<&>  (1, 8) f32  · operator ← x" in text
    assert "[1.40 – 1.90]" in text


def test_json_is_plain_and_complete():
    data = json.loads(json.dumps(to_json(PAGE)))
    assert [child["part"] for child in data["children"]][:3] == ["Heading", "Line", "Row"]


def test_a_table_with_ragged_rows_is_our_own_mistake():
    with pytest.raises(AssertionError, match="1 cells under 2 columns"):
        table(("a", "b"), [("x",)])


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (1234.5, "1,234"), (12.34, "12.3"), (0.5, "0.5"), (3e-7, "3.00e-07")],
)
def test_numbers(value, text):
    assert number(value) == text


@pytest.mark.parametrize("language", ["script", "python", "llvm-ir", "asm", "nonsense"])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "x = T.float32(1.5)  # note",
        'a = "open',
        "%1 = fmul fast <8 x float> %a, %b ; c",
        "\tmov $1, %eax",
    ],
)
def test_tokens_join_to_the_text(language, text):
    assert "".join(t.text for t in tokens(text, language)) == text


def test_token_classes():
    kinds = {t.text: t.kind for t in tokens("    for i in T.grid(4, 5):  # T.x", "script")}
    assert kinds["for"] == "k"
    assert kinds["T."] == "m"
    assert kinds["grid"] == "f"
    assert kinds["4"] == "n"
    assert kinds["# T.x"] == "c"


def test_dot_names_every_node_and_cluster():
    text = dot.to_dot(GRAPH)
    assert "relu<&>" in text
    assert "subgraph cluster_g" in text
    assert "x -> lv" in text


@pytest.mark.parametrize("program", ["dot", "graphviz-pure"])
def test_png_by_either_program(program, monkeypatch):
    found = shutil.which(program) or dot.beside(program)
    if found is None:
        pytest.fail(f"{program} is not installed; the test extra brings graphviz-pure") if (
            program == "graphviz-pure"
        ) else pytest.skip("the system has no Graphviz")
    monkeypatch.setattr(dot, "program", lambda: found)
    data = graph_png(GraphPart(GRAPH, layout(GRAPH)))
    assert data is not None
    assert data.startswith(b"\x89PNG")


def test_png_without_graphviz(monkeypatch):
    monkeypatch.setattr("workbench.views.render_png.program", lambda: None)
    part = GraphPart(GRAPH, layout(GRAPH))
    assert graph_png(part).startswith(b"\x89PNG")
    plot = PAGE.children[-1]
    assert plot_png(plot).startswith(b"\x89PNG")
    assert plot_png(plot) == plot_png(plot)


def test_a_failing_layout_program_is_told():
    if dot.program() is None:
        pytest.fail("no layout program is installed")
    with pytest.raises(RuntimeError, match="failed"):
        dot.run_dot("digraph { a -> ")


def test_a_plot_keeps_its_width_whatever_its_texts():
    long = " ".join(["Conv model/block/conv;model/block/relu"] * 20)
    bars = (Bar("whole call", 40.0, 39.0, 41.0), Bar("fused_" + "conv2d_" * 20, 0.0021, 0, 1, long))
    svg = plot_svg(Plot(bars, "ms", "times"))
    assert 'width="860"' in svg
    assert "2.10 µs" in svg, "a time that is tiny in the unit of the plot has a smaller one"
    shown = re.sub(r"<title>.*?</title>", "", svg)
    assert long not in shown and f"<title>{long}</title>" in svg
    ends = [float(x) + 6.4 * len(re.sub("<.*?>", "", text)) for x, text in
            re.findall(r'<text x="([\d.]+)" y="[\d.]+" fill="#1f2328" font-family="sans-serif" '
                       r'font-size="12">(.*?)</text>', shown)]  # fmt: skip
    assert ends and max(ends) <= 860
    assert plot_png(Plot(bars, "ms", "times")).startswith(b"\x89PNG")


def test_stages_of_llvm_are_highlighted():
    kinds = {token.kind for token in code_lines("define i32 @main(ptr %a) {", "llvm")[0].tokens}
    assert {"k", "f", "m", "y"} <= kinds
