"""Microseconds per node of the IR engine on a loop program of 100,000 nodes.

    python benchmarks/engine.py [--nodes N] [--times N]

Constructing, hashing, comparing two separately built copies, and rewriting every leaf. Each has a
budget of 10 µs a node.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from measure import Sample, budget, header, repeat

from workbench import tirx
from workbench.core import rewrite, structural_equal, structural_hash, walk

BUDGET = 10.0


class Program:
    """A function with many stores `b[i + c] = a[i] * x + (a[i + c] - c)`, no two sharing a node."""

    def __init__(self) -> None:
        self.a = tirx.decl_buffer((1 << 20,), "float32", name="a")
        self.b = tirx.decl_buffer((1 << 20,), "float32", name="b")
        self.x = tirx.Var("x", "float32")
        self.i = tirx.Var("i", "int32")

    def build(self, stores: int) -> Any:
        """The statement; its leaves are the variables and fresh constants."""
        statements = [self._store(constant) for constant in range(stores)]
        zero, extent = tirx.IntImm("int32", 0), tirx.IntImm("int32", 1000)
        body = tirx.SeqStmt(statements)
        return tirx.For(self.i, zero, extent, tirx.ForKind.SERIAL, body)

    def _store(self, constant: int) -> Any:
        a, b, i, x = self.a, self.b, self.i, self.x
        value = tirx.Add(
            tirx.Mul(tirx.BufferLoad(a, [i]), x),
            tirx.Sub(
                tirx.BufferLoad(a, [tirx.Add(i, tirx.IntImm("int32", constant))]),
                tirx.FloatImm("float32", float(constant)),
            ),
        )
        return tirx.BufferStore(b, value, [tirx.Add(i, tirx.IntImm("int32", constant))])


def count(root: Any) -> int:
    """Distinct node objects below `root`."""
    found = 0

    def one(_node: Any) -> None:
        nonlocal found
        found += 1

    from workbench.core import Node

    walk(root, {Node: one})
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="speed of the IR engine")
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=7)
    options = parser.parse_args()
    program = Program()
    per_store = (count(program.build(200)) - count(program.build(100))) // 100
    stores = -(-options.nodes // per_store)
    nodes = count(program.build(stores))
    header("IR engine", [f"{nodes} nodes, {stores} stores"])

    def fresh(label: str, operation: Any) -> Sample:
        # A hash may be kept in its node, so each repeat gets programs that nobody has looked at.
        from measure import _once

        pairs = [(program.build(stores), program.build(stores)) for _ in range(options.times)]
        return Sample(label, tuple(_once(lambda p=pair: operation(*p)) for pair in pairs))

    def same(one: Any, other: Any) -> None:
        assert structural_equal(one, other)

    def larger(node: Any) -> Any:
        return tirx.IntImm(node.dtype, node.value + 1)

    def renamed(one: Any, _other: Any) -> None:
        assert rewrite(one, {tirx.IntImm: larger}) is not one

    def kept(one: Any, _other: Any) -> None:
        assert rewrite(one, {}) is one

    samples = [
        repeat("construct", lambda: program.build(stores), options.times),
        fresh("hash", lambda one, _other: structural_hash(one)),
        fresh("compare", same),
        fresh("rewrite every constant", renamed),
        fresh("rewrite nothing", kept),
        fresh("walk", lambda one, _other: count(one)),
    ]
    for sample in samples:
        print(sample.line(per=nodes, unit="µs/node", scale=1e6))
    checked = [budget(s.label, s.median * 1e6 / nodes, BUDGET, "µs/node") for s in samples]
    return 0 if all(checked) else 1


if __name__ == "__main__":
    sys.exit(main())
