"""Traversal: `walk(x, {For: f})`, `rewrite(x, {Add: g})`, `substitute`, free variables.

Tables map node types to functions; the entry of the nearest base class is used.

* A plain function in `walk` is called with each node; in `rewrite` it is called with each node
  *after* its children were rewritten and returns the replacement, or None to keep the node.
* A generator function controls its own children and can act before and after them:

      def block(node):                 # walk
          scopes.append(node)          #   before
          yield                        #   the children
          scopes.pop()                 #   after

      def loop(node):                  # rewrite
          body = yield node.body       #   the rewritten body
          return node.replace(body=body)

  In `rewrite` it may yield any node, tuple or mapping and receives it rewritten; yielding the node
  itself rewrites its children generically; returning None keeps the original node.

`rewrite` shares what does not change: `rewrite(x, {}) is x`. All functions use explicit stacks, so
programs may be nested arbitrarily deep.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from workbench.core.dispatch import Dispatch
from workbench.core.node import DEF, FrozenMap, Node, node_types, plan_of, plans
from workbench.core.recorder import Event, active

Table = Mapping[type, Callable[[Any], Any]]
_T = TypeVar("_T")


class _Resolver:
    """A table resolved per concrete class: (function or None, is generator)."""

    __slots__ = ("cache", "dispatch")

    def __init__(self, table: Table) -> None:
        self.dispatch = Dispatch("traversal", table)
        self.cache: dict[type, tuple[Callable[[Any], Any] | None, bool]] = {}

    def find(self, cls: type) -> tuple[Callable[[Any], Any] | None, bool]:
        function = self.dispatch.find(cls)
        entry = (function, function is not None and inspect.isgeneratorfunction(function))
        self.cache[cls] = entry
        return entry


def _content(value: Any) -> Iterable[Any]:
    """The nodes in whatever a handler yields."""
    if isinstance(value, Node):
        return (value,)
    from workbench.core._generate import gather

    out: list[Any] = []
    gather(value if not isinstance(value, list) else tuple(value), out)
    return out


def walk(root: Any, table: Table, *, order: str = "pre", once: bool = True) -> None:
    """Calls the table's functions on all nodes below `root` (a node, tuple or mapping).

    Parameters
    ----------
    order : "pre" (a node before its children) or "post".
    once : visit an object that occurs several times only the first time.
    """
    resolver = _Resolver(table)
    cache = resolver.cache
    seen: set[int] = set()
    stack: list[Any] = [(0, n) for n in reversed(list(_content(root)))]
    post = order == "post"
    while stack:
        phase, node = stack.pop()
        if phase == 0:
            if once:
                if id(node) in seen:
                    continue
                seen.add(id(node))
            cls = type(node)
            entry = cache.get(cls) or resolver.find(cls)
            function, generator = entry
            if generator:
                assert function is not None
                stack.append((2, (function(node), node)))
                continue
            if post:
                stack.append((1, node))
            elif function is not None:
                function(node)
            stack.extend([(0, c) for c in reversed(plan_of(cls).children(node))])
        elif phase == 1:
            function = cache[type(node)][0]
            if function is not None:
                function(node)
        else:
            running, owner = node
            try:
                wanted = next(running)
            except StopIteration:
                continue
            stack.append((2, node))
            below = owner.children() if wanted is None or wanted is owner else _content(wanted)
            stack.extend([(0, c) for c in reversed(list(below))])


def iter_nodes(root: Any, *types: type, once: bool = True) -> Iterator[Any]:
    """All nodes below `root` (pre-order), or those of the given types."""
    seen: set[int] = set()
    stack: list[Any] = list(_content(root))[::-1]
    while stack:
        node = stack.pop()
        if once:
            if id(node) in seen:
                continue
            seen.add(id(node))
        if not types or isinstance(node, types):
            yield node
        cls = type(node)
        below = (plans.get(cls) or plan_of(cls)).children(node)
        if below:
            below.reverse()
            stack.extend(below)


_NODE, _REBUILD, _GENERATOR, _COLLECT, _START = range(5)


class _Rewriter:
    """The machine of `rewrite`: a stack of work and a stack of finished values."""

    __slots__ = ("memo", "memoize", "resolver", "stack", "values")

    def __init__(self, table: Table, memoize: bool) -> None:
        self.resolver = _Resolver(table)
        self.memoize = memoize
        self.memo: dict[int, tuple[Any, Any]] = {}
        self.stack: list[tuple[int, Any, Any]] = []
        self.values: list[Any] = []

    def run(self, root: Any) -> Any:
        self.push(root)
        stack, values, memo, cache = self.stack, self.values, self.memo, self.resolver.cache
        while stack:
            action, node, extra = stack.pop()
            if action == _NODE:
                done = memo.get(id(node))
                if done is not None:
                    values.append(done[1])
                    continue
                entry = cache.get(type(node)) or self.resolver.find(type(node))
                if entry[1]:
                    assert entry[0] is not None
                    stack.append((_GENERATOR, node, entry[0](node)))
                    values.append(None)
                    continue
                self.descend(node, entry[0])
            elif action == _REBUILD:
                self.rebuild(node, extra)
            elif action == _GENERATOR:
                self.resume(node, extra)
            else:
                self.collect(node, extra)
        assert len(values) == 1
        return values[0]

    def push(self, value: Any) -> None:
        """Schedules any value; its rewritten form ends up on the stack of values."""
        if isinstance(value, Node):
            self.stack.append((_NODE, value, None))
        elif isinstance(value, (tuple, list)):
            self.stack.append((_COLLECT, value, len(value)))
            for item in reversed(value):
                self.push(item)
        elif isinstance(value, dict):
            flat = [x for pair in value.items() for x in pair]
            self.stack.append((_COLLECT, value, len(flat)))
            for item in reversed(flat):
                self.push(item)
        else:
            self.stack.append((_COLLECT, value, -1))

    def descend(self, node: Any, function: Callable[[Any], Any] | None) -> None:
        cls = type(node)
        below = (plans.get(cls) or plan_of(cls)).children(node)
        if not below:
            self.finish(node, node, function)
            return
        self.stack.append((_REBUILD, node, (below, function)))
        stack = self.stack
        for child in reversed(below):
            stack.append((_NODE, child, None))

    def rebuild(self, node: Any, extra: Any) -> None:
        below, function = extra
        count = len(below)
        new = self.values[-count:]
        del self.values[-count:]
        for old, item in zip(below, new, strict=True):
            if old is not item:
                self.finish(node, plan_of(type(node)).with_children(node, new), function)
                return
        self.finish(node, node, function)

    def finish(self, node: Any, new: Any, function: Callable[[Any], Any] | None) -> None:
        if function is not None:
            result = function(new)
            if result is not None and result is not new:
                recorder = active("rewrite")
                if recorder is not None:
                    recorder.add(Event("rewrite", _name(function), new, result, _place(function)))
                new = result
        if self.memoize or type(node).__node_kind__ == "var":
            self.memo[id(node)] = (node, new)
        self.values.append(new)

    def resume(self, node: Any, running: Any) -> None:
        sent = self.values.pop()
        try:
            wanted = running.send(sent)
        except StopIteration as stop:
            self.finish(node, node if stop.value is None else stop.value, None)
            return
        self.stack.append((_GENERATOR, node, running))
        if wanted is node:
            self.descend(node, None)
        else:
            self.push(wanted)

    def collect(self, value: Any, count: int) -> None:
        if count < 0:
            self.values.append(value)
            return
        new = self.values[len(self.values) - count :]
        del self.values[len(self.values) - count :]
        if isinstance(value, dict):
            old = [x for pair in value.items() for x in pair]
            if all(a is b for a, b in zip(old, new, strict=True)):
                self.values.append(value)
            else:
                kind = type(value) if isinstance(value, FrozenMap) else FrozenMap
                self.values.append(kind(zip(new[::2], new[1::2], strict=True)))
        elif all(a is b for a, b in zip(value, new, strict=True)):
            self.values.append(value)
        else:
            self.values.append(type(value)(new))


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", repr(function))


def _place(function: Callable[..., Any]) -> str:
    code = getattr(function, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else ""


def rewrite(root: _T, table: Table, *, memo: bool = True) -> _T:
    """Rewrites bottom-up by the table; see the module's text.

    Parameters
    ----------
    memo : rewrite an object that occurs several times once. Pass False where the result depends on
        the surroundings (variables are always rewritten once).
    """
    return _Rewriter(table, memo).run(root)


def substitute(root: _T, mapping: Mapping[Any, Any]) -> _T:
    """Replaces variables by what `mapping` gives for them, also in the types of variables."""
    if not mapping:
        return root
    images = {id(var): value for var, value in mapping.items()}

    def replace(var: Any) -> Any:
        found = images.get(id(var))
        if found is not None:
            return found
        return (yield var)

    return rewrite(root, dict.fromkeys(_variable_classes(), replace))


_variables: tuple[int, tuple[type, ...]] = (0, ())


def _variable_classes() -> tuple[type, ...]:
    """The node classes of kind "var"; looked up again when classes were added."""
    global _variables
    if _variables[0] != len(node_types):
        found = [cls for _, cls in node_types.items() if cls.__node_kind__ == "var"]
        _variables = (len(node_types), tuple(found))
    return _variables[1]


def free_vars(root: Any) -> list[Any]:
    """Variables used but not bound below `root`, in the order of their first use.

    A DEF field binds its variables and the ones that occur in their types.
    """
    bound: set[int] = set()
    found: dict[int, Any] = {}
    stack: list[tuple[Any, bool]] = [(n, False) for n in reversed(list(_content(root)))]
    while stack:
        node, inside = stack.pop()
        cls = type(node)
        plan = plan_of(cls)
        if plan.kind == "var":
            if inside:
                bound.add(id(node))
            elif id(node) not in bound:
                if id(node) in found:
                    continue
                found[id(node)] = node
            stack.extend((c, inside) for c in reversed(plan.children(node)))
            continue
        below: list[tuple[Any, bool]] = []
        for f in plan.fields:
            if f.shape != "leaf":
                binding = inside or f.role is DEF
                below.extend((c, binding) for c in _content(getattr(node, f.name)))
        stack.extend(reversed(below))
    return list(found.values())


def bound_vars(root: Any) -> list[Any]:
    """Variables bound by a DEF field below `root`, in order."""
    found: dict[int, Any] = {}
    for node in iter_nodes(root):
        for f in plan_of(type(node)).fields:
            if f.role is DEF:
                for item in _content(getattr(node, f.name)):
                    if type(item).__node_kind__ == "var":
                        found[id(item)] = item
    return list(found.values())
