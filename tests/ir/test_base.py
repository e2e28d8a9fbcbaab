"""TVM's names in `workbench.ir`: nodes by type key, containers, type relations."""

import pytest

import workbench as wb
from workbench import ir, relax, tirx
from workbench.tirx import const


def test_make_node():
    node = ir.make_node("ir.IntImm", dtype="int32", value=3)
    assert isinstance(node, ir.IntImm) and node.value == 3
    add = ir.make_node("tirx.Add", a=node, b=node)
    assert ir.structural_equal(add, tirx.Add(node, node))
    with pytest.raises(TypeError, match=r"ir\.IntImm has no field 'size'"):
        ir.make_node("ir.IntImm", size=3)
    with pytest.raises(KeyError, match=r"tirx\.Ad\b"):
        ir.make_node("tirx.Ad")


def test_containers():
    assert isinstance(
        tirx.Call(ir.Op.get("tirx.exp"), [const(1.0)], ret_ty="float32").args, ir.Array
    )
    assert ir.Array([1, 2]) == (1, 2)
    mapping = ir.Map({"a": 1})
    assert mapping["a"] == 1 and isinstance(mapping, ir.Map)


def test_env_func():
    @wb.register_global_func("tests.ir.twice", override=True)
    def twice(x):
        return 2 * x

    func = ir.EnvFunc.get("tests.ir.twice")
    assert func(4) == 8 and func.name == "tests.ir.twice"
    assert ir.structural_equal(func, ir.load_json(ir.save_json(func)))
    with pytest.raises(ValueError, match=r"tests\.ir\.absent"):
        ir.EnvFunc.get("tests.ir.absent")


def test_is_base_of():
    known = relax.TensorType((2, 3), "float32")
    assert relax.TensorType(dtype="float32", ndim=2).is_base_of(known)
    assert not known.is_base_of(relax.TensorType(dtype="float32", ndim=2))
    assert relax.AnyType().is_base_of(known)
    assert ir.PrimType("int32").is_base_of(ir.PrimType("int32"))
    assert not ir.PrimType("int32").is_base_of(ir.PrimType("int64"))


def test_variables_may_have_no_type_yet():
    var = relax.Var("x")
    assert var.ty is None
    assert ir.structural_equal(var, ir.load_json(ir.save_json(var)), map_free_vars=True)


def test_what_only_buffers_have_is_no_attribute_of_others():
    var = relax.Var("x", relax.TensorType((2,), "float32"))
    assert getattr(var, "data", None) is None
    with pytest.raises(TypeError, match="x is no buffer"):
        var.vload(0)
