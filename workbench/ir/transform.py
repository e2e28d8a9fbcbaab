"""Passes: declared by one decorated function, run in a `PassContext`, composed by `Sequential`.

    @define_pass("tirx.UnrollLoop", level="function", on=PrimFunc)
    def UnrollLoop(func: PrimFunc, ctx: PassContext, *, max_steps: int = 16) -> PrimFunc:
        ...

`UnrollLoop(max_steps=8)` is then a `Pass`; `UnrollLoop(max_steps=8)(mod)` runs it. From the one
declaration come its name, its options, its documentation, timing, recording and instruments.
Options that are not given are taken from `PassContext(config={"tirx.UnrollLoop": {...}})`.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from workbench.core.errors import did_you_mean
from workbench.core.recorder import active
from workbench.core.registry import Registry
from workbench.ir.instrument import PassInstrument
from workbench.ir.module import IRModule
from workbench.ir.pass_config import PassError, checked_config, config_options


@dataclass(frozen=True)
class PassInfo:
    """What is known about a pass without running it."""

    name: str
    opt_level: int = 0
    required: tuple[str, ...] = ()
    traceable: bool = False
    doc: str = field(default="", kw_only=True)


#: All declared passes: name → factory.
pass_registry: Registry[Callable[..., Pass]] = Registry("pass")


class _Config(dict[str, Any]):
    """The options of a context; it knows which of them were asked for."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self._read: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        self._read.add(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self._read.add(key)
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        self._read.add(str(key))
        return super().__contains__(key)

    def unread(self) -> list[str]:
        """The names that nothing asked for."""
        return [name for name in self if name not in self._read]


class PassContext:
    """Options for the passes that run inside `with PassContext(...)`.

    Parameters
    ----------
    opt_level : passes of a higher level are left out of a `Sequential` (default 2).
    required_pass, disabled_pass : names that run, or do not run, whatever their level.
    instruments : `PassInstrument` objects.
    config : options by name (`list_configs()` has them); those of a pass are
        `{"tirx.UnrollLoop": {"auto_max_step": 8}}`.

    A configured name that nothing asked for while the context was active is warned about when it
    ends, unless it is one without effect here. Raises `PassError` for values of other kinds, and
    `ConfigError`, one of them, for unknown names in `config`.
    """

    def __init__(
        self,
        opt_level: int = 2,
        required_pass: Sequence[str] = (),
        disabled_pass: Sequence[str] = (),
        instruments: Sequence[PassInstrument] = (),
        config: Mapping[str, Any] | None = None,
        trace: Any = None,
    ) -> None:
        if isinstance(opt_level, bool) or not isinstance(opt_level, int):
            raise PassError(f"PassContext: expected an integer as opt_level, got {opt_level!r}")
        for what, names in (("required_pass", required_pass), ("disabled_pass", disabled_pass)):
            if isinstance(names, str) or not all(isinstance(n, str) for n in names or ()):
                raise PassError(f"PassContext: {what} is a list of names, got {names!r}")
        for item in instruments or ():
            if not isinstance(item, PassInstrument):
                raise PassError(
                    f"PassContext: expected instruments, got {type(item).__name__} {item!r}",
                    hint="make the class of it a @pass_instrument",
                )
        if config is not None and not isinstance(config, Mapping):
            raise PassError(f"PassContext: config maps names to options, got {config!r}")
        self.opt_level = opt_level
        self.required_pass = tuple(required_pass or ())
        self.disabled_pass = tuple(disabled_pass or ())
        self.instruments: tuple[PassInstrument, ...] = tuple(instruments or ())
        self.config = _Config(checked_config(config or {}, pass_registry))
        self.trace = trace
        self._tokens: list[Token[PassContext | None]] = []

    @staticmethod
    def current() -> PassContext:
        """The innermost context (a default one outside any)."""
        return _context.get() or _outermost

    def __enter__(self) -> PassContext:
        for instrument in self.instruments:
            instrument.enter_pass_ctx()
        self._tokens.append(_context.set(self))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _context.reset(self._tokens.pop())
        for instrument in self.instruments:
            instrument.exit_pass_ctx()
        if kind is None and not self._tokens:
            for name in self.config.unread():
                if name in config_options and not config_options[name].effect:
                    continue
                warnings.warn(
                    f"PassContext: no pass that ran asked for the option {name!r}", stacklevel=2
                )

    def override_instruments(self, instruments: Sequence[PassInstrument] | None) -> None:
        """Replaces the instruments of a running context."""
        for old in self.instruments:
            old.exit_pass_ctx()
        self.instruments = tuple(instruments or ())
        for new in self.instruments:
            new.enter_pass_ctx()

    def enabled(self, info: PassInfo) -> bool:
        """Whether a `Sequential` runs the pass."""
        if info.name in self.disabled_pass:
            return False
        return info.name in self.required_pass or self.opt_level >= info.opt_level

    @staticmethod
    def list_configs() -> dict[str, dict[str, str]]:
        """The names that `config` may have (besides those of passes): their kind and effect."""
        found = {name: config_options[name] for name in config_options.names()}
        return {
            name: {"type": option.kind, "effect": option.effect or "none here"}
            for name, option in found.items()
        }

    def options(self, name: str) -> dict[str, Any]:
        """The configured options of a pass."""
        found = self.config.get(name)
        return dict(found) if isinstance(found, Mapping) else {}

    def get(self, key: str, default: Any = None) -> Any:
        """A configured value."""
        return self.config.get(key, default)


