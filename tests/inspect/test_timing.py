import pytest

from workbench.core.errors import WorkbenchError
from workbench.inspect.timing import (
    Conditions,
    Measurement,
    Timing,
    compare,
    conditions,
    duration,
    measure,
)
from workbench.views.part import Note, Plot
from workbench.views.render_text import to_text
from workbench.views.timing import MAX_BARS, timing_plot, timing_view

QUIET = Conditions("a machine", 2, (("Python", "3"),), 0.0)


def m(name, *ms):
    return Measurement(name, tuple(x / 1000 for x in ms))


def test_median_and_quartiles():
    found = m("a", 1, 2, 3, 4, 100)
    assert found.median == pytest.approx(3e-3)
    assert found.interval == pytest.approx((2e-3, 4e-3))


def test_overlapping_intervals_are_not_distinguishable():
    slow, fast, near = m("slow", 10, 11, 12), m("fast", 4, 5, 6), m("near", 5, 6, 7)
    assert fast.versus(slow) == "2.20× faster"
    assert slow.versus(fast) == "2.20× slower"
    assert near.versus(fast) == "not distinguishable"
    assert not near.distinguishable(near)


def test_no_samples_is_an_error():
    with pytest.raises(WorkbenchError, match="no sample"):
        Measurement("x", ())


def test_candidates_take_turns():
    order = []
    found = measure(
        {"a": lambda: order.append("a"), "b": lambda: order.append("b")}, repeats=4, min_seconds=0
    )
    # Two calls each to warm up and to count, then a b, b a, a b, b a.
    assert "".join(order) == "aabb" + "abba" * 2
    assert [len(one.samples) for one in found] == [4, 4]


def test_a_stop_request_ends_the_measurement():
    class Stop(Exception):
        pass

    def tell(share, text):
        if share > 0.4:
            raise Stop

    with pytest.raises(Stop):
        measure({"a": lambda: None}, repeats=10, min_seconds=0, tell=tell)


def test_the_budget_leaves_three_repeats():
    (found,) = measure({"a": lambda: None}, repeats=50, min_seconds=0, budget=0)
    assert len(found.samples) == 3


def test_measuring_again():
    timing = compare({"a": lambda: None}, repeats=3, min_seconds=0)
    assert timing.again is not None
    again = timing.again(lambda share, text: None)
    assert again.parts[0].name == "a"
    assert again.again is not None


def test_nothing_to_compare():
    with pytest.raises(WorkbenchError, match="at least one"):
        compare({})


def test_unknown_part_is_told():
    timing = Timing("t", (m("a", 1),), QUIET)
    with pytest.raises(WorkbenchError, match="there are: a"):
        timing["b"]


def test_conditions_name_machine_threads_and_versions():
    now = conditions()
    text = " ".join(now.lines())
    assert "thread" in text
    assert "Python" in text
    assert "NumPy" in text


def test_a_shared_processor_is_said_so():
    busy = Conditions("a machine", 2, (), 0.6)
    view = timing_view(Timing("t", (m("a", 1),), busy))
    assert any(isinstance(child, Note) for child in view.children)
    assert "load of 0.6 a core" in to_text(view)
    assert "shared" not in to_text(timing_view(Timing("t", (m("a", 1),), QUIET)))


def test_bars_carry_whiskers_units_and_what_cannot_be_told_apart():
    timing = Timing("t", (m("b", 4, 5, 6), m("c", 5, 6, 7), m("a", 1, 1, 1)), QUIET, m("call", 14))
    plot = timing_plot(timing)
    assert isinstance(plot, Plot)
    assert [bar.label for bar in plot.bars] == ["call", "c", "b", "a"]
    assert plot.unit == "ms"
    c, b = plot.bars[1], plot.bars[2]
    assert (c.low, c.value, c.high) == pytest.approx((5.5, 6, 6.5))
    assert "not distinguishable from the bar above" in b.note
    assert "43% of the call" in c.note
    assert [bar.label for bar in timing_plot(timing, "program").bars] == ["call", "b", "c", "a"]
    assert "a machine" in plot.footer


def test_many_parts_are_summed_up():
    parts = tuple(m(f"k{i}", i + 1) for i in range(MAX_BARS + 5))
    plot = timing_plot(Timing("t", parts, QUIET))
    assert len(plot.bars) == MAX_BARS
    assert plot.footer[1] == "5 smaller parts not shown: 15 ms together"


@pytest.mark.parametrize(
    ("seconds", "text"), [(2.5, "2.5 s"), (0.0123, "12.3 ms"), (4e-6, "4 µs"), (5e-8, "50 ns")]
)
def test_duration(seconds, text):
    assert duration(seconds) == text


def test_no_plot_without_parts():
    assert "nothing was measured" in to_html_text(Timing("t", (), QUIET))


def to_html_text(timing):
    from workbench.views.render_html import to_html

    return to_html(timing_view(timing))
