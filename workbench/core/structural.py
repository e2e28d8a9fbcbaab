"""Structural equality and hash, with variables bound by position.

Two programs are equal if they differ only in the identity and names of bound variables. A field
with role DEF binds the variables in it (their types may bind further ones, such as symbolic
dimensions); a later binding of the same variable replaces the earlier. A free variable equals only
itself, or, with `map_free_vars`, is bound where it first occurs.

Both functions use explicit stacks: depth is limited by memory, not by the interpreter.
"""

from __future__ import annotations

import hashlib
from typing import Any

from workbench.core.errors import StructuralMismatch
from workbench.core.leaves import leaf_key, same_leaf
from workbench.core.node import Node, plan_of
from workbench.core.text import generic_repr

# How a value is visited: as a use, as the content of a DEF field, or inside such content.
_USE, _DEF, _INSIDE = 0, 1, 2


class _Comparison:
    """One comparison: the stack of pairs and the correspondence of variables so far."""

    __slots__ = ("backward", "forward", "identity", "map_free", "shared", "stack")

    def __init__(self, map_free: bool) -> None:
        self.forward: dict[int, Any] = {}
        self.backward: dict[int, Any] = {}
        self.identity = True  # every pair of variables so far is a variable and itself
        self.map_free = map_free
        self.shared: dict[int, Any] = {}
        self.stack: list[tuple[Any, Any, int]] = []

    def bind(self, a: Any, b: Any) -> None:
        old = self.forward.get(id(a))
        if old is not None:
            self.backward.pop(id(old), None)
        self.forward[id(a)] = b
        self.backward[id(b)] = a
        if a is not b:
            self.identity = False

    def variable(self, a: Any, b: Any, mode: int) -> bool:
        """Compares two variables; pushes their types where they are bound."""
        if mode != _DEF:
            known = self.forward.get(id(a))
            if known is not None:
                return known is b and self.backward.get(id(b)) is a
            if id(b) in self.backward:
                return False
            if mode == _USE and not self.map_free:
                return a is b
        self.bind(a, b)
        return plan_of(type(a)).compare(a, b, self.stack.append, _INSIDE) == ""

    def step(self, a: Any, b: Any, mode: int) -> bool:
        """Compares the roots of a pair and pushes what is below. False: they differ."""
        if a is b and mode == _USE and self.identity and not self.map_free:
            return True
        cls = type(a)
        if cls is not type(b):
            return False
        if isinstance(a, Node):
            plan = plan_of(cls)
            kind = plan.kind
            if kind == "tree":
                return plan.compare(a, b, self.stack.append, _INSIDE if mode else _USE) == ""
            if kind == "var":
                return self.variable(a, b, mode)
            if kind == "singleton":
                return a is b
            if kind == "dag":
                known = self.shared.get(id(a))
                if known is not None:
                    return known is b
                self.shared[id(a)] = b
            return plan.compare(a, b, self.stack.append, _INSIDE if mode else _USE) == ""
        if cls is tuple:
            if len(a) != len(b):
                return False
            self.stack.extend((x, y, mode) for x, y in zip(reversed(a), reversed(b), strict=True))
            return True
        if isinstance(a, dict):
            return self.mapping(a, b, mode)
        return same_leaf(a, b)

    def mapping(self, a: dict[Any, Any], b: dict[Any, Any], mode: int) -> bool:
        """Mappings are equal as sets of pairs if keyed by leaves, in order if keyed by nodes."""
        if len(a) != len(b):
            return False
        if any(isinstance(k, Node) for k in a):
            pairs = zip(_ordered(a), _ordered(b), strict=True)
            for (ka, va), (kb, vb) in reversed(list(pairs)):
                self.stack.append((va, vb, mode))
                self.stack.append((ka, kb, mode))
            return True
        for key in sorted(a, key=str, reverse=True):
            if key not in b:
                return False
            self.stack.append((a[key], b[key], mode))
        return True


def _ordered(mapping: dict[Any, Any]) -> list[tuple[Any, Any]]:
    """Pairs in order of the keys' names where the key class names itself (`__map_key__`)."""
    pairs = list(mapping.items())
    if all(hasattr(k, "__map_key__") for k in mapping):
        pairs.sort(key=lambda pair: getattr(pair[0], pair[0].__map_key__))
    return pairs


def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> bool:
    """Whether two nodes (or tuples, mappings, leaves) are the same up to bound variables."""
    run = _Comparison(map_free_vars)
    stack = run.stack
    stack.append((lhs, rhs, _USE))
    step = run.step
    while stack:
        a, b, mode = stack.pop()
        if not step(a, b, mode):
            return False
    return True


