"""Iteration maps: results against enumeration of small domains."""

import itertools
import random

import pytest

from tests.arith.evaluation import evaluate
from workbench.arith import (
    Analyzer,
    IterMapLevel,
    IterSumExpr,
    detect_iter_map,
    inverse_affine_iter_map,
    iter_map_simplify,
    normalize_iter_map_to_expr,
    normalize_to_iter_sum,
    subspace_divide,
)
from workbench.core.errors import WorkbenchError
from workbench.ir import Range, Var
from workbench.tirx import op


def variables(names):
    return [Var(name, "int32") for name in names]


i, j, k, n, m = variables("ijknm")


def points(domains, predicate=True):
    """All assignments of the iterators for which the predicate holds."""
    names = list(domains)
    spans = [range(int(r.min), int(r.min) + int(r.extent)) for r in domains.values()]
    for values in itertools.product(*spans):
        env = dict(zip(names, values, strict=True))
        if predicate is True or evaluate(predicate, env):
            yield env


def box_of(found):
    out = []
    for index in found.indices:
        base = int(index.base)
        if index.args:
            split = index.args[0]
            out.append([base + int(split.scale) * x for x in range(int(split.extent))])
        else:
            out.append([base])
    return out


def check(indices, domains, predicate=True, level="bijective"):
    """Detects, then enumerates: same values, and onto (one to one with) the box of extents."""
    found = detect_iter_map(indices, domains, predicate, level)
    assert found.indices, found.errors
    seen = []
    for env in points(domains, predicate):
        values = tuple(evaluate(e, env) for e in indices)
        forms = tuple(evaluate(normalize_iter_map_to_expr(s), env) for s in found.indices)
        assert values == forms
        seen.append(values)
    assert set(seen) == set(itertools.product(*box_of(found)))
    if level == "bijective":
        assert len(set(seen)) == len(seen)
    return found


def refused(indices, domains, predicate=True, level="bijective", match=""):
    found = detect_iter_map(indices, domains, predicate, level)
    assert not found.indices
    assert any(match in error for error in found.errors), found.errors
    return found.errors


