"""Options of pass contexts: their names, the kinds of their values, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.ir.pass_config import ConfigError
from workbench.ir.transform import PassContext, PassError


def test_the_names_are_listed_with_kind_and_effect() -> None:
    names = PassContext.list_configs()
    assert len(names) >= 34
    assert names["tirx.disable_vectorize"]["type"] == "bool"
    assert "FuseOps" in names["relax.FuseOps.max_depth"]["effect"]
    assert names["tirx.ptx.ldg32"]["effect"] == "none here"


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"tirx.disable_vectorise": True}, "did you mean 'tirx.disable_vectorize'"),
        ({"no.such.option": 1}, "list_configs"),
        ({3: 1}, "a name in config is a string, got 3"),
        ({"tirx.disable_vectorize": "yes"}, "True or False, got str 'yes'"),
        ({"relax.FuseOps.max_depth": 3.5}, "an integer, got float 3.5"),
        ({"tirx.add_lower_pass": 3}, "a list, got int 3"),
        ({"tirx.UnrollLoop": 3}, "a mapping of options, got int 3"),
        ({"tirx.UnrollLoop": {"auto_max_steps": 3}}, "did you mean 'auto_max_step'"),
        ({"tirx.UnrollLoop": {"auto_max_step": "3"}}, "an integer or a truth value, got str"),
    ],
)
def test_unknown_names_and_other_kinds_are_refused(config: Any, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        PassContext(config=config)
    assert message in str(caught.value)
    assert isinstance(caught.value, (PassError, AttributeError))


def test_values_are_converted() -> None:
    with PassContext(config={"tirx.enable_debug": 1, "tirx.add_lower_pass": []}) as ctx:
        assert ctx.config["tirx.enable_debug"] is True
        assert ctx.config["tirx.add_lower_pass"] == ()


def test_options_of_a_pass_have_defaults() -> None:
    ctx = PassContext(config={"tirx.UnrollLoop": {"auto_max_step": 4}})
    options = ctx.config["tirx.UnrollLoop"]
    assert (options.auto_max_step, options.auto_max_depth) == (4, 8)
    assert options.explicit_unroll is True


def test_names_without_effect_are_accepted_in_silence(recwarn: Any) -> None:
    with PassContext(config={"relax.backend.use_cuda_graph": True}):
        pass
    assert not recwarn.list
