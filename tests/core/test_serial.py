"""JSON: round trips, sharing, damaged input."""

from __future__ import annotations

import json
from typing import Any

import pytest

from workbench.core import from_json, structural_equal, to_json
from workbench.core.serial import SerialError
from workbench.ir import Call, IntImm, Op, Span, Var
from workbench.tirx import Add, FloatImm, For, ForKind, PrimFunc, decl_buffer
from workbench.tirx.stmt import BufferStore


def test_round_trip_keeps_sharing_metadata_and_special_floats() -> None:
    i = Var("i", "int32")
    a = decl_buffer((4,), name="A")
    shared = Add(i, 1)
    span = Span("here", 1, 1, 2, 3)
    body = BufferStore(a, FloatImm("float32", float("nan")), [Add(shared, shared)], span=span)
    f = PrimFunc([a], For(i, 0, 4, ForKind.PARALLEL, body, annotations={"k": (1, "x")}))
    g = from_json(to_json(f))
    assert structural_equal(f, g)
    again = g.body.body
    assert again.indices[0].a is again.indices[0].b
    assert again.span.line == 1
    assert g.body.kind is ForKind.PARALLEL
    assert to_json(g) == to_json(f)


def test_operators_stay_singletons() -> None:
    x = Var("x", "float32")
    call = Call("tirx.exp", [x], ret_ty="float32")
    back = from_json(to_json(call))
    assert back.op is Op.get("tirx.exp")


def test_deep_programs() -> None:
    e: Any = Var("x", "int32")
    for _ in range(20_000):
        e = Add(e, 1)
    assert structural_equal(from_json(to_json(e)), e, map_free_vars=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("[]", "workbench"),
        ("{}", "workbench"),
        ('{"workbench": 99, "nodes": [], "root": null}', "format 99"),
        ('{"workbench": 1, "nodes": [{"t": "tirx.Nope"}], "root": {"n": 0}}', "tirx.Nope"),
        ('{"workbench": 1, "nodes": [], "root": {"n": 3}}', "damaged"),
        ('{"workbench": 1, "nodes": [{"t": "tirx.Add"}], "root": {"n": 0}}', "damaged"),
    ],
)
def test_damaged_input_is_told(text: str, message: str) -> None:
    with pytest.raises(SerialError, match=message):
        from_json(text)


def test_unknown_values_are_named() -> None:
    with pytest.raises(SerialError, match="set"):
        to_json((IntImm("int32", 1), {1, 2}))  # type: ignore[arg-type]
    assert json.loads(to_json(IntImm("int32", 1)))["workbench"] == 1
