"""Helpers for tests of passes: before and expected as TVMScript."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench import tirx
from workbench.core import assert_structural_equal
from workbench.ir import IRModule


def apply(item: Any, func: Any) -> Any:
    """The function after a pass."""
    return item(IRModule({"main": func}))["main"]


def plain(func: Any) -> Any:
    """The function without its name and dialect mark, which differ from expected."""
    for name in ("global_symbol", "s_tir"):
        if name in func.attrs:
            func = func.without_attr(name)
    return func


def check(item: Any, before: Any, expected: Any) -> None:
    """Asserts what a pass makes of `before`."""
    after = apply(item, before)
    tirx.analysis.verify_well_formed(after)
    assert_structural_equal(plain(after), plain(expected))


def check_unchanged(item: Any, func: Any) -> None:
    """Asserts that a pass returns the very same function."""
    assert apply(item, func) is func


def check_same_results(before: Any, after: Any, seed: int = 0) -> None:
    """Asserts that both functions compute the same."""
    rng = np.random.default_rng(seed)
    arrays = [
        rng.integers(-9, 10, [int(d) for d in p.ty.shape]).astype(p.ty.dtype.numpy())
        for p in before.params
    ]
    others = [a.copy() for a in arrays]
    tirx.interpret(before, *arrays)
    tirx.interpret(after, *others)
    for a, b in zip(arrays, others, strict=True):
        np.testing.assert_array_equal(a, b)
