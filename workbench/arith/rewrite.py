"""The rewrite simplifier: applies the rules of `arith.rules` bottom-up until none applies.

One explicit stack, one memo by identity. What a rule builds is simplified in turn; its operands
are in the memo already, so only the new nodes cost anything. The branches of a selection are
simplified under its condition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.arith.build import (
    BOOLEAN,
    FALSE,
    INDEX,
    OTHER,
    TRUE,
    WRAP,
    fold,
    fold_cast,
    imm,
    is_call,
    kind_of,
    make,
    same,
    truth,
    wrapped,
)
from workbench.arith.matcher import matchers, selected
from workbench.core.errors import WorkbenchError
from workbench.core.node import plan_of
from workbench.core.recorder import Event, active
from workbench.core.traverse import iter_nodes
from workbench.ir.expr import Call, FloatImm, GlobalVar, IntImm, Op, StringImm, Var
from workbench.ir.type import PrimType, Type
from workbench.tirx.expr import (
    BinaryOp,
    Broadcast,
    BufferLoad,
    Cast,
    CmpOp,
    Div,
    FloorDiv,
    FloorMod,
    Let,
    Mod,
    Not,
    Ramp,
    Select,
)

if TYPE_CHECKING:
    from workbench.arith.analyzer import Analyzer

_DIVISIONS = frozenset({FloorDiv, FloorMod, Div, Mod})
_LEAVES = frozenset({IntImm, FloatImm, StringImm, Op, GlobalVar})
_CONSTANTS = frozenset({IntImm, FloatImm})
_UNDER_RULES: dict[type, tuple[str, ...]] = {
    Not: ("a",),
    Ramp: ("base", "stride", "lanes"),
    Broadcast: ("value", "lanes"),
}


class Rewriter:
    """Rule-based simplification in the state of an analyzer. `simplify(expr)` is the way in."""

    limit = 200_000
    deepest_scope = 40

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self.memo: dict[int, tuple[Any, Any]] = {}
        self.steps = 0
        self.maximum = 0
        self.depth = 0

    def forget(self) -> None:
        """Forgets results (they depend on what is known)."""
        self.memo = {}

    def simplify(self, expr: Any) -> Any:
        """The simplified expression; the same object if no rule applies."""
        memo = self.memo
        found = memo.get(id(expr))
        if found is not None:
            return found[1]
        if len(memo) > self.limit:
            memo.clear()
        forward: dict[int, Any] = {}
        stack = [expr]
        turns: dict[int, int] = {}  # how many rules in a row made a node
        while stack:
            node = stack[-1]
            if id(node) in memo:
                stack.pop()
                continue
            ahead = forward.get(id(node))
            if ahead is not None:
                memo[id(node)] = (node, memo[id(ahead)][1])
                stack.pop()
                continue
            built = self.step(node, stack)
            if built is None:
                continue
            result = self.apply(built)
            if result is None or result is node:
                memo[id(node)] = (node, built)
                memo[id(built)] = (built, built)
                stack.pop()
            else:
                turn = turns[id(result)] = turns.get(id(node), 0) + 1
                if turn > 1000:
                    raise WorkbenchError(f"the rewrite rules turn in circles at {node}")
                forward[id(node)] = result
                stack.append(result)
        return memo[id(expr)][1]

    # -- one node ----------------------------------------------------------------------------

    def step(self, node: Any, stack: list[Any]) -> Any:
        """The node over simplified operands; None after pushing operands that are not ready."""
        cls = type(node)
        if cls is Var:
            return self.variable(node)
        if cls in _LEAVES:
            return node
        if isinstance(node, BinaryOp):
            a, b = node.a, node.b
            new_a, new_b = self.ready(a), self.ready(b)
            if new_a is None or new_b is None:
                if new_b is None:
                    stack.append(b)
                if new_a is None:
                    stack.append(a)
                return None
            return node if new_a is a and new_b is b else make[cls](new_a, new_b)
        if cls is Select:
            return self.selection(node, (node.condition, node.true_value, node.false_value), stack)
        if cls is Call:
            if is_call(node, "tirx.if_then_else"):
                return self.selection(node, node.args, stack)
            return self.over(node, node.args, stack, lambda new: node.replace(args=tuple(new)))
        if cls is BufferLoad:
            below = node.indices if node.predicate is None else (*node.indices, node.predicate)
            count = len(node.indices)
            return self.over(
                node,
                below,
                stack,
                lambda new: BufferLoad(node.buffer, tuple(new[:count]), *new[count:]),
            )
        if cls is Let:
            return self.let(node, stack)
        if isinstance(node, Type):
            return node
        plan = plan_of(cls)
        return self.over(
            node, plan.children(node), stack, lambda new: plan.with_children(node, new)
        )

    def ready(self, node: Any) -> Any:
        """A simplified operand, or None if it is still to be simplified. Leaves need no stack."""
        cls = type(node)
        if cls is IntImm:
            return node
        if cls is Var:
            image = self.variable(node)
            return image if image is node or type(image) is IntImm else self.memo_of(node)
        found = self.memo.get(id(node))
        return None if found is None else found[1]

    def memo_of(self, node: Any) -> Any:
        """The result of an earlier simplification, or None."""
        found = self.memo.get(id(node))
        return None if found is None else found[1]

    def over(self, node: Any, below: Any, stack: list[Any], rebuild: Any) -> Any:
        """A node over any number of children."""
        memo = self.memo
        missing = [c for c in below if id(c) not in memo]
        if missing:
            stack.extend(reversed(missing))
            return None
        new = [memo[id(c)][1] for c in below]
        if all(x is y for x, y in zip(new, below, strict=True)):
            return node
        return rebuild(new)

    def variable(self, var: Var) -> Any:
        """A variable: what it is bound to, or the only value it can have."""
        analyzer = self.analyzer
        image = analyzer.images.get(id(var))
        if image is not None:
            return image[1]
        if analyzer.truths:
            for fact, value in analyzer.truths:
                if fact is var:
                    return truth(var.ty, value)
        known = analyzer.bounds.vars.get(id(var))
        if known is not None and known[1][0] == known[1][1]:
            value = imm(var.ty, known[1][0])
            return var if value is None else value
        return var

    def let(self, node: Let, stack: list[Any]) -> Any:
        """A let: the body knows the bounds of the value."""
        memo = self.memo
        if id(node.value) not in memo:
            stack.append(node.value)
            return None
        value = memo[id(node.value)][1]
        if id(node.body) not in memo:
            if type(value) in _CONSTANTS or type(value) is Var:
                self.analyzer.images.setdefault(id(node.var), (node.var, value))
            elif kind_of(value.ty) in (INDEX, WRAP):
                bounds = self.analyzer.bounds
                bounds.vars.setdefault(id(node.var), (node.var, bounds.value(value)))
            stack.append(node.body)
            return None
        body = memo[id(node.body)][1]
        if type(body) in _CONSTANTS:
            return body
        return node.replace(value=value, body=body)

    def selection(self, node: Any, parts: Any, stack: list[Any]) -> Any:
        """Select or if_then_else: each branch is simplified under the condition."""
        memo = self.memo
        condition, yes, no = parts
        if id(condition) not in memo:
            stack.append(condition)
            return None
        condition = memo[id(condition)][1]
        if type(condition) is IntImm:
            branch = yes if condition.value else no
            if id(branch) not in memo:
                stack.append(branch)
                return None
            return memo[id(branch)][1]
        simple = all(type(b) in _CONSTANTS or type(b) is Var for b in (yes, no))
        if type(node) is Select and not simple:
            # Select evaluates both branches: an index must stay inside where it is not chosen too.
            simple = any(True for _ in iter_nodes((yes, no), BufferLoad))
        if simple or self.depth >= self.deepest_scope or condition.dtype.lanes != 1:
            missing = [b for b in (yes, no) if id(b) not in memo]
            if missing:
                stack.extend(missing)
                return None
            new_yes, new_no = memo[id(yes)][1], memo[id(no)][1]
        else:
            new_yes = self.under(condition, yes)
            new_no = self.under(self.simplify(Not(condition)), no)
        if same(new_yes, new_no):
            return new_yes
        if new_yes is yes and new_no is no and condition is parts[0]:
            return node
        if type(node) is Select:
            return Select(condition, new_yes, new_no)
        return node.replace(args=(condition, new_yes, new_no))

    def under(self, condition: Any, branch: Any) -> Any:
        """A branch simplified where `condition` holds."""
        self.depth += 1
        try:
            with self.analyzer.constraint_scope(condition):
                return self.simplify(branch)
        finally:
            self.depth -= 1

    # -- rules -------------------------------------------------------------------------------

    def apply(self, node: Any) -> Any:
        """What the first matching rule makes of a node over simplified operands, or None."""
        cls = type(node)
        if isinstance(node, BinaryOp):
            a, b = node.a, node.b
            type_a, type_b = type(a), type(b)
            if type_a in _CONSTANTS and type_b in _CONSTANTS:
                return fold(cls, a, b)
            kind = kind_of(a.ty)
            found = selected.get((cls, (type_a, type_b), kind))
            if found is None:
                found = matchers(cls, (type_a, type_b), kind)
        elif cls is Cast:
            return self.cast(node)
        elif cls is Select:
            operands = (type(node.condition), type(node.true_value), type(node.false_value))
            found = matchers(cls, operands, kind_of(node.ty))
        elif cls in _UNDER_RULES:
            operands = tuple(type(getattr(node, name)) for name in _UNDER_RULES[cls])
            found = matchers(cls, operands, kind_of(node.ty))
        elif cls is Call:
            return self.call(node)
        elif cls is Var:
            return None
        else:
            return self.known(node)
        analyzer = self.analyzer
        for match in found:
            result = match(node, analyzer)
            if result is not None:
                self.count()
                recorder = active("rule")
                if recorder is not None:
                    rule = match.rule
                    recorder.add(Event("rule", rule.name, node, result, rule.source))
                return result
        if cls in _DIVISIONS and type(node.ty) is PrimType and kind_of(node.ty) in (INDEX, WRAP):
            low, high = analyzer.bounds.value(node)
            if low == high and node.ty.dtype.lanes == 1:
                return imm(node.ty, low)
        return self.known(node)

    def count(self) -> None:
        """Counts a rewriting step; raises when there are more than the user allows."""
        self.steps += 1
        if 0 < self.maximum < self.steps:
            raise WorkbenchError(
                f"the rewrite simplifier took more than {self.maximum} steps",
                hint="set_maximum_rewrite_steps(0) removes the limit",
            )

    def known(self, node: Any) -> Any:
        """A condition that the facts in force decide."""
        analyzer = self.analyzer
        if not analyzer.truths or kind_of(getattr(node, "ty", None)) != BOOLEAN:
            return None
        for fact, value in analyzer.truths:
            if type(fact) is type(node) and same(fact, node):
                return truth(node.ty, value)
        if isinstance(node, CmpOp) and kind_of(node.a.ty) == INDEX and node.a.ty.dtype.lanes == 1:
            decided = analyzer.canonical.decided(node)
            if decided is not None:
                return TRUE if decided else FALSE
        return None

    def cast(self, node: Cast) -> Any:
        """Casts of constants, to the same type, of vectors of equal elements."""
        value = node.value
        if value.ty == node.ty:
            return value
        if type(value) in _CONSTANTS:
            return fold_cast(node.ty, value)
        if type(value) is Broadcast and node.ty.dtype.lanes > 1:
            return Broadcast(Cast(node.ty.dtype.base, value.value), value.lanes)
        return None

    def call(self, node: Call) -> Any:
        """Integer bit operations on constants; `likely` of a constant."""
        if kind_of(node.ty) == OTHER or type(node.op) is not Op:
            return None
        args = node.args
        if node.op.name == "tirx.likely" and type(args[0]) is IntImm:
            return args[0]
        operation = _BITS.get(node.op.name)
        if operation is not None and all(type(a) is IntImm for a in args):
            values = [a.value for a in args]  # type: ignore[attr-defined]
            if node.op.name in _SHIFTS and not 0 <= values[1] < node.ty.dtype.bits:
                return None
            return wrapped(node.ty, operation(*values))
        return self.known(node)


_SHIFTS = ("tirx.shift_left", "tirx.shift_right")
_BITS: dict[str, Any] = {
    "tirx.bitwise_and": lambda a, b: a & b,
    "tirx.bitwise_or": lambda a, b: a | b,
    "tirx.bitwise_xor": lambda a, b: a ^ b,
    "tirx.shift_left": lambda a, b: a << b,
    "tirx.shift_right": lambda a, b: a >> b,
}
