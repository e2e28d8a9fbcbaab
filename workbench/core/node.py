"""One declaration of a node; everything else is derived from it.

    class For(Stmt):
        loop_var: Var = field(role=DEF)
        min: Expr = field(converter=as_expr)
        ...

A node class is a `__slots__` class whose annotations are its fields. From them come the
constructor (with coercion and checks), immutability, `replace`, `children`, `with_children`,
matching, structural equality and hash (`core.structural`), traversal (`core.traverse`), JSON
(`core.serial`) and `repr`. The hot functions are generated as Python source once per class, when
first used: importing a module that declares nodes generates nothing.

Invariants: nodes are immutable values; sequences are tuples; mappings are `FrozenMap`s.
Read next: `core.traverse`.
"""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, NoReturn, TypeVar, dataclass_transform

from workbench.core.errors import FrozenNodeError
from workbench.core.registry import Registry

_N = TypeVar("_N", bound="Node")


class Role(Enum):
    """What a field means to structural equality, hash and traversal."""

    USE = "use"
    DEF = "def"  # binds the variables in it; they are visible in the fields visited later
    META = "meta"  # spans and hints: ignored by equality and traversal


USE, DEF, META = Role.USE, Role.DEF, Role.META

KINDS = ("tree", "dag", "var", "singleton", "value")


class _Missing:
    def __repr__(self) -> str:
        return "<required>"


MISSING: Any = _Missing()


@dataclass(slots=True)
class Field:
    """A declared field. `shape` is resolved on first use: leaf, node, seq or any."""

    name: str
    annotation: str
    role: Role = USE
    converter: Callable[[Any], Any] | None = None
    default: Any = MISSING
    derive: Callable[[Any], Any] | None = None
    kw_only: bool = False
    alias: str = ""
    shape: str = ""
    types: tuple[type, ...] = ()
    optional: bool = False


def field(
    *,
    role: Role = USE,
    converter: Callable[[Any], Any] | None = None,
    default: Any = MISSING,
    derive: Callable[[Any], Any] | None = None,
    kw_only: bool = False,
    alias: str = "",
    init: bool = True,
) -> Any:
    """Declares the options of a node field.

    Parameters
    ----------
    role : `USE`, `DEF` (binds) or `META` (ignored).
    converter : coercion applied by the constructor.
    default : value when the argument is left out.
    derive : computes the field from the finished node; pass `init=False` with it. A derived field
        is no argument, is not traversed and takes no part in equality.
    kw_only : the argument must be named. alias : the name of the argument, if another.
    """
    assert init == (derive is None), "a derived field has init=False"
    return Field("", "", role, converter, default, derive, kw_only, alias)


class FrozenMap(dict[Any, Any]):
    """An immutable mapping that keeps its order."""

    __slots__ = ()

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise FrozenNodeError("this mapping belongs to an IR node and cannot be changed")

    __setitem__ = __delitem__ = _refuse  # type: ignore[assignment]
    clear = pop = popitem = setdefault = update = __ior__ = _refuse  # type: ignore[assignment]

    def __hash__(self) -> int:  # type: ignore[override]
        return id(self)

    def __reduce__(self) -> Any:
        return (FrozenMap, (dict(self),))


def as_tuple(value: Iterable[Any]) -> tuple[Any, ...]:
    """A tuple of any sequence."""
    return tuple(value)


def freeze_map(value: Mapping[Any, Any] | None) -> FrozenMap:
    """A `FrozenMap` of any mapping, with what is inside frozen too; None is the empty one."""
    if isinstance(value, FrozenMap):
        return value
    return FrozenMap({key: freeze(item) for key, item in (value or {}).items()})


def freeze(value: Any) -> Any:
    """Lists as tuples and dictionaries as `FrozenMap`s, all the way down; others as they are."""
    if isinstance(value, (list, tuple)):
        return tuple(map(freeze, value))
    if isinstance(value, dict):
        return freeze_map(value)
    return value


#: All node classes by type key ("tirx.For").
node_types: Registry[type[Node]] = Registry("node type")

_fields: dict[type, tuple[Field, ...]] = {}