_outermost = PassContext()
_context: ContextVar[PassContext | None] = ContextVar("workbench_pass_context", default=None)


class Pass:
    """A transformation of modules: `new = some_pass(mod)`."""

    info: PassInfo

    @property
    def name(self) -> str:
        """The pass's name."""
        return self.info.name

    def transform(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """The work itself; subclasses implement it."""
        raise TypeError(f"pass {self.info.name} does not define transform")

    def __call__(self, mod: IRModule) -> IRModule:
        """Applies the pass under the current context."""
        if not isinstance(mod, IRModule):
            raise PassError(
                f"pass {self.info.name}: expected an IRModule, got {type(mod).__name__}",
                hint="IRModule.from_expr(func) makes a module of a function",
            )
        ctx = PassContext.current()
        instruments = ctx.instruments
        if instruments:
            wanted = [i.should_run(mod, self.info) for i in instruments]
            if not all(wanted) and self.info.name not in ctx.required_pass:
                return mod
            for instrument in instruments:
                instrument.run_before_pass(mod, self.info)
        new = self._run(mod, ctx)
        for instrument in instruments:
            instrument.run_after_pass(new, self.info)
        return new

    def _run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        recorder = active("pass")
        if recorder is None:
            new = self.transform(mod, ctx)
        else:
            with recorder.step(
                "pass", self.info.name, mod, options=self.options(), composite=self.composite
            ) as event:
                new = event.after = self._checked(self.transform(mod, ctx))
        return self._checked(new)

    def _checked(self, new: Any) -> IRModule:
        if not isinstance(new, IRModule):
            raise PassError(
                f"pass {self.info.name} returned {type(new).__name__}, expected an IRModule"
            )
        return new

    composite: bool = False

    def options(self) -> dict[str, Any]:
        """The options this pass was made with."""
        return {}

    def __repr__(self) -> str:
        inner = ", ".join(f"{k}={v!r}" for k, v in self.options().items())
        return f"{self.info.name}({inner})"


class Sequential(Pass):
    """Runs passes in order. A pass that the context disables is left out."""

    composite = True

    def __init__(
        self,
        passes: Sequence[Pass] = (),
        opt_level: int = 0,
        name: str = "sequential",
        required: Sequence[str] = (),
        traceable: bool | None = None,
    ) -> None:
        for item in passes:
            if not callable(item):
                raise PassError(f"{name}: expected passes, got {type(item).__name__}")
        self.passes = list(passes)
        self.info = PassInfo(name, opt_level, tuple(required))

    def transform(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Runs the work on a module."""
        for item in self.passes:
            if isinstance(item, Pass):
                if not ctx.enabled(item.info):
                    continue
                for name in item.info.required:
                    mod = pass_registry[name]()(mod)
            mod = item(mod)
        return mod

    def __repr__(self) -> str:
        return f"{self.info.name}[{', '.join(map(repr, self.passes))}]"


class FunctionPass(Pass):
    """A pass made by `define_pass` (or TVM's decorators) from one function."""

    def __init__(
        self,
        run: Callable[..., Any],
        info: PassInfo,
        level: str,
        on: type | None,
        options: dict[str, Any],
    ) -> None:
        self.run = run
        self.info = info
        self.level = level
        self.on = on
        self._options = options

    def options(self) -> dict[str, Any]:
        """The options this pass was made with."""
        return dict(self._options)

    def _configured(self, ctx: PassContext) -> dict[str, Any]:
        """The options from the context that this pass has."""
        found = ctx.options(self.info.name)
        if not found:
            return found
        known = inspect.signature(self.run).parameters
        return {key: value for key, value in found.items() if key in known}

    def transform(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Runs the work on a module."""
        options = {**self._configured(ctx), **self._options}
        if self.level == "module":
            return self.run(mod, ctx, **options)
        changed: dict[Any, Any] = {}
        same = True
        takes_module = self.level == "function_in_module"
        for gvar, function in mod.functions.items():
            new = function
            if self.on is None or isinstance(function, self.on):
                args = (function, mod, ctx) if takes_module else (function, ctx)
                new = self.run(*args, **options)
            same = same and new is function
            if new is not None:
                changed[gvar] = new
        return mod if same else mod.replace(functions=changed)


def define_pass(
    name: str,
    *,
    level: str = "module",
    on: type | None = None,
    opt_level: int = 0,
    required: Sequence[str] = (),
) -> Callable[[Callable[..., Any]], Callable[..., FunctionPass]]:
    """Declares a pass by a function `f(value, ctx, *, option=default …)`.

    Parameters
    ----------
    level : "module" (the function maps a module), "function" (it maps each function of type `on`;
        returning None removes the function) or "function_in_module" (it gets
        `(function, module, ctx)`).
    opt_level : the lowest `PassContext.opt_level` at which a `Sequential` runs the pass.
    required : passes to run right before it.

    The decorated name becomes a factory: its keyword arguments are the pass's options, checked by
    name when the pass is made.
    """
    assert level in ("module", "function", "function_in_module"), level

    def declare(function: Callable[..., Any]) -> Callable[..., FunctionPass]:
        signature = inspect.signature(function)
        options = [
            p.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD)
            for p in signature.parameters.values()
            if p.kind is inspect.Parameter.KEYWORD_ONLY
        ]
        info = PassInfo(name, opt_level, tuple(required), doc=inspect.getdoc(function) or "")
        known = [p.name for p in options]

        @functools.wraps(function)
        def factory(*args: Any, **given: Any) -> FunctionPass:
            if len(args) > len(known):
                raise PassError(f"{name} takes at most {len(known)} options, got {len(args)}")
            given = {**dict(zip(known, args, strict=False)), **given}
            for key in given:
                if key not in known:
                    raise PassError(
                        f"{name} has no option {key!r}",
                        hint=did_you_mean(key, known) or f"its options: {', '.join(known)}",
                    )
            return FunctionPass(function, info, level, on, given)

        factory.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
        factory.info = info  # type: ignore[attr-defined]
        factory.apply = function  # type: ignore[attr-defined]
        pass_registry.add(name, factory)
        return factory

    return declare


def module_pass(
    pass_func: Any = None,
    opt_level: int = 0,
    name: str | None = None,
    required: Sequence[str] = (),
    traceable: bool = False,
) -> Any:
    """TVM's decorator: a pass from `f(mod, ctx)` or from a class with `transform_module`."""
    return _tvm_pass(pass_func, "module", None, "transform_module", opt_level, name, required)


def _tvm_pass(
    pass_func: Any,
    level: str,
    on: type | None,
    method: str,
    opt_level: int,
    name: str | None,
    required: Sequence[str],
) -> Any:
    """A pass object (from a function) or a pass class (from a class), not registered."""

    def make(target: Any) -> Any:
        title = name or target.__name__
        info = PassInfo(title, opt_level, tuple(required), doc=inspect.getdoc(target) or "")
        if inspect.isclass(target):

            def build(*args: Any, **kwargs: Any) -> FunctionPass:
                owner = target(*args, **kwargs)
                return FunctionPass(getattr(owner, method), info, level, on, {})

            return functools.wraps(target, updated=())(build)
        return FunctionPass(target, info, level, on, {})

    return make if pass_func is None else make(pass_func)


def function_pass_decorator(on: type, method: str = "transform_function") -> Callable[..., Any]:
    """Makes a TVM-style decorator (`prim_func_pass`, `relax.function_pass`) for a function type.

    The decorated function is called as `f(function, mod, ctx)`.
    """

    def decorator(
        pass_func: Any = None,
        opt_level: int = 0,
        name: str | None = None,
        required: Sequence[str] = (),
        traceable: bool = False,
    ) -> Any:
        return _tvm_pass(pass_func, "function_in_module", on, method, opt_level, name, required)

    return decorator


def apply_pass_to_function(item: Pass, *func_names: str) -> Pass:
    """A pass that runs `item` on the named functions only, with the rest of the module in view."""

    @module_pass(name=f"{item.info.name} on {', '.join(func_names)}")
    def run(mod: IRModule, ctx: PassContext) -> IRModule:
        new = item(mod)
        out = mod
        for name in func_names:
            out = out.with_func(mod.get_global_var(name), new[name])
        return out

    return run


def PrintIR(header: str = "") -> Pass:
    """A pass that prints the module and leaves it."""

    @module_pass(name="PrintIR")
    def run(mod: IRModule, ctx: PassContext) -> IRModule:
        print(f"{header}\n{mod}" if header else mod)
        return mod

    return run
