"""ScheduleState: a pointer to an immutable module, and where its blocks and loops are.

It is the only mutable compiler object. A loop is known by its loop variable, a block by a token
that is carried along when the block is rewritten; both survive every primitive, so a random
variable of a schedule stays valid while the program around it changes. `replace` rebuilds only the
path from the changed statement to the root of its function.

Read next: `schedule.base` (random variables and history on top of this).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from workbench.core.node import plan_of
from workbench.ir.expr import GlobalVar, IntImm
from workbench.ir.module import IRModule
from workbench.s_tir.sblock_scope import BlockToken, Entry, Key, SBlockScope
from workbench.s_tir.schedule.error import ScheduleError
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import Evaluate, For, SBlock, SBlockRealize, SeqStmt, Stmt


class FuncIndex:
    """The blocks and loops of one function, in program order."""

    __slots__ = ("cache", "entries", "function", "root")

    def __init__(
        self, name: GlobalVar, function: PrimFunc, tokens: Mapping[int, BlockToken]
    ) -> None:
        self.function = function
        self.entries: dict[Key, Entry] = {}
        self.root: Key | None = None
        #: What analyses found out about this version of the function.
        self.cache: dict[Any, Any] = {}
        stack: list[tuple[Any, Entry | None, tuple[Stmt, ...]]] = [(function.body, None, ())]
        while stack:
            stmt, parent, trail = stack.pop()
            cls = type(stmt)
            if cls is For or cls is SBlock:
                key = stmt.loop_var if cls is For else tokens.get(id(stmt))
                entry = self._add(key, stmt, parent, trail, name)
                stack.append((stmt.body, entry, ()))
            elif cls is SBlockRealize:
                stack.append((stmt.block, parent, (*trail, stmt)))
            else:
                below = (*trail, stmt)
                for child in reversed(plan_of(cls).children(stmt)):
                    if isinstance(child, Stmt):
                        stack.append((child, parent, below))

    def _add(
        self,
        key: Key | None,
        stmt: Any,
        parent: Entry | None,
        trail: tuple[Stmt, ...],
        name: GlobalVar,
    ) -> Entry:
        if key is None:
            key = BlockToken(stmt.name_hint)
        if key in self.entries:
            what = stmt.name_hint if type(stmt) is SBlock else stmt.loop_var.name
            raise ScheduleError(
                f"{name.name_hint}: {what!r} occurs twice as the same object: every loop needs its "
                "own variable and every block must be a node of its own",
                hint="workbench.s_tir.renew_defs(func) gives every definition its own variable",
            )
        entry = Entry(key, stmt, parent.key if parent else None, trail, name)
        if parent is None:
            if self.root is None:
                self.root = key
        else:
            parent.children.append(key)
            entry.depth = parent.depth + 1
        self.entries[key] = entry
        return entry


class StmtSRef:
    """A reference to a block or loop of a state; `stmt` is its present form."""

    __slots__ = ("key", "state")

    def __init__(self, state: ScheduleState, key: Key) -> None:
        self.state = state
        self.key = key

    @property
    def entry(self) -> Entry:
        """Where it is. Raises ScheduleError if it is no longer in the program."""
        return self.state.entry(self.key)

    @property
    def stmt(self) -> Any:
        """The `SBlock` or `For`, or None if it is no longer in the program."""
        found = self.state.find(self.key)
        return found.stmt if found is not None else None

    @property
    def parent(self) -> StmtSRef | None:
        """The enclosing block or loop."""
        parent = self.entry.parent
        return None if parent is None else StmtSRef(self.state, parent)

    @property
    def seq_index(self) -> int:
        """The place in the enclosing sequence, -1 if there is none."""
        entry = self.entry
        for above, below in zip(
            reversed(entry.trail), [entry.stmt, *reversed(entry.trail)], strict=False
        ):
            if isinstance(above, SeqStmt):
                return next(i for i, s in enumerate(above.seq) if s is below)
        return -1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StmtSRef) and self.key is other.key and self.state is other.state

    def __hash__(self) -> int:
        return hash((id(self.state), self.key))

    def same_as(self, other: object) -> bool:
        """Whether both refer to the same block or loop."""
        return self == other

    def __repr__(self) -> str:
        found = self.state.find(self.key)
        return f"StmtSRef({found.label if found else 'gone'})"


class ScheduleState:
    """The current module with an index of its blocks and loops.

    Parameters
    ----------
    mod : the module or function; a function is named `main`.
    debug_mask : "none", or "all" to check the state after every primitive.
    enable_check : False leaves out the legality checks that cost time (TVM's option).
    """

    def __init__(
        self,
        mod: IRModule | PrimFunc,
        *,
        debug_mask: str | int = "none",
        enable_check: bool = True,
    ) -> None:
        if isinstance(mod, PrimFunc):
            name = mod.attrs.get("global_symbol", "main")
            mod = IRModule({GlobalVar(str(name)): mod})
        if not isinstance(mod, IRModule):
            raise TypeError(
                f"Schedule: expected an IRModule or a PrimFunc, got {type(mod).__name__}"
            )
        self.mod = with_root_blocks(mod)
        self.debug_mask = debug_mask
        self.enable_check = enable_check
        self._indexes: dict[GlobalVar, FuncIndex] = {}

    # Looking things up

    def index(self, name: GlobalVar) -> FuncIndex:
        """The index of a function, built when first asked for."""
        index = self._indexes.get(name)
        function = self.mod.functions[name]
        assert isinstance(function, PrimFunc)
        if index is None or index.function is not function:
            tokens: dict[int, BlockToken] = {}
            if index is not None:
                tokens = _tokens(index)
            index = FuncIndex(name, function, tokens)
            self._indexes[name] = index
        return index

    def indexes(self) -> Iterator[FuncIndex]:
        """The indexes of all loop functions."""
        for name, function in self.mod.functions.items():
            if isinstance(function, PrimFunc):
                yield self.index(name)

    def find(self, key: Key) -> Entry | None:
        """The entry of a key, or None if it is not in the program."""
        for index in list(self._indexes.values()):
            found = index.entries.get(key)
            if found is not None:
                return found
        return None

    def entry(self, key: Key) -> Entry:
        """The entry of a key. Raises ScheduleError if it is not in the program."""
        found = self.find(key)
        if found is None:
            what = f"block {key.name!r}" if isinstance(key, BlockToken) else f"loop {key.name!r}"
            raise ScheduleError(
                f"the {what} is no longer in the program",
                hint="ask for it again with get_sblock / get_loops, or undo the primitive that "
                "removed it",
            )
        return found

    def ancestors(self, key: Key) -> Iterator[Entry]:
        """The enclosing blocks and loops, innermost first."""
        parent = self.entry(key).parent
        while parent is not None:
            entry = self.entry(parent)
            yield entry
            parent = entry.parent

    def loops_above(self, key: Key) -> list[Entry]:
        """The loops around a block or loop within its scope, outermost first."""
        loops: list[Entry] = []
        for entry in self.ancestors(key):
            if entry.is_block:
                break
            loops.append(entry)
        return loops[::-1]

    def scope(self, key: Key) -> Entry:
        """The innermost enclosing block. Raises ScheduleError for a root block."""
        for entry in self.ancestors(key):
            if entry.is_block:
                return entry
        raise ScheduleError(
            f"the {self.entry(key).label} is the root of its function",
            nodes=[self.entry(key).stmt],
            hint="choose a block or loop inside it",
        )

    def blocks_below(self, key: Key) -> list[Entry]:
        """The outermost blocks below a block or loop, in program order."""
        found: list[Entry] = []
        stack = list(reversed(self.entry(key).children))
        while stack:
            entry = self.entry(stack.pop())
            if entry.is_block:
                found.append(entry)
            else:
                stack.extend(reversed(entry.children))
        return found

    def is_below(self, key: Key, above: Key) -> bool:
        """Whether `key` is somewhere below `above`."""
        return any(e.key is above for e in self.ancestors(key))

    def get_sref(self, stmt: Any) -> StmtSRef | None:
        """The reference of a block or loop node of the present program (None: it is not there)."""
        for index in self.indexes():
            for key, entry in index.entries.items():
                if entry.stmt is stmt:
                    return StmtSRef(self, key)
        return None

    def dependences(self, key: Key) -> SBlockScope:
        """The dependences inside a block; computed once for every version of the program."""
        cache = self.index(self.entry(key).function).cache
        found = cache.get(("scope", key))
        if found is None:
            found = cache["scope", key] = SBlockScope(self.blocks_below(key))
        return found

    def get_sblock_scope(self, block_sref: StmtSRef) -> SBlockScope:
        """The dependences between the blocks directly inside a block; TVM's form."""
        return self.dependences(block_sref.key)

    # Changing the program

    def replace(
        self,
        src_sref: StmtSRef | Key,
        tgt_stmt: Stmt | None,
        block_sref_reuse: Mapping[Any, Any] | None = None,
    ) -> None:
        """Puts a statement in the place of a block or loop.

        Parameters
        ----------
        src_sref : what is replaced.
        tgt_stmt : the new statement; None removes it, with everything around it that is left empty.
        block_sref_reuse : old block → new block, for blocks that stay the same block.
        """
        key = src_sref.key if isinstance(src_sref, StmtSRef) else src_sref
        entry = self.entry(key)
        index = self.index(entry.function)
        tokens = _tokens(index)
        kept = [(old, new) for old, new in (block_sref_reuse or {}).items()]
        for old, new in kept:
            tokens[id(new)] = tokens[id(old)]
        if entry.is_block and isinstance(tgt_stmt, SBlock):
            assert isinstance(entry.key, BlockToken)
            tokens[id(tgt_stmt)] = entry.key
        old: Stmt = entry.stmt
        new: Stmt | None = tgt_stmt
        while True:
            for node in reversed(entry.trail):
                old, new = node, swap_child(node, old, new)
            if entry.parent is None:
                break
            entry = index.entries[entry.parent]
            above = entry.stmt
            if new is None and type(above) is For:
                old, new = above, None
                continue
            body = Evaluate(0) if new is None else new
            old, new = above, above.replace(body=body)
            if type(above) is SBlock:
                assert isinstance(entry.key, BlockToken)
                tokens[id(new)] = entry.key
        assert new is not None, "the root block of a function cannot be removed"
        function = index.function.replace(body=new)
        self._indexes = dict(self._indexes)
        self._indexes[entry.function] = FuncIndex(entry.function, function, tokens)
        self.mod = self.mod.with_func(entry.function, function)
        if self.debug_mask not in ("none", 0):
            self.verify()

    def snapshot(self) -> tuple[IRModule, dict[GlobalVar, FuncIndex]]:
        """The present module and index; immutable, so keeping them costs two references."""
        return self.mod, self._indexes

    def restore(self, saved: tuple[IRModule, dict[GlobalVar, FuncIndex]]) -> None:
        """Goes back to (or on to) a saved module."""
        self.mod, self._indexes = saved

    def verify(self) -> None:
        """Checks that the index describes the module (for `debug_mask`)."""
        for index in self.indexes():
            fresh = FuncIndex(index.entries[index.root].function, index.function, _tokens(index))  # type: ignore[index]
            assert list(fresh.entries) == list(index.entries) or all(
                a is b for a, b in zip(fresh.entries, index.entries, strict=True)
            ), "the index does not describe the program"


def _tokens(index: FuncIndex) -> dict[int, BlockToken]:
    return {id(e.stmt): e.key for e in index.entries.values() if isinstance(e.key, BlockToken)}


def swap_child(node: Stmt, old: Stmt, new: Stmt | None) -> Stmt | None:
    """`node` with its child `old` replaced (None: removed); None if nothing is left."""
    if isinstance(node, SeqStmt):
        items: list[Stmt] = []
        for item in node.seq:
            if item is not old:
                items.append(item)
            elif new is not None:
                items.append(new)
        if not items:
            return None
        return items[0] if len(items) == 1 else SeqStmt(items)
    if new is None:
        return None
    plan = plan_of(type(node))
    below = plan.children(node)
    return plan.with_children(node, [new if c is old else c for c in below])


def replace_stmts(root: Stmt, changes: Mapping[int, Stmt | None]) -> Stmt | None:
    """`root` with the statements whose `id` is in `changes` replaced (None: removed).

    Visits statements only; what is replaced is not searched further.
    """
    if id(root) in changes:
        return changes[id(root)]
    if isinstance(root, SeqStmt):
        items = [replace_stmts(s, changes) for s in root.seq]
        if all(a is b for a, b in zip(items, root.seq, strict=True)):
            return root
        left = [s for s in items if s is not None]
        if not left:
            return None
        return left[0] if len(left) == 1 else SeqStmt(left)
    plan = plan_of(type(root))
    below = plan.children(root)
    new: list[Any] = []
    changed = False
    for child in below:
        image = replace_stmts(child, changes) if isinstance(child, Stmt) else child
        if image is not child:
            changed = True
            if image is None:
                if type(root) is not SBlock:
                    return None
                image = Evaluate(0)
        new.append(image)
    return plan.with_children(root, new) if changed else root


def with_root_blocks(mod: IRModule) -> IRModule:
    """Every loop function with a root block (what TVMScript leaves implicit)."""
    for name, function in mod.functions.items():
        if isinstance(function, PrimFunc) and not _has_root(function):
            root = SBlock((), (), (), "root", function.body)
            body = SBlockRealize((), IntImm("bool", 1), root)
            mod = mod.with_func(name, function.replace(body=body))
    return mod


def _has_root(function: PrimFunc) -> bool:
    body = function.body
    return isinstance(body, SBlockRealize) and not body.iter_values
