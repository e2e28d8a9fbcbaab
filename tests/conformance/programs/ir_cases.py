"""Small programs over `ir`, `runtime`, `target` and passes; both systems must give the same."""

import numpy as np
import tvm
from tvm import ir, relax, te, tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


def same(a, b, map_free_vars=False):
    """Structural equality, by the function that both systems have."""
    return not raised(ir.assert_structural_equal, a, b, map_free_vars)


def raised(function, *args, **kwargs):
    """Whether a call fails (which error it is belongs to the system)."""
    try:
        function(*args, **kwargs)
    except Exception:
        return True
    return False


@T.prim_func(private=True, s_tir=True)
def add_one(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.sblock("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] + T.float32(1)


@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def add_one(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i in range(16):
            with T.sblock("B"):
                vi = T.axis.spatial(16, i)
                B[vi] = A[vi] + T.float32(1)

    @R.function
    def main(x: R.Tensor((16,), "float32")) -> R.Tensor((16,), "float32"):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.add_one, (x,), out_ty=R.Tensor((16,), "float32"))
            R.output(y)
        return y


def case_range():
    r = ir.Range(2, 10)
    s = ir.Range.from_min_extent(3, 4)
    n = tirx.Var("n", "int64")
    t = ir.Range(n)
    return [str(r.min), str(r.extent), str(s), str(t.extent)]


def case_prim_type():
    t = ir.PrimType("float32x4")
    return [t.dtype, same(t, ir.PrimType("float32x4")), t == ir.PrimType("float32")]


def case_var_identity():
    x, y = tirx.Var("x", "int32"), tirx.Var("x", "int32")
    return [
        x.same_as(y),
        same(x, y),
        same(x, y, map_free_vars=True),
        same(x + 1, y + 1),
        same(x + 1, y + 1, map_free_vars=True),
    ]


def case_prim_func_equal():
    other = add_one.with_attr("k", 1)
    return [
        same(add_one, add_one),
        same(add_one, other),
        same(add_one, other.without_attr("k")),
    ]


def case_assert_structural_equal():
    x, y = tirx.Var("x", "int32"), tirx.Var("y", "int32")
    return [
        raised(ir.assert_structural_equal, x + y, x - y),
        raised(ir.assert_structural_equal, x + y, x + y),
    ]


def case_json_error():
    return [raised(ir.load_json, "not json"), raised(ir.load_json, "{}")]


def case_module_api():
    mod = Module
    gvs = sorted(g.name_hint for g in mod.get_global_vars())
    new = ir.IRModule({"f": add_one})
    new["g"] = add_one
    return [
        gvs,
        mod["main"].is_pure,
        "main" in [g.name_hint for g in mod.functions],
        mod.get_global_var("main").name_hint,
        raised(mod.get_global_var, "absent"),
        sorted(g.name_hint for g in new.functions),
        len(new.functions),
        "f" in new,
        "h" in new,
    ]


def case_func_attrs():
    f = add_one.with_attr("global_symbol", "f").with_attr({"x": 1, "y": "z"})
    return [
        f.attrs["global_symbol"],
        f.attrs["x"],
        f.attrs["y"],
        "w" in f.attrs,
        f.attrs.get("w", 3),
        sorted(f.attrs.keys()),
        "x" in f.without_attr("x").attrs,
        add_one.attrs is None or "x" in add_one.attrs,
    ]


def case_from_expr():
    f = add_one.with_attr("global_symbol", "kernel")
    return [
        [g.name_hint for g in ir.IRModule.from_expr(f).functions],
        [g.name_hint for g in ir.IRModule.from_expr(add_one).functions],
    ]


def case_global_var():
    a, b = ir.GlobalVar("a"), ir.GlobalVar("a")
    return [a.name_hint, same(a, b), str(a)]


def case_op():
    op = ir.Op.get("relax.add")
    return [
        op.name,
        op.same_as(ir.Op.get("relax.add")),
        raised(ir.Op.get, "relax.does_not_exist"),
        "relax.add" in ir.Op.list_op_names(),
        "tirx.exp" in ir.Op.list_op_names(),
    ]


def case_containers():
    from tvm.ir import Array, Map

    a = Array([1, 2, 3])
    m = Map({"a": 1, "b": 2})
    return [list(a), len(a), a[0], a[-1], sorted(m.keys()), m["a"], len(m), m.get("c") is None]


def case_type_api():
    t = relax.TensorType((2, 3), "float32")
    return [
        relax.TensorType(dtype="float32", ndim=-1).is_base_of(t),
        t.is_base_of(relax.TensorType(dtype="float32", ndim=2)),
        t.is_base_of(t),
        str(t),
        t.ndim,
        str(t.dtype),
        [int(d) for d in t.shape],
        str(relax.TensorType(dtype="float32", ndim=2)),
        str(relax.ShapeType((1, 2))),
        str(relax.ShapeType(ndim=2)),
        str(relax.AnyType()),
        str(ir.TupleType([t, t])),
    ]


def case_pass_context():
    with tvm.transform.PassContext(opt_level=1, disabled_pass=["x"], config={}) as ctx:
        inside = tvm.transform.PassContext.current()
        same = inside.opt_level
        disabled = list(inside.disabled_pass)
    return [same, disabled, tvm.transform.PassContext.current().opt_level, ctx.opt_level]


def case_pass_context_bad_config():
    return [raised(tvm.transform.PassContext, config={"no.such.option": 1})]


def case_sequential():
    order = []

    @tvm.transform.module_pass(opt_level=0, name="first")
    def first(mod, ctx):
        order.append("first")
        return mod

    @tvm.transform.module_pass(opt_level=4, name="second")
    def second(mod, ctx):
        order.append("second")
        return mod

    seq = tvm.transform.Sequential([first, second], opt_level=0, name="both")
    seq(Module)
    with tvm.transform.PassContext(opt_level=4):
        seq(Module)
    with tvm.transform.PassContext(opt_level=4, disabled_pass=["first"]):
        seq(Module)
    return [
        order,
        seq.info.name,
        seq.info.opt_level,
        first.info.name,
        [p.info.name for p in seq.passes],
    ]


def case_pass_classes():
    @tvm.transform.module_pass(opt_level=1)
    class Rename:
        def __init__(self, suffix):
            self.suffix = suffix

        def transform_module(self, mod, ctx):
            return ir.IRModule({g.name_hint + self.suffix: f for g, f in mod.functions.items()})

    mod = ir.IRModule({"a": add_one})
    return sorted(g.name_hint for g in Rename("_x")(mod).functions)


def case_prim_func_pass():
    @tirx.transform.prim_func_pass(opt_level=0)
    def mark(func, mod, ctx):
        return func.with_attr("seen", 1)

    mod = mark(Module)
    return [mod["add_one"].attrs["seen"], "seen" in (mod["main"].attrs or {}), mark.info.name]


def case_relax_function_pass():
    @relax.transform.function_pass(opt_level=0)
    def mark(func, mod, ctx):
        return func.with_attr("seen", 1)

    mod = mark(Module)
    return [mod["main"].attrs["seen"], "seen" in (mod["add_one"].attrs or {})]


def case_dataflowblock_pass():
    seen = []

    @relax.transform.dataflowblock_pass(opt_level=1)
    def look(block, mod, ctx):
        seen.append(len(block.bindings))
        return block

    look(Module)
    return seen


def case_instruments():
    events = []

    @tvm.instrument.pass_instrument
    class Watch:
        def enter_pass_ctx(self):
            events.append("enter")

        def exit_pass_ctx(self):
            events.append("exit")

        def should_run(self, mod, info):
            events.append("should " + info.name)
            return info.name != "skipped"

        def run_before_pass(self, mod, info):
            events.append("before " + info.name)

        def run_after_pass(self, mod, info):
            events.append("after " + info.name)

    @tvm.transform.module_pass(opt_level=0, name="kept")
    def kept(mod, ctx):
        return mod

    @tvm.transform.module_pass(opt_level=0, name="skipped")
    def skipped(mod, ctx):
        events.append("never")
        return mod

    with tvm.transform.PassContext(instruments=[Watch()]):
        tvm.transform.Sequential([kept, skipped])(Module)
    return events


def case_timing_instrument():
    timing = tvm.instrument.PassTimingInstrument()
    with tvm.transform.PassContext(instruments=[timing]):
        relax.transform.Normalize()(Module)
        text = timing.render()
    return ["Normalize" in text]


def case_dtype():
    d = tvm.DataType("float32x4")
    return [
        str(d),
        d.bits,
        d.lanes,
        d == "float32x4",
        int(d.type_code),
        tvm.DataType("bool").bits,
        d.with_lanes(1) == "float32",
        d.itemsize,
    ]


def case_device():
    d = tvm.cpu(1)
    return [
        str(d),
        d.index,
        d == tvm.cpu(1),
        d == tvm.cpu(0),
        str(tvm.device("cpu", 0)),
        tvm.cpu().exist,
    ]


def case_tensor():
    a = tvm.runtime.tensor(np.arange(6, dtype="float32").reshape(2, 3))
    b = tvm.runtime.empty((2, 3), "float32")
    a.copyto(b)
    return [
        a.shape,
        str(a.dtype),
        b.numpy().tolist(),
        str(a.device),
        a.numpy().flags.owndata or True,
        tuple(tvm.runtime.tensor([1, 2]).shape),
    ]


def case_tensor_copyfrom():
    a = tvm.runtime.empty((3,), "int32")
    a.copyfrom(np.array([1, 2, 3], "int32"))
    return [a.numpy().tolist(), raised(a.copyfrom, np.zeros((4,), "int32"))]


def case_runtime_const():
    return [
        str(tirx.const(1, "int32")),
        str(tirx.const(1.5, "float32")),
        str(tirx.const(True)),
        str(tirx.const(1)),
        str(tirx.const(1.5)),
    ]


def case_target():
    t = tvm.target.Target({"kind": "llvm", "mcpu": "core-avx2", "num-cores": 4})
    u = tvm.target.Target("llvm")
    return [
        t.kind.name,
        t.attrs["mcpu"],
        int(t.attrs["num-cores"]),
        u.kind.name,
        sorted(t.keys),
        str(u.kind),
        raised(tvm.target.Target, "nonsense"),
        t.get_target_device_type(),
    ]


def case_target_scope():
    with tvm.target.Target("llvm"):
        inside = tvm.target.Target.current().kind.name
    return [
        inside,
        tvm.target.Target.current(allow_none=True) is None,
        raised(tvm.target.Target.current, False),
    ]


def case_target_host():
    t = tvm.target.Target("llvm", host="llvm")
    return [t.host.kind.name, tvm.target.Target("llvm").host is None]


def case_packed_func():
    @tvm.register_global_func("conformance.add", override=True)
    def add(a, b):
        return a + b

    f = tvm.get_global_func("conformance.add")
    return [
        f(1, 2),
        tvm.get_global_func("conformance.absent", allow_missing=True) is None,
        raised(tvm.get_global_func, "conformance.absent"),
    ]


def case_attrs_of_calls():
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    c = relax.op.sum(x, axis=[1], keepdims=True)
    return [[int(a) for a in c.attrs.axis], bool(c.attrs.keepdims), c.op.name, str(c)]


def case_env_func():
    @tvm.register_global_func("conformance.env", override=True)
    def twice(x):
        return 2 * x

    f = ir.EnvFunc.get("conformance.env")
    return [f(4), f.name]


def case_vdevice():
    v = ir.VDevice("llvm", 0, "global")
    return [v.vdevice_id, v.memory_scope, v.target.kind.name]


def case_te_math():
    x = te.var("x", "float32")
    return [
        str(te.exp(x)),
        str(te.max_value("int32")),
        str(te.min_value("int8")),
        str(te.floor(x)),
        str(te.if_then_else(x > 0, x, te.const(0, "float32"))),
        str(te.sqrt(x)),
        str(te.tanh(x)),
    ]


def case_span():
    s = ir.Span(ir.SourceName("file.py"), 1, 2, 3, 4)
    return [s.line, s.end_line, s.column, s.end_column, s.source_name.name]
