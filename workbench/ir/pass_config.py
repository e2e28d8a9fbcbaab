"""The options of `PassContext(config={...})`: which names there are, and what values they take.

A name is an option declared here (TVM's names), or that of a pass, whose options are then given as
a mapping. `ConfigOption.effect` says what an option changes; without it, the name is accepted so
that programs written for TVM run, and nothing follows from it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.core.errors import WorkbenchError, did_you_mean
from workbench.core.registry import Registry
from workbench.ir.attrs import Attrs


class PassError(WorkbenchError, ValueError):
    """A pass was declared, configured or applied wrongly."""


class ConfigError(PassError, AttributeError):
    """An option of a pass context has an unknown name, or a value of another kind."""


@dataclass(frozen=True)
class ConfigOption:
    """One name of `PassContext.config`.

    kind : "bool", "int", "list" or "options" (a mapping with the `fields` and their defaults).
    """

    name: str
    kind: str
    effect: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)


#: All declared options by name.
config_options: Registry[ConfigOption] = Registry("option of a pass context")


def register_config_option(
    name: str, kind: str, effect: str = "", fields: Mapping[str, Any] | None = None
) -> ConfigOption:
    """Declares a name for `PassContext(config={...})`; see `ConfigOption`."""
    assert kind in _KINDS, kind
    return config_options.add(name, ConfigOption(name, kind, effect, fields or {}))


def checked_config(
    config: Mapping[str, Any], passes: Registry[Callable[..., Any]]
) -> dict[str, Any]:
    """The options with their values converted. Raises `ConfigError` for names and kinds unknown."""
    return {name: _checked(name, value, passes) for name, value in config.items()}


def _checked(name: Any, value: Any, passes: Registry[Callable[..., Any]]) -> Any:
    if not isinstance(name, str):
        raise ConfigError(f"PassContext: a name in config is a string, got {name!r}")
    if name in config_options:
        option = config_options[name]
        return _KINDS[option.kind](option, value)
    if name in passes:
        return _pass_options(name, value, passes[name])
    known = [*config_options.names(), *passes.names()]
    raise ConfigError(
        f"PassContext: there is no option {name!r}",
        hint=did_you_mean(name, known)
        or "PassContext.list_configs() has the names; those of passes too, once they are imported",
    )


def _refused(name: str, expected: str, value: Any) -> ConfigError:
    return ConfigError(
        f"PassContext: {name} is {expected}, got {type(value).__name__} {value!r}",
    )


def _bool(option: ConfigOption, value: Any) -> bool:
    if not isinstance(value, int):
        raise _refused(option.name, "True or False", value)
    return bool(value)


def _int(option: ConfigOption, value: Any) -> int:
    if not isinstance(value, int):
        raise _refused(option.name, "an integer", value)
    return int(value)


def _list(option: ConfigOption, value: Any) -> tuple[Any, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise _refused(option.name, "a list", value)
    return tuple(value)


def _options(option: ConfigOption, value: Any) -> Attrs:
    """A mapping with all fields; those that are not given have their defaults."""
    if not isinstance(value, Mapping):
        raise _refused(option.name, "a mapping of options", value)
    for key, given in value.items():
        where = f"{option.name}[{key!r}]"
        if key not in option.fields:
            raise ConfigError(
                f"PassContext: {option.name} has no option {key!r}",
                hint=did_you_mean(str(key), option.fields)
                or f"its options: {', '.join(option.fields)}",
            )
        if not isinstance(given, int):
            raise _refused(where, "an integer or a truth value", given)
    return Attrs({k: type(d)(value.get(k, d)) for k, d in option.fields.items()})


def _pass_options(name: str, value: Any, factory: Callable[..., Any]) -> Attrs:
    """The options of a pass, by the names in its declaration."""
    if not isinstance(value, Mapping):
        raise _refused(name, "a mapping of options", value)
    known = list(inspect.signature(factory).parameters)
    for key in value:
        if key not in known:
            raise ConfigError(
                f"PassContext: {name} has no option {key!r}",
                hint=did_you_mean(str(key), known) or f"its options: {', '.join(known) or 'none'}",
            )
    return Attrs(value)


_KINDS: dict[str, Callable[[ConfigOption, Any], Any]] = {
    "bool": _bool,
    "int": _int,
    "list": _list,
    "options": _options,
}

_UNROLL = {
    "auto_max_step": 0,
    "auto_max_depth": 8,
    "auto_max_extent": 0,
    "explicit_unroll": True,
    "unroll_local_access": False,
}
_PARTITION = {
    "partition_const_loop": False,
    "no_unroll_loop_with_extent_one": False,
    "unroll_loop_with_partition_hint_no_interval": False,
}
_SIMPLIFY = {
    "transitively_prove_inequalities": False,
    "convert_boolean_to_and_of_ors": False,
    "apply_constraints_to_boolean_branches": False,
}

for _name, _kind, _effect in (
    ("relax.FuseOps.max_depth", "int", "at most so many kernels in one function of FuseOps"),
    ("relax.transform.apply_legalize_ops", "bool", "False: LegalizeOps changes nothing"),
    ("tirx.disable_vectorize", "bool", "VectorizeLoop makes vectorised loops serial"),
    ("tirx.disable_storage_rewrite", "bool", "StorageRewrite changes nothing"),
    ("tirx.disable_cse_tir", "bool", "CommonSubexprElim changes nothing"),
    ("tirx.disable_assert", "bool", "the default pipeline removes assertions"),
    ("tirx.debug_keep_trivial_loop", "bool", "LowerOpaqueBlock keeps loops of one turn"),
    # Of passes, devices and code generators that are not here.
    ("relax.backend.use_cuda_graph", "bool", ""),
    ("relax.fallback_device_type", "int", ""),
    ("relax.lift_transform_params.consume_params", "bool", ""),
    ("s_tir.instr_siblings", "bool", ""),
    ("s_tir.lwp_disable_func_prof", "bool", ""),
    ("s_tir.lwp_max_depth", "int", ""),
    ("s_tir.lwp_min_height", "int", ""),
    ("s_tir.reset_start_id", "bool", ""),
    ("testing.immutable_module", "bool", ""),
    ("tirx.add_lower_pass", "list", ""),
    ("tirx.enable_buffer_level_predication", "bool", ""),
    ("tirx.enable_debug", "bool", ""),
    ("tirx.enable_fast_math", "bool", ""),
    ("tirx.instrument_bound_checkers", "bool", ""),
    ("tirx.instrument_lwp", "bool", ""),
    ("tirx.is_entry_func", "bool", ""),
    ("tirx.merge_static_smem", "bool", ""),
    ("tirx.noalias", "bool", ""),
    ("tirx.ptx.ldg32", "bool", ""),
    ("tirx.use_async_copy", "bool", ""),
    ("tirx.vtcm_capacity", "int", ""),
):
    register_config_option(_name, _kind, _effect)

for _name, _effect, _fields in (
    ("tirx.UnrollLoop", "options of the pass", _UNROLL),
    ("s_tir.LoopPartition", "options of the pass", _PARTITION),
    ("tirx.StmtSimplify", "", _SIMPLIFY),
    ("tirx.RemoveNoOp", "", {"max_simplification_steps": 0, "ignore_profiler_call": False}),
    ("s_tir.HoistExpression", "", {"hoisted_conditionals": 7, "hoisted_let_bindings": 7}),
    ("s_tir.HoistIfThenElse", "", {"support_block_scope_hoisting": False}),
    ("s_tir.InjectDoubleBuffer", "", {"split_loop": 1}),
):
    register_config_option(_name, "options", _effect, _fields)
