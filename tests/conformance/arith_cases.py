"""Questions about integer arithmetic that two systems answer.

`python arith_cases.py MODULE` imports MODULE (`tvm` or `workbench`) and prints the answers as JSON.
"""

import importlib
import json
import random
import sys

OPERATORS = {
    "Add": "+",
    "Sub": "-",
    "Mul": "*",
    "FloorDiv": "//",
    "FloorMod": "%",
    "LT": "<",
    "LE": "<=",
    "GT": ">",
    "GE": ">=",
    "EQ": "==",
    "NE": "!=",
    "And": "and",
    "Or": "or",
}

#: Expressions over x < 16, y < 8, z < 64 (none negative) and free n, m, k that both simplify alike.
SIMPLIFY = """
x * 4 + y
y + x * 4
fd(x * 8 + y, 8)
fm(x * 8 + y, 8)
fd(x * 8 + y, 4)
fm(x * 8 + y, 4)
fd(x * 8 + y, 16)
fm(x * 8 + y, 16)
fd(z, 4) * 4 + fm(z, 4)
fd(z, 4) * 8 + fm(z, 4) * 2
fd(fm(z, 16), 4)
fm(fd(z, 4), 4)
n * (m + 1)
(n + 1) * (m + 1)
k - n + m - 3
3 - n
n - (m - k)
n * 2 - m * 2
n * 4 + m * 8
(n * 4 + m * 8) * 2
fd(n * 4 + m * 8, 4)
fd(n * 4 + 3, 4)
fd(n + 4, 4)
fd(n + 7, 4)
fd(n - 1, 4)
fm(n + 7, 4)
tir.max(0, tir.min(n, m))
tir.min(16, n - x * 16)
tir.max(n, m) < x
tir.all(tir.min(n, 8) <= m, n < 5)
tir.NE(tir.min(n, m), n)
tir.Select(x * 2 >= x, n, m)
tir.min(x, 16)
tir.min(n + 1, n + 3)
tir.min(x * 4 + 3, 63) - x * 4 + 1
x < 16
x + y * 16 < 128
y * 16 + x < 127
n + 1 < m + 1
n < m + 1
n - m < 0
n * 4 < 10
fd(n, 4) < 3
tir.all(x < 16, n < 5)
tir.any(n < 3, n >= 3)
tir.Not(n < 3)
tir.Not(n <= m)
tir.EQ(n, n)
tir.Select(n < 3, n, n)
tir.Select(x < 16, n, m)
tir.Select(n < 3, n + 1, n + 2)
fm(x + y * 16 + n * 128, 16)
fd(x + y * 16 + n * 128, 16)
fm(fd(x * 8 + y, 4), 2)
fd(x * 8 + y, 3)
tir.Cast("int64", x + y)
tir.Ramp(x, 1, 4) + tir.Broadcast(y, 4)
fd(tir.Ramp(x * 4, 1, 4), tir.Broadcast(tir.IntImm("int32", 4), 4))
fm(tir.Ramp(x * 4, 1, 4), tir.Broadcast(tir.IntImm("int32", 4), 4))
tir.truncdiv(n, 4)
tir.truncdiv(x * 8 + y, 8)
x * 2 + n * 3 + y * 5 + m
fd(x, 4) * 4 + y * 3 + fm(x, 4)
n * 3 + n
n * m * k * 2
m * (n * k)
fd(n * m, m)
fm(n * m, m)
tir.min(n, m) - tir.min(m, n)
(n + 15) // 16 * 16
(n + 15) // 16 * 16 - n
tir.ceildiv(n, 16)
x // 4 * 64 + y * 8 + x % 4 * 2
tir.Select(n < 3, 1, 0) + tir.Select(n < 3, 2, 5)
n + m * -2
n * -3 + m
tir.max(n - 1, m - 1)
tir.max(n * 2, m * 2)
tir.min(n, 3) + 2
n <= m - 1
n > m
n >= 3
tir.all(n >= 0, n < 10)
tir.all(x >= 0, x < 10)
((n * 16 + x) * 8 + y) // 8
((n * 16 + x) * 8 + y) // 128
((n * 16 + x) * 8 + y) % 128 // 8
(z * 9 + y) // 72
""".strip().splitlines()

