import pickle

import pytest

from workbench.core.errors import RegistryError
from workbench.target import Target, TargetError, list_tags, register_tag


def test_forms_of_the_same_target() -> None:
    a = Target({"kind": "llvm", "mcpu": "znver4", "num-cores": 4})
    b = Target("llvm -mcpu=znver4 --num-cores 4")
    c = Target('{"kind": "llvm", "mcpu": "znver4", "num-cores": 4}')
    assert a == b == c == Target(a)
    assert len({a, b, c}) == 1
    assert a != Target("llvm")
    assert Target(a.export()) == a
    assert pickle.loads(pickle.dumps(a)) == a


def test_properties() -> None:
    target = Target("llvm -mattr=+avx2,+fma", host="llvm")
    assert target.kind.name == "llvm"
    assert str(target.kind) == "llvm"
    assert target.kind == "llvm"
    assert target.keys == ("cpu",)
    assert target.attrs["mattr"] == ("+avx2", "+fma")
    assert target.attrs["opt-level"] == 3
    assert target.host == Target("llvm")
    assert target.get_target_device_type() == 1
    assert [name for name, _ in target.kind.stages][-1] == "asm"
    assert Target.from_device("cpu:0") == Target("llvm")


def test_scope() -> None:
    assert Target.current() is None
    with Target("llvm") as outer, Target("llvm -mcpu=znver4") as inner:
        assert Target.current() is inner
        assert Target.target_or_current(None) is inner
        assert outer != inner
    with pytest.raises(TargetError, match="no target is set"):
        Target.current(allow_none=False)


@pytest.mark.parametrize(
    ("description", "words"),
    [
        ("lvm", ["unknown target 'lvm'", "'llvm'", "known kinds"]),
        ("zzz", ["unknown target 'zzz'", "known kinds: llvm"]),
        ("", ["empty", "known kinds"]),
        ({"mcpu": "x"}, ["needs a 'kind'"]),
        ({"kind": "llvm", "mcpuu": "x"}, ["no option 'mcpuu'", "did you mean 'mcpu'"]),
        ({"kind": "llvm", "zz": "x"}, ["no option 'zz'", "options: mcpu, mattr"]),
        ({"kind": "llvm", "mattr": "+avx"}, ["option mattr: expected a list"]),
        ({"kind": "llvm", "num-cores": "4"}, ["option num-cores: expected int"]),
        ("llvm -num-cores=four", ["expected a whole number, got 'four'"]),
        ("llvm -opt-level=7", ["expected 0, 1, 2 or 3, got 7"]),
        ("llvm znver4", ["expected an option such as -mcpu", "'znver4'"]),
        ("{kind", ["not valid JSON"]),
        (3, ["expected a target, got int 3"]),
    ],
)
def test_errors(description: object, words: list[str]) -> None:
    with pytest.raises(TargetError) as caught:
        Target(description)  # type: ignore[arg-type]
    for word in words:
        assert word in str(caught.value)


def test_tags() -> None:
    assert Target("llvm/x86-64-v3").attrs["mcpu"] == "x86-64-v3"
    assert Target("llvm/x86-64-v3").tag == "llvm/x86-64-v3"
    assert "llvm/x86-64-v4" in list_tags()
    with pytest.raises(RegistryError):
        register_tag("llvm/x86-64-v3", {"kind": "llvm"})