def get_first_structural_mismatch(
    lhs: Any, rhs: Any, map_free_vars: bool = False
) -> tuple[str, Any, Any] | None:
    """The path to the first difference and both values there, or None if equal.

    A path reads like Python: `.body.block.reads[0].region[1].min`.
    """
    run = _Comparison(map_free_vars)
    paths: list[str] = [""]
    run.stack.append((lhs, rhs, _USE))
    while run.stack:
        a, b, mode = run.stack.pop()
        path = paths.pop()
        base = len(run.stack)
        if not run.step(a, b, mode):
            return _leaf_difference(a, b, path)
        pushed = len(run.stack) - base
        names = _names_below(a)
        assert len(names) >= pushed, (type(a), names, pushed)
        paths.extend(path + n for n in reversed(names[:pushed]))
    return None


def _names_below(a: Any) -> list[str]:
    if isinstance(a, Node):
        return [f".{f.name}" for f in plan_of(type(a)).fields if f.shape != "leaf"]
    if type(a) is tuple:
        return [f"[{i}]" for i in range(len(a))]
    if isinstance(a, dict):
        if any(isinstance(k, Node) for k in a):
            return [n for i in range(len(a)) for n in (f".keys[{i}]", f".values[{i}]")]
        return [f"[{k!r}]" for k in sorted(a, key=str)]
    return []


def _leaf_difference(a: Any, b: Any, path: str) -> tuple[str, Any, Any]:
    """Goes one step further where the difference is a leaf field of a node."""
    if isinstance(a, Node) and type(a) is type(b):
        for f in plan_of(type(a)).fields:
            if f.shape == "leaf":
                x, y = getattr(a, f.name), getattr(b, f.name)
                if not same_leaf(x, y):
                    return f"{path}.{f.name}", x, y
    return path, a, b


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """Raises `StructuralMismatch` with the path and both sides of the first difference."""
    if structural_equal(lhs, rhs, map_free_vars):
        return
    found = get_first_structural_mismatch(lhs, rhs, map_free_vars)
    assert found is not None
    path, a, b = found
    raise StructuralMismatch(
        f"not structurally equal at <root>{path}:\n  lhs: {_short(a)}\n  rhs: {_short(b)}"
        f"\nlhs program:\n{lhs}\nrhs program:\n{rhs}",
        path,
        a,
        b,
    )


def _short(value: Any) -> str:
    text = str(value) if isinstance(value, Node) else generic_repr(value)
    return f"{type(value).__name__} {text if len(text) < 400 else text[:400] + '…'}"


def structural_hash(node: Any, map_free_vars: bool = False) -> int:
    """A 63-bit hash that agrees with `structural_equal`.

    Stable across processes for closed programs (free variables hash by identity unless
    `map_free_vars`): a pre-order stream of tokens, digested by BLAKE2b.
    """
    tokens: list[Any] = []
    token = tokens.append
    numbers: dict[int, int] = {}
    counter = 0
    shared: dict[int, int] = {}
    stack: list[tuple[Any, int]] = [(node, _USE)]
    push = stack.append
    while stack:
        a, mode = stack.pop()
        if isinstance(a, Node):
            cls = type(a)
            plan = plan_of(cls)
            kind = plan.kind
            if kind == "var":
                number = None if mode == _DEF else numbers.get(id(a))
                if number is not None:
                    token(number)
                    continue
                if mode == _USE and not map_free_vars:
                    token(("free", id(a)))
                    continue
                numbers[id(a)] = counter
                token(("def", counter, cls.__type_key__))
                counter += 1
                plan.hash_leaves(a, token, push, _INSIDE)
                continue
            if kind == "dag":
                if id(a) in shared:
                    token(("ref", shared[id(a)]))
                    continue
                shared[id(a)] = len(shared)
            token(cls.__type_key__)
            plan.hash_leaves(a, token, push, _INSIDE if mode else _USE)
        elif type(a) is tuple:
            token(len(a))
            stack.extend([(x, mode) for x in reversed(a)])
        elif isinstance(a, dict):
            token(("map", len(a)))
            keyed = any(isinstance(k, Node) for k in a)
            pairs = _ordered(a) if keyed else sorted(a.items(), key=lambda kv: str(kv[0]))
            for key, value in reversed(pairs):
                push((value, mode))
                push((key, mode))
        else:
            token(leaf_key(a))
    digest = hashlib.blake2b(repr(tokens).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1