#: (indices, extents of i, j, k, predicate, level)
ITER_MAPS = [
    ("[i * 8 + j]", (4, 8, 1), "None", "bijective"),
    ("[i // 4, i % 4]", (16, 1, 1), "None", "bijective"),
    ("[i // 4, i % 4]", (30, 1, 1), "None", "bijective"),
    ("[i * 4 + j]", (8, 4, 1), "i * 4 + j < 30", "bijective"),
    ("[(i * 4 + j) // 5, (i * 4 + j) % 5]", (8, 4, 1), "i * 4 + j < 30", "bijective"),
    ("[i, i]", (8, 1, 1), "None", "surjective"),
    ("[i + j]", (8, 8, 1), "None", "surjective"),
    ("[i + j]", (8, 8, 1), "None", "nocheck"),
    ("[i * 4 + j]", (8, 8, 1), "None", "nocheck"),
    ("[i * 16 + j]", (8, 8, 1), "None", "nocheck"),
    ("[i]", (8, 8, 1), "None", "bijective"),
    ("[i]", (8, 8, 1), "None", "surjective"),
    ("[i * 2]", (8, 1, 1), "None", "bijective"),
    ("[7 - i]", (8, 1, 1), "None", "bijective"),
    ("[i % 4]", (16, 1, 1), "None", "surjective"),
    ("[i % 4]", (16, 1, 1), "None", "bijective"),
    ("[i]", (16, 1, 1), "i < 10", "surjective"),
    ("[i, j]", (8, 4, 1), "j < 3", "surjective"),
    ("[i * 4 + j]", (8, 4, 1), "j < 3", "surjective"),
    ("[i, j]", (8, 4, 1), "i < j", "surjective"),
    ("[(i * 8 + j) // 4, j % 4]", (4, 8, 1), "None", "bijective"),
    ("[i * 12 + j * 3 + k, 0]", (3, 4, 3), "None", "bijective"),
    ("[(i * 12 + j * 3 + k) // 6, (i * 12 + j * 3 + k) % 6]", (3, 4, 3), "None", "bijective"),
]


def text(e):
    """An expression as text, from the classes of its nodes: the same for both systems."""
    name = type(e).__name__
    if name in OPERATORS:
        return f"({text(e.a)} {OPERATORS[name]} {text(e.b)})"
    if name in ("Min", "Max", "Div", "Mod"):
        return f"{name}({text(e.a)}, {text(e.b)})"
    if name == "Var":
        return e.name
    if name == "IntImm":
        return str(int(e.value))
    if name == "Not":
        return f"not {text(e.a)}"
    if name == "Select":
        return f"Select({text(e.condition)}, {text(e.true_value)}, {text(e.false_value)})"
    if name == "Cast":
        return f"Cast({text(e.value)})"
    if name == "Ramp":
        return f"Ramp({text(e.base)}, {text(e.stride)})"
    if name == "Broadcast":
        return f"Broadcast({text(e.value)})"
    raise TypeError(name)


def random_expr(rng, tir, leaves, depth):
    if depth == 0:
        if rng.random() < 0.7:
            return rng.choice(leaves)
        return tir.IntImm("int32", rng.choice([1, 2, 3, 4, 8, 16]))
    a = random_expr(rng, tir, leaves, depth - 1)
    kind = rng.choice(["Add", "Add", "Sub", "Mul", "FloorDiv", "FloorMod", "Min", "Max"])
    if kind in ("Mul", "FloorDiv", "FloorMod"):
        b = tir.IntImm("int32", rng.choice([2, 3, 4, 8, 12]))
    else:
        b = random_expr(rng, tir, leaves, depth - 1)
    return getattr(tir, kind)(a, b)


def main(system):
    tir = importlib.import_module(f"{system}.tirx")
    arith = importlib.import_module(f"{system}.arith")
    Range = importlib.import_module(f"{system}.ir").Range
    names = {c: tir.Var(c, "int32") for c in "xyznmkij"}
    scope = {**names, "tir": tir, "fd": tir.floordiv, "fm": tir.floormod}
    analyzer = arith.Analyzer()
    for name, extent in (("x", 16), ("y", 8), ("z", 64)):
        analyzer.bind(names[name], Range(0, extent))
    answers = {"simplify": {e: text(analyzer.simplify(eval(e, scope))) for e in SIMPLIFY}}
    rng = random.Random(0)
    answers["bounds"], answers["residues"] = [], []
    leaves = [names[c] for c in "xyz"]
    for _ in range(150):
        e = random_expr(rng, tir, leaves, rng.randrange(1, 4))
        bound, residue = analyzer.const_int_bound(e), analyzer.modular_set(e)
        answers["bounds"].append([text(e), int(bound.min_value), int(bound.max_value)])
        answers["residues"].append([text(e), int(residue.coeff), int(residue.base)])
    answers["iter_maps"] = []
    for indices, extents, predicate, level in ITER_MAPS:
        domains = {names[c]: Range(0, e) for c, e in zip("ijk", extents, strict=True)}
        condition = True if predicate == "None" else eval(predicate, scope)
        given = [tir.IntImm("int32", e) if e == 0 else e for e in eval(indices, scope)]
        found = arith.detect_iter_map(given, domains, condition, level)
        extents_found = [int(s.args[0].extent) if len(s.args) else 1 for s in found.indices]
        answers["iter_maps"].append([indices, predicate, level, extents_found])
    print(json.dumps(answers))


if __name__ == "__main__":
    main(sys.argv[1])