def _first_init(cls: type) -> Callable[..., None]:
    """A constructor that replaces itself by the generated one when first called."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        real = generated_init(cls)
        real.__generated__ = True  # type: ignore[attr-defined]
        cls.__init__ = real  # type: ignore[misc]
        real(self, *args, **kwargs)

    __init__.__generated__ = True  # type: ignore[attr-defined]
    return __init__


@dataclass_transform(eq_default=False, field_specifiers=(field,))
class NodeMeta(type):
    """Turns annotations into slots and remembers the fields; generates nothing yet."""

    __node_kind__: str

    def __new__(
        mcls, name: str, bases: tuple[type, ...], space: dict[str, Any], kind: str = "", **kw: Any
    ) -> NodeMeta:
        """Makes the class; see the class text."""
        declared: dict[str, str] = space.get("__annotations__", {})
        own: list[Field] = []
        for attr, annotation in declared.items():
            text = annotation if isinstance(annotation, str) else repr(annotation)
            if text.startswith(("ClassVar", "typing.ClassVar")):
                continue
            spec = space.pop(attr, MISSING)
            if not isinstance(spec, Field):
                spec = Field("", "", default=spec)
            spec.name, spec.annotation, spec.alias = attr, text, spec.alias or attr
            own.append(spec)
        inherited: list[Field] = list(_fields.get(bases[0], ())) if bases else []
        replaced = {f.name for f in own}
        slots = tuple(f.name for f in own if f.name not in {g.name for g in inherited})
        space.setdefault("__slots__", slots if bases else ("__weakref__",))
        merged = [f for f in inherited if f.name not in replaced] + own
        merged.sort(key=lambda f: (f.kw_only, f.derive is not None))
        space["__match_args__"] = tuple(f.name for f in merged if not f.kw_only and not f.derive)
        cls = super().__new__(mcls, name, bases, space, **kw)
        _fields[cls] = tuple(merged)
        cls.__node_kind__ = kind or getattr(cls, "__node_kind__", "tree")
        assert cls.__node_kind__ in KINDS, cls.__node_kind__
        inherited_init = bases[0].__init__ if bases else None
        written = (
            bool(bases)
            and inherited_init is not object.__init__
            and not getattr(inherited_init, "__generated__", False)
        )
        if "__init__" not in space and not written:
            cls.__init__ = _first_init(cls)  # type: ignore[method-assign]
        if bases:
            assert len(bases) == 1, f"{name}: a node class has one base"
            layer = cls.__module__.split(".")[1] if "." in cls.__module__ else cls.__module__
            key = space.get("__type_key__") or f"{layer}.{name}"
            node_class = typing.cast("type[Node]", cls)
            node_class.__type_key__ = key
            node_types.add(key, node_class)
        return cls

    @property
    def __signature__(cls) -> Any:
        import inspect

        if cls.__dict__.get("__init__") is None or not getattr(
            cls.__dict__["__init__"], "__generated__", False
        ):
            sig = inspect.signature(cls.__init__)
            return sig.replace(parameters=list(sig.parameters.values())[1:])
        kinds = inspect.Parameter
        return inspect.Signature(
            [
                kinds(
                    f.alias,
                    kinds.KEYWORD_ONLY if f.kw_only else kinds.POSITIONAL_OR_KEYWORD,
                    default=kinds.empty if f.default is MISSING else f.default,
                    annotation=f.annotation,
                )
                for f in _fields[cls]
                if f.derive is None
            ]
        )


class Node(metaclass=NodeMeta):
    """Base of all IR values. Subclasses declare fields by annotation."""

    __type_key__: ClassVar[str] = "core.Node"
    #: Field names in the order in which binding and traversal visit them; empty: DEF fields first.
    __visit_order__: ClassVar[tuple[str, ...]] = ()

    def __setattr__(self, name: str, value: Any) -> None:
        raise FrozenNodeError(
            f"{type(self).__name__}.{name} cannot be assigned: IR nodes are immutable",
            hint=f"node.replace({name}=...) returns a changed copy",
        )

    def __delattr__(self, name: str) -> None:
        raise FrozenNodeError(f"{type(self).__name__}.{name} cannot be deleted")

    def replace(self: _N, **changes: Any) -> _N:
        """A copy with some fields changed (the node itself if nothing changes)."""
        cls = type(self)
        args: dict[str, Any] = {}
        same = True
        for f in _fields[cls]:
            if f.derive is not None:
                continue
            old = getattr(self, f.name)
            new = changes.pop(f.name, old)
            same = same and new is old
            args[f.alias] = new
        if changes:
            known = ", ".join(f.name for f in _fields[cls] if f.derive is None)
            raise TypeError(
                f"{cls.__name__} has no field {', '.join(map(repr, changes))}; fields: {known}"
            )
        return self if same else construct(cls, args)

    def children(self) -> list[Node]:
        """The nodes directly below, in visiting order, sequences and mappings flattened."""
        return plan_of(type(self)).children(self)

    def with_children(self: _N, new: Sequence[Any]) -> _N:
        """The same node over other children (as many as `children()` returned)."""
        return plan_of(type(self)).with_children(self, new)

    def same_as(self, other: object) -> bool:
        """Whether this is the very same object."""
        return self is other

    def script(self, **options: Any) -> str:
        """The node as TVMScript."""
        from workbench.core.text import to_script

        return to_script(self, **options)

    def show(self, **options: Any) -> None:
        """Prints the node as TVMScript."""
        print(self.script(**options))

    def __repr__(self) -> str:
        from workbench.core.text import to_text

        return to_text(self)

    def __copy__(self: _N) -> _N:
        return self

    def __deepcopy__(self: _N, memo: Any) -> _N:
        return self

    def __reduce__(self) -> Any:
        from workbench.core.serial import from_json, to_json

        return (from_json, (to_json(self),))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        from workbench.core.live import mimebundle

        return mimebundle(self)


def fields_of(cls: type) -> tuple[Field, ...]:
    """The declared fields of a node class, in constructor order."""
    return _fields[cls]


def init_fields(node: Node, **args: Any) -> None:
    """Sets all fields of a new node: what a hand-written `__init__` ends with."""
    generated_init(type(node))(node, **args)


def construct(cls: type[_N], args: Mapping[str, Any]) -> _N:
    """Builds a node from its fields, bypassing a hand-written `__init__`."""
    node = cls.__new__(cls)
    generated_init(cls)(node, **args)
    return node


# ---------------------------------------------------------------------------------------------
# Generation


class Plan:
    """The generated functions of one class."""

    __slots__ = ("children", "compare", "fields", "hash_leaves", "kind", "with_children")

    def __init__(self, cls: type[Node]) -> None:
        from workbench.core import _generate

        self.kind = cls.__node_kind__
        self.fields = visited_fields(cls)
        space = _generate.compile_plan(cls, self.fields)
        self.children: Callable[[Any], list[Any]] = space["children"]
        self.with_children: Callable[[Any, Sequence[Any]], Any] = space["with_children"]
        self.compare: Callable[..., str] = space["compare"]
        self.hash_leaves: Callable[..., None] = space["hash_leaves"]


#: The plans generated so far; `plan_of` fills it, hot loops look here first.
plans: dict[type, Plan] = {}
_inits: dict[type, Callable[..., None]] = {}


def plan_of(cls: type) -> Plan:
    """The plan of a class, generated on first use."""
    plan = plans.get(cls)
    if plan is None:
        plan = plans[cls] = Plan(cls)
    return plan


def visited_fields(cls: type[Node]) -> tuple[Field, ...]:
    """Fields that equality and traversal visit, in visiting order, with resolved shapes."""
    own = [f for f in _fields[cls] if f.role is not META and f.derive is None]
    for f in own:
        _resolve(f, cls)
    if cls.__visit_order__:
        rank = {name: i for i, name in enumerate(cls.__visit_order__)}
        own.sort(key=lambda f: rank.get(f.name, len(rank)))
    else:
        own.sort(key=lambda f: f.role is not DEF)
    return tuple(own)


def _resolve(f: Field, cls: type) -> None:
    """Finds out from the annotation what a field holds: a leaf, a node, a sequence, or anything."""
    if f.shape:
        return
    annotation: Any = MISSING
    for base in cls.__mro__:
        scope = dict(vars(sys.modules[base.__module__]))
        try:
            annotation = eval(f.annotation, scope)
            break
        except NameError:
            continue
    f.shape, f.types, f.optional = _classify(annotation)


def _classify(annotation: Any) -> tuple[str, tuple[type, ...], bool]:
    if annotation is MISSING or annotation is Any or annotation is object:
        return "any", (), True
    origin = typing.get_origin(annotation)
    if origin is typing.Union or origin is types.UnionType:
        args = [a for a in typing.get_args(annotation) if a is not type(None)]
        optional = len(args) != len(typing.get_args(annotation))
        parts = [_classify(a) for a in args]
        shapes = {p[0] for p in parts}
        if len(shapes) == 1 and "any" not in shapes:
            return parts[0][0], tuple(t for p in parts for t in p[1]), optional
        return "any", (), optional
    if origin is tuple:
        args = [a for a in typing.get_args(annotation) if a is not Ellipsis]
        parts = [_classify(a) for a in args]
        if all(p[0] == "leaf" for p in parts):
            return "leaf", (tuple,), False
        if len(parts) == 1 and parts[0][0] == "node" and not parts[0][2]:
            return "seq", parts[0][1], False
        return "any", (), False
    if origin in (dict, Mapping) or annotation in (dict, Mapping, FrozenMap):
        return "any", (), False
    if isinstance(annotation, type) and issubclass(annotation, (dict, tuple, list)):
        return "any", (), False
    if isinstance(annotation, type):
        return ("node" if issubclass(annotation, Node) else "leaf"), (annotation,), False
    return "any", (), True


def generated_init(cls: type) -> Callable[..., None]:
    """The generated constructor of a class, whatever `__init__` the class has."""
    init = _inits.get(cls)
    if init is None:
        from workbench.core import _generate

        for f in _fields[cls]:
            _resolve(f, cls)
        init = _inits[cls] = _generate.compile_init(cls, _fields[cls])
    return init


def iter_node_types() -> Iterator[tuple[str, type[Node]]]:
    """All registered node classes with their type keys."""
    yield from node_types.items()
