"""Targets: what is compiled for. `Target("llvm")`, `Target({"kind": "llvm", "mcpu": "znver4"})`.

A `Target` is an immutable value: a kind, its options, keys, a host. The kinds are declared
in `workbench.target.kinds`, one file each, and are loaded when the first target is made.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from workbench.core.errors import WorkbenchError, did_you_mean
from workbench.core.leaves import register_leaf
from workbench.core.registry import Registry
from workbench.runtime.device import Device

#: What is written in place of a default for options that have none.
NO_DEFAULT: Any = None
_COMMON = ("kind", "tag", "keys", "device", "model", "libs", "host")


class TargetError(WorkbenchError, ValueError):
    """A description that is no target: unknown kind, unknown option, wrong type of a value."""


@dataclass(frozen=True)
class Option:
    """One option of a target kind: `type` is bool, int, str or list (of texts)."""

    type: type
    doc: str
    default: Any = NO_DEFAULT
    check: Callable[[Any], str | None] | None = None


@dataclass(frozen=True)
class TargetKind:
    """A kind of target: its options, its keys, the device it runs on, the stages of its compiler.

    `stages` names, in order, what `Executable.stages` holds after lowering; `language` of each says
    how to highlight it. `codegen` is the module that has `build(mod, target)`.
    """

    name: str
    device_type: str
    keys: tuple[str, ...]
    options: Mapping[str, Option]
    stages: tuple[tuple[str, str], ...]
    codegen: str
    doc: str = ""

    def __str__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return self.name == other if isinstance(other, str) else self is other

    def __hash__(self) -> int:
        return hash(self.name)


target_kinds: Registry[TargetKind] = Registry("target kind")


@dataclass(frozen=True)
class _Tag:
    config: Mapping[str, Any] = field(default_factory=dict)


target_tags: Registry[_Tag] = Registry("target tag")
_current: ContextVar[tuple[Target, ...]] = ContextVar("workbench_targets", default=())


class Target:
    """What is compiled for.

    Parameters
    ----------
    target : a kind ("llvm"), a tag, a command line ("llvm -mcpu=znver4"), JSON text, a mapping
        `{"kind": …, option: …}`, or a target.
    host : the target of the code that drives this one; same forms.

    Raises `TargetError` for an unknown kind or option (the nearest names are listed) or a value of
    the wrong type.
    """

    __slots__ = ("_key", "attrs", "host", "keys", "kind", "tag")

    kind: TargetKind
    tag: str
    keys: tuple[str, ...]
    attrs: Mapping[str, Any]
    host: Target | None

    def __init__(
        self,
        target: str | Mapping[str, Any] | Target,
        host: str | Mapping[str, Any] | Target | None = None,
    ) -> None:
        if isinstance(target, Target):
            config: dict[str, Any] = target.export()
        elif isinstance(target, str):
            config = _parse_text(target)
        elif isinstance(target, Mapping):
            config = dict(target)
        else:
            raise TargetError(f"expected a target, got {type(target).__name__} {target!r}")
        if host is not None:
            config["host"] = host
        self._fill(config)

    def _fill(self, config: dict[str, Any]) -> None:
        if "kind" not in config:
            raise TargetError("a target needs a 'kind'", hint=_known_kinds())
        kind = _kind(config.pop("kind"))
        self.kind = kind
        self.tag = str(config.pop("tag", ""))
        host = config.pop("host", None)
        self.host = host if host is None or isinstance(host, Target) else Target(host)
        extra = config.pop("keys", ())
        for name in ("device",):
            if name in config:
                extra = (*extra, str(config[name]))
        self.keys = tuple(dict.fromkeys((*extra, *kind.keys)))
        attrs: dict[str, Any] = {}
        for name, value in config.items():
            attrs[name] = _checked(kind, name, value)
        for name, option in kind.options.items():
            if option.default is not NO_DEFAULT:
                attrs.setdefault(name, option.default)
        self.attrs = MappingProxyType(attrs)
        self._key = json.dumps(self.export(), sort_keys=True)

    def get(self, name: str, default: Any = None) -> Any:
        """The value of an option, or `default`."""
        return self.attrs.get(name, default)

    def export(self) -> dict[str, Any]:
        """The target as a mapping of plain values; `Target(t.export()) == t`."""
        out: dict[str, Any] = {"kind": self.kind.name, "tag": self.tag, "keys": list(self.keys)}
        for name, value in self.attrs.items():
            out[name] = list(value) if isinstance(value, tuple) else value
        if self.host is not None:
            out["host"] = self.host.export()
        return out

    def with_host(self, host: str | Mapping[str, Any] | Target) -> Target:
        """The same target with a host."""
        return Target(self, host)

    def get_target_device_type(self) -> int:
        """The DLPack number of the device that runs the code."""
        return Device(self.kind.device_type).device_type

    def get_kind_attr(self, attr_name: str) -> Any:
        """A property of the kind: "keys", "device_type", "stages", "doc"."""
        return getattr(self.kind, attr_name)

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """The innermost `with target:`; None outside one, or `TargetError` if not `allow_none`."""
        stack = _current.get()
        if not stack and not allow_none:
            raise TargetError("no target is set", hint="with Target('llvm'): …")
        return stack[-1] if stack else None

    @staticmethod
    def target_or_current(target: str | Mapping[str, Any] | Target | None) -> Target:
        """The given target, else the current one. Raises `TargetError` if there is neither."""
        found = Target.current() if target is None else Target(target)
        if found is None:
            raise TargetError("no target is given and none is set")
        return found

    @staticmethod
    def from_device(device: str | Device) -> Target:
        """The default target of a device."""
        where = device if isinstance(device, Device) else Device(device.partition(":")[0])
        for name in Target.list_kinds():
            if _kind(name).device_type == where.type:
                return Target(name)
        raise TargetError(f"no target kind runs on {where}", hint=_known_kinds())

    @staticmethod
    def list_kinds() -> list[str]:
        """Names of all kinds."""
        _load_kinds()
        return target_kinds.names()

    def __enter__(self) -> Target:
        _current.set((*_current.get(), self))
        return self

    def __exit__(self, *exc: object) -> None:
        _current.set(_current.get()[:-1])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def same_as(self, other: object) -> bool:
        """Whether both are the same object."""
        return self is other

    def __str__(self) -> str:
        return json.dumps(self.export())

    def __repr__(self) -> str:
        return f"Target({json.dumps(self.export())})"

    def __reduce__(self) -> tuple[type[Target], tuple[dict[str, Any]]]:
        return Target, (self.export(),)


def register_tag(name: str, config: Mapping[str, Any]) -> Target:
    """Names a configuration: `Target(name)` then stands for it. Raises if the name is taken."""
    made = Target({**config, "tag": name})
    target_tags.add(name, _Tag(dict(config)))
    return made


def list_tags() -> dict[str, Target]:
    """All tags and their targets."""
    _load_kinds()
    return {name: Target({**tag.config, "tag": name}) for name, tag in target_tags.items()}


def _load_kinds() -> None:
    import workbench.target.kinds  # noqa: F401  (seam: the kinds register themselves)


def _known_kinds() -> str:
    return f"known kinds: {', '.join(Target.list_kinds())}"


def _kind(name: Any) -> TargetKind:
    _load_kinds()
    if isinstance(name, TargetKind):
        return name
    found = target_kinds.get(str(name))
    if found is None:
        near = did_you_mean(str(name), [*target_kinds.names(), *target_tags.names()])
        hint = f"{near} {_known_kinds()}".strip()
        raise TargetError(f"unknown target {str(name)!r}", hint=hint)
    return found


def _parse_text(text: str) -> dict[str, Any]:
    text = text.strip()
    if text.startswith("{"):
        try:
            return dict(json.loads(text))
        except (json.JSONDecodeError, ValueError) as error:
            raise TargetError(f"the target {text!r} is not valid JSON: {error}") from error
    words = shlex.split(text)
    if not words:
        raise TargetError("the target is empty", hint=_known_kinds())
    _load_kinds()
    tag = target_tags.get(words[0])
    config = {**tag.config, "tag": words[0]} if tag else {"kind": words[0]}
    kind = _kind(config["kind"])
    at = 1
    while at < len(words):
        word = words[at]
        at += 1
        if not word.startswith("-"):
            raise TargetError(f"expected an option such as -mcpu=…, got {word!r} in {text!r}")
        name, equals, value = word.lstrip("-").partition("=")
        if not equals:
            option = kind.options.get(name)
            if option is not None and option.type is bool:
                value = "true"
            elif at < len(words):
                value = words[at]
                at += 1
        config[name] = _from_text(kind, name, value)
    return config


def _from_text(kind: TargetKind, name: str, value: str) -> Any:
    option = kind.options.get(name)
    if name in ("keys", "libs") or (option is not None and option.type is list):
        return [part for part in value.split(",") if part]
    if option is not None and option.type is bool:
        if value.lower() not in ("true", "false", "1", "0"):
            raise TargetError(f"option {name}: expected true or false, got {value!r}")
        return value.lower() in ("true", "1")
    if option is not None and option.type is int:
        try:
            return int(value)
        except ValueError:
            raise TargetError(f"option {name}: expected a whole number, got {value!r}") from None
    return value


def _checked(kind: TargetKind, name: str, value: Any) -> Any:
    if name in _COMMON:
        return tuple(value) if isinstance(value, list) else value
    option = kind.options.get(name)
    if option is None:
        known = [*kind.options, *_COMMON]
        raise TargetError(
            f"target kind {kind.name!r} has no option {name!r}",
            hint=did_you_mean(name, known) or f"options: {', '.join(known)}",
        )
    wanted = option.type
    if wanted is list:
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise TargetError(f"option {name}: expected a list of texts, got {value!r}")
        value = tuple(str(part) for part in value)
    elif not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        raise TargetError(f"option {name}: expected {wanted.__name__}, got {value!r}")
    problem = option.check(value) if option.check else None
    if problem:
        raise TargetError(f"option {name}: {problem}, got {value!r}")
    return value


register_leaf(
    Target,
    "target",
    key=lambda t: t._key,
    encode=lambda t: t.export(),
    decode=lambda value: Target(value),
)