def test_splits_and_fusions():
    check([i], {i: Range(0, 8)})
    check([i * 8 + j], {i: Range(0, 4), j: Range(0, 8)})
    check([i // 4, i % 4], {i: Range(0, 16)})
    check([i % 4, i // 4], {i: Range(0, 16)})
    check([(i * 8 + j) // 4, j % 4], {i: Range(0, 4), j: Range(0, 8)})
    check([(i * 4 + j) // 5, (i * 4 + j) % 5], {i: Range(0, 5), j: Range(0, 4)})
    check([i // 16, i % 16 // 4, i % 4], {i: Range(0, 64)})
    check([j * 3 + i + 7, k], {i: Range(0, 3), j: Range(0, 5), k: Range(0, 1)})
    check([i + 2, j * 5], {i: Range(3, 9), j: Range(0, 4)})


def test_predicates_of_splits_that_do_not_divide():
    domains = {i: Range(0, 8), j: Range(0, 4)}
    check([i * 4 + j], domains, i * 4 + j < 30)
    check([(i * 4 + j) // 5, (i * 4 + j) % 5], domains, i * 4 + j < 30)
    check([i * 4 + j], domains, op.all(i * 4 + j < 30, i * 4 + j >= 2))
    check([i, j], domains, j < 3)
    check([i, j], domains, op.all(i < 5, 1 <= j))
    check([(i * 4 + j) * 2 + k], {**domains, k: Range(0, 2)}, i * 4 + j < 30)
    check([i * 4 + j], domains, i * 4 + j <= 20)
    check([i * 4 + j], domains, i < 7)


def test_levels():
    domains = {i: Range(0, 8), j: Range(0, 4)}
    check([i], domains, level="surjective")
    check([i % 4], domains, level="surjective")
    check([i // 4, j], domains, level="surjective")
    check([i + j], domains, level="surjective")
    check([i * 2 + j], domains, level="surjective")
    refused([i], domains, match="j is not used")
    refused([i % 4, j], domains, match="up to 4")
    refused([i, i], domains, match="leaves out or repeats")
    refused([i // 2, i % 4, j], domains, match="leaves out or repeats")
    assert detect_iter_map([i, i], domains, check_level=IterMapLevel.NoCheck).indices
    window = detect_iter_map([i + j], domains, check_level="nocheck").indices[0]
    assert int(window.args[0].extent) == 11
    with pytest.raises(WorkbenchError, match="one of bijective"):
        detect_iter_map([i], domains, check_level="perfect")


def test_reasons():
    domains = {i: Range(0, 8), j: Range(0, 8)}
    refused([i + j], domains, match="do not follow each other")
    refused([i * 16 + j], domains, level="surjective", match="leaves holes")
    refused([i * j], domains, match="multiplies iterators")
    refused([i // j], domains, match="divides by an iterator")
    refused([i // 3, j], domains, match="3 does not divide the extent 8")
    refused([op.max(i, j)], domains, match="not affine")
    refused([i * 16 + j], domains, match="expected a factor of 8, found 16")
    refused([i, j], domains, i < j, match="")


def test_symbolic_extents():
    found = detect_iter_map([i // n, i % n], {i: Range(0, m * n)}, check_level="bijective")
    analyzer = Analyzer()
    assert analyzer.can_prove_equal(found.indices[0].args[0].extent, m)
    assert analyzer.can_prove_equal(found.indices[1].args[0].extent, n)
    fused = detect_iter_map([i * n + j], {i: Range(0, m), j: Range(0, n)}, check_level="bijective")
    assert analyzer.can_prove_equal(fused.indices[0].args[0].extent, m * n)
    other = detect_iter_map([i * 4 + j, k], {i: Range(0, n), j: Range(0, 4), k: Range(0, m)})
    assert analyzer.can_prove_equal(other.indices[0].args[0].extent, n * 4)


def random_map(rng):
    """Loops made from a box by random splits and fusions: always a bijection."""
    names = iter(variables([f"v{x}" for x in range(30)]))
    loops = []
    for _ in range(rng.randrange(1, 4)):
        loops.append((next(names), rng.choice([2, 3, 4, 6, 8, 12])))
    domains = {v: Range(0, e) for v, e in loops}
    indices = [(v, e) for v, e in loops]
    for _ in range(rng.randrange(0, 5)):
        if rng.random() < 0.5 and len(indices) > 1:
            at = rng.randrange(len(indices) - 1)
            (a, x), (b, y) = indices[at : at + 2]
            indices[at : at + 2] = [(a * y + b, x * y)]
        else:
            at = rng.randrange(len(indices))
            a, x = indices[at]
            factor = rng.choice([f for f in range(1, x + 1) if x % f == 0])
            indices[at : at + 1] = [(a // factor, x // factor), (a % factor, factor)]
        if rng.random() < 0.3:
            rng.shuffle(indices)
    return [a for a, _ in indices], [e for _, e in indices], domains


@pytest.mark.parametrize("seed", range(60))
def test_random_bijections(seed):
    rng = random.Random(seed)
    indices, extents, domains = random_map(rng)
    found = detect_iter_map(indices, domains, True, "bijective")
    if not found.indices:  # some digits of two loops cannot be told apart without a fused iterator
        found = detect_iter_map(indices, domains, True, "nocheck")
    assert found.indices, found.errors
    for index, extent in zip(found.indices, extents, strict=True):
        assert (int(index.args[0].extent) if index.args else 1) == extent
    check(indices, domains, level="bijective")


@pytest.mark.parametrize("seed", range(40))
def test_inverse(seed):
    rng = random.Random(seed)
    indices, extents, domains = random_map(rng)
    found = detect_iter_map(indices, domains, True, "bijective")
    assert found.indices, found.errors
    outputs = variables([f"o{x}" for x in range(len(indices))])
    inverse = inverse_affine_iter_map(found.indices, outputs)
    for env in points(domains):
        values = {o: evaluate(e, env) for o, e in zip(outputs, indices, strict=True)}
        for var, expr in inverse.items():
            assert evaluate(expr, values) == env[var]
    assert {v for v, r in domains.items() if int(r.extent) > 1} <= set(inverse)


def test_inverse_of_offsets_and_scales():
    found = detect_iter_map([i // 16 * 3 + 1, i % 16], {i: Range(0, 128)}, check_level="bijective")
    result = inverse_affine_iter_map(found.indices, [n, m])
    assert evaluate(result[i], {n: 7, m: 5}) == 2 * 16 + 5
    with pytest.raises(WorkbenchError, match="2 indices, but 1"):
        inverse_affine_iter_map(found.indices, [n])


def divided(bindings, domains, inner, predicate=True):
    result = subspace_divide(bindings, domains, inner, predicate)
    for binding, (outer, sub) in zip(bindings, result, strict=False):
        for env in points(domains, predicate):
            a = evaluate(normalize_iter_map_to_expr(outer.source), env)
            b = evaluate(normalize_iter_map_to_expr(sub.source), env)
            offset = int(sub.source.base) if isinstance(sub.source, IterSumExpr) else 0
            assert a * int(sub.extent) + b == evaluate(binding, env)
            assert 0 <= a < int(outer.extent)
            assert 0 <= b - offset < int(sub.extent)
    return result


def test_subspace_division():
    domains = {i: Range(0, 3), j: Range(0, 4), k: Range(0, 3)}
    assert len(divided([i * 12 + j * 3 + k], domains, [k])) == 2
    assert len(divided([i * 12 + j * 3 + k + 2], domains, [k])) == 2
    assert len(divided([i * 12 + j * 3 + k], domains, [j, k])) == 2
    assert len(divided([i * 12 + j * 3 + k + 1], domains, [i, j, k])) == 2
    assert len(divided([i * 12 + j * 3 + k + 1], domains, [])) == 2
    assert len(divided([i + 2, j, k], domains, [k])) == 4
    assert subspace_divide([i * 12 + j * 3 + k], domains, [i]) == []
    assert subspace_divide([i * 4 + j, k], domains, [j, k], i * 4 + j < 10) == []
    outer = subspace_divide([i * 4 + j, k], domains, [j, k], i < 2)[-1]
    assert str(outer[0].extent) == "i < 2"
    assert str(outer[1].extent) == "T.bool(True)"


def test_simplify_and_normalize():
    a, b = iter_map_simplify([(i * 8 + j) // 8, (i * 8 + j) % 8], {i: Range(0, 4), j: Range(0, 8)})
    assert a is i
    assert b is j
    (kept,) = iter_map_simplify([op.max(i, 3) + 0], {i: Range(0, 8)})
    assert evaluate(kept, {i: 1}) == 3
    total = normalize_to_iter_sum(j + i * 16 + n, {i: Range(0, 4), j: Range(0, 8)})
    assert [int(s.scale) for s in total.args] == [16, 1]
    assert total.base is n
    loose = normalize_to_iter_sum(i * 4 + j * j, {i: Range(0, 4), j: Range(0, 8)})
    assert len(loose.args) == 1


def test_trivial_iterators():
    domains = {i: Range(0, 8), j: Range(5, 6)}
    found = check([i, j], domains)
    assert found.indices[1].args == ()
    kept = detect_iter_map([i, j], domains, simplify_trivial_iterators=False)
    assert len(kept.indices[1].args) == 1
