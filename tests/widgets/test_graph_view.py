from panel_examples import graph, graph_panel

from workbench.views.graph_panel import GraphPanel


def test_click_selects_in_both_twins(mount):
    w = mount(graph_panel())
    w.page.locator(".wb-gn[data-id=lv2]").click()
    assert "relu" in w.said()
    chosen = w.page.locator(".wb-glist li[aria-selected=true]")
    assert chosen.get_attribute("data-id") == "lv2"
    w.page.locator(".wb-glist li[data-id=x]").click()
    assert w.page.locator(".wb-gn.wb-on").get_attribute("data-id") == "x"
    assert w.requests == [], "selecting asks the kernel nothing"
    assert not w.errors


def test_keyboard_follows_edges(mount):
    w = mount(graph_panel())
    w.page.locator(".wb-glist li[data-id=x]").click()
    w.page.locator(".wb-gpane").focus()
    w.press("ArrowDown")
    assert "conv2d" in w.said()
    w.press("ArrowDown", "ArrowDown", "ArrowUp")
    assert "add" in w.said()
    assert w.keys_outside == []


def test_folding_a_group(mount):
    w = mount(graph_panel())
    assert w.page.locator(".wb-gn").count() == 7
    w.page.locator("[data-group=fused]").first.click()
    w.page.wait_for_function("document.querySelectorAll('.wb-gn').length === 5")
    assert "5 nodes shown, 1 of 1 groups folded" in w.said()
    assert w.requests == [("layout", {"folded": ["fused"]})]
    w.page.locator(".wb-gn[data-id=fused]").click()
    w.page.locator(".wb-widget").focus()
    w.press("Enter")
    w.page.wait_for_function("document.querySelectorAll('.wb-gn').length === 7")


def test_filter_says_when_nothing_matches(mount):
    w = mount(graph_panel())
    w.page.locator(".wb-widget").focus()
    w.press("/")
    w.page.keyboard.type("nothing like this")
    assert 'No node matches "nothing like this"' in w.said()


def test_shapes_differ_without_colour(mount):
    w = mount(graph_panel())
    shapes = w.page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll('.wb-gn')].map((n) => [
        [...n.classList].find((c) => c.startsWith('wb-k-')),
        n.innerHTML.replace(/<title>.*?<\\/title>|<text.*/gs, '').replace(/[\\d.]+/g, '#')]))"""
    )
    assert len(set(shapes.values())) == len(shapes) == 5


SCRIPT = """\
@R.function
def main(x):
    lv0: R.Tensor((1, 16, 8, 8), dtype="float32") = R.nn.conv2d(x)
    lv1 = R.add(lv0, lv0)
    return lv1
"""


def test_script_beside_the_graph_shares_the_selection(mount):
    panel = GraphPanel(graph(), "Graph of main", SCRIPT)
    w = mount(panel)
    assert not w.page.locator(".wb-gtext").is_visible()
    w.page.locator(".wb-widget").focus()
    w.press("t")
    assert w.page.locator(".wb-gtext").is_visible()
    w.page.locator(".wb-gn[data-id=lv0]").click()
    assert "conv2d" in w.page.locator(".wb-gtext .wb-cl.wb-on").inner_text()
    w.page.locator(".wb-gtext .wb-cl[data-id=lv1]").click()
    assert w.page.locator(".wb-gn.wb-on").get_attribute("data-id") == "lv1"
    assert w.requests == []
    assert not w.errors


def test_a_large_graph_opens_legible_at_its_input(mount):
    w = mount(GraphPanel(graph(ops=tuple(f"op{i}" for i in range(60))), "Large"))
    w.page.wait_for_timeout(200)  # after the first frame
    pane = w.page.locator(".wb-gpane").bounding_box()
    first = w.page.locator(".wb-k-param").first.bounding_box()
    assert pane["y"] <= first["y"] < pane["y"] + 100
    assert pane["x"] <= first["x"] and first["x"] + first["width"] <= pane["x"] + pane["width"]
    svg = w.page.locator(".wb-gpane svg")
    natural = float(svg.get_attribute("viewBox").split()[3])
    assert svg.bounding_box()["height"] >= 0.89 * natural, "labels are nearly as large as designed"
