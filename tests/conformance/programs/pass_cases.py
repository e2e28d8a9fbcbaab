"""Passes over small programs: the printed result."""

import re

import numpy as np
import tvm
from tvm import relax, te, tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

op = relax.op


def graph(build, *types, attrs=None):
    builder = relax.BlockBuilder()
    params = [relax.Var(f"p{i}", ty) for i, ty in enumerate(types)]
    with builder.function("main", params, attrs=attrs):
        with builder.dataflow():
            out = builder.emit_output(build(builder, *params))
        builder.emit_func_output(out)
    return builder.get()


def tensor(*shape, dtype="float32"):
    return relax.TensorType(shape, dtype)


def calls(func):
    """The callees and operators of a function in order, and the types of what is bound."""
    found = []
    for block in func.body.blocks:
        for binding in block.bindings:
            value = binding.value
            if isinstance(value, relax.Call):
                name = getattr(value.op, "name", None) or getattr(value.op, "name_hint", "?")
                if name in ("relax.call_tir", "relax.call_packed"):
                    name = f"call_tir {value.args[0].name_hint}"
            else:
                name = type(value).__name__
            found.append(f"{name}: {binding.var.ty}")
    return found


def kernels(mod):
    return sorted(g.name_hint for g, f in mod.functions.items() if isinstance(f, tirx.PrimFunc))


X = tensor(2, 3)


def mlp():
    def build(bb, x, w, b):
        y = bb.emit(op.matmul(x, w))
        z = bb.emit(op.add(y, b))
        return op.nn.relu(z)

    return graph(build, tensor(2, 3), tensor(3, 4), tensor(4))


def case_normalize():
    mod = graph(lambda bb, x: op.exp(op.negative(op.add(x, x))), X)
    return str(mod)


def case_legalize():
    mod = relax.transform.LegalizeOps()(mlp())
    return [calls(mod["main"]), kernels(mod)]


def case_legalize_matmul_kernel():
    mod = relax.transform.LegalizeOps()(mlp())
    return str(mod["matmul"])


def case_legalize_relu_kernel():
    return str(relax.transform.LegalizeOps()(mlp())["relu"])


def case_legalize_add_kernel():
    return str(relax.transform.LegalizeOps()(mlp())["add"])


def case_legalize_softmax_names():
    mod = relax.transform.LegalizeOps()(graph(lambda bb, x: op.nn.softmax(x), X))
    return [calls(mod["main"]), [b.name_hint for b in blocks(mod["softmax"])]]


def blocks(func):
    found = []
    tirx.stmt_functor.post_order_visit(
        func.body, lambda n: found.append(n) if isinstance(n, tirx.SBlock) else None
    )
    return found


def case_op_pattern():
    mod = relax.transform.LegalizeOps()(mlp())
    mod = relax.transform.AnnotateTIROpPattern()(mod)
    return {k: int(mod[k].attrs["op_pattern"]) for k in kernels(mod)}


def pattern_of(build, *types):
    mod = relax.transform.LegalizeOps()(graph(lambda bb, *a: build(*a), *types))
    mod = relax.transform.AnnotateTIROpPattern()(mod)
    return {k: int(mod[k].attrs["op_pattern"]) for k in kernels(mod)}


def case_op_patterns():
    img, ker = tensor(1, 3, 6, 6), tensor(4, 3, 3, 3)
    return [
        pattern_of(op.exp, X),
        pattern_of(op.add, X, tensor(3)),
        pattern_of(lambda x: op.sum(x, 1), X),
        pattern_of(lambda x: op.reshape(x, (3, 2)), X),
        pattern_of(lambda x: op.permute_dims(x), X),
        pattern_of(lambda x: op.nn.softmax(x), X),
        pattern_of(lambda x, w: op.nn.conv2d(x, w), img, ker),
        pattern_of(lambda x: op.nn.max_pool2d(x, 2, 2), img),
        pattern_of(lambda x: op.broadcast_to(x, (2, 3)), tensor(1, 3)),
        pattern_of(lambda x: op.take(x, relax.const([0, 1]), axis=0), X),
        pattern_of(lambda x: op.concat([x, x], 0), X),
        pattern_of(lambda x: op.split(x, 3, 1), X),
        pattern_of(lambda x: op.cumsum(x, 1), X),
        pattern_of(lambda x: op.argmax(x, 1), X),
        pattern_of(lambda x: op.strided_slice(x, [1], [0], [2]), X),
        pattern_of(lambda x: op.zeros_like(x), X),
        pattern_of(lambda x, g, b: op.nn.layer_norm(x, g, b, -1), X, tensor(3), tensor(3)),
    ]


def fused(mod):
    mod = relax.transform.LegalizeOps()(mod)
    mod = relax.transform.AnnotateTIROpPattern()(mod)
    mod = relax.transform.FuseOps()(mod)
    mod = relax.transform.FuseTIR()(mod)
    return [calls(mod["main"]), kernels(mod)]


def case_fuse_mlp():
    return fused(mlp())


def case_fuse_elementwise_chain():
    return fused(graph(lambda bb, x: op.tanh(bb.emit(op.exp(bb.emit(op.add(x, x))))), X))


def case_fuse_diamond():
    def build(bb, x):
        a = bb.emit(op.exp(x))
        return op.add(bb.emit(op.tanh(a)), bb.emit(op.negative(a)))

    return fused(graph(build, X))


def case_fuse_reduction_end():
    return fused(graph(lambda bb, x: op.sum(bb.emit(op.exp(x)), 1), X))


def case_fuse_after_reduction():
    return fused(graph(lambda bb, x: op.exp(bb.emit(op.sum(x, 1))), X))


def case_fuse_conv_relu_pool():
    def build(bb, x, w, b):
        y = bb.emit(op.nn.conv2d(x, w, padding=1))
        y = bb.emit(op.add(y, b))
        y = bb.emit(op.nn.relu(y))
        return op.nn.max_pool2d(y, 2, 2)

    return fused(graph(build, tensor(1, 3, 4, 4), tensor(4, 3, 3, 3), tensor(1, 4, 1, 1)))


def case_fuse_two_matmuls():
    return fused(
        graph(lambda bb, x, w: op.matmul(bb.emit(op.matmul(x, w)), w), tensor(3, 3), tensor(3, 3))
    )


def case_fuse_output_used_twice():
    def build(bb, x):
        a = bb.emit(op.exp(x))
        return relax.Tuple([a, bb.emit(op.tanh(a))])

    return fused(graph(build, X))


def case_fold_constant():
    def build(bb, x):
        c = bb.emit(op.add(relax.const(np.ones((2, 3), "float32")), relax.const(1.0)))
        return op.multiply(x, c)

    mod = relax.transform.LegalizeOps()(graph(build, X))
    mod = relax.transform.FoldConstant()(mod)
    return calls(mod["main"])


def case_dead_code():
    def build(bb, x):
        bb.emit(op.exp(x))
        y = bb.emit(op.tanh(x))
        bb.emit(op.negative(y))
        return y

    return str(relax.transform.DeadCodeElimination()(graph(build, X)))


def case_common_subexpressions():
    def build(bb, x):
        return op.add(bb.emit(op.exp(x)), bb.emit(op.exp(x)))

    return str(relax.transform.EliminateCommonSubexpr()(graph(build, X)))


def case_canonicalize():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")):
            with R.dataflow():
                y = x
                z = y
                w = R.exp(z)
                v = w
                R.output(v)
            u = v
            return u

    return str(relax.transform.CanonicalizeBindings()(Module))


def case_bind_params():
    mod = relax.transform.BindParams("main", {"p1": np.ones((3, 4), "float32")})(mlp())
    return [len(mod["main"].params), calls(mod["main"])]


def case_bind_symbolic_vars():
    n = tirx.Var("n", "int64")
    mod = graph(lambda bb, x: op.exp(x), relax.TensorType((n, 3), "float32"))
    return str(relax.transform.BindSymbolicVars({"n": 4})(mod))


def case_dataflow_conversion():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")):
            y = R.exp(x)
            z = R.tanh(y)
            return z

    flow = relax.transform.ConvertToDataflow()(Module)
    return [str(flow), str(relax.transform.ToNonDataflow()(flow))]


def case_call_tir_rewrite():
    mod = relax.transform.LegalizeOps()(mlp())
    mod = relax.transform.CallTIRRewrite()(relax.transform.ToNonDataflow()(mod))
    return str(mod["main"])


def case_attach_global_symbol():
    @I.ir_module
    class Module:
        @T.prim_func(private=True, s_tir=True)
        def f(A: T.Buffer((4,), "float32")):
            for i in range(4):
                A[i] = T.float32(0)

    mod = relax.transform.AttachGlobalSymbol()(Module)
    return [mod["f"].attrs["global_symbol"]]


def case_legalize_custom():
    def legalize(bb, call):
        return op.subtract(call.args[0], call.args[1])

    mod = graph(lambda bb, x: op.add(x, x), X)
    mod = relax.transform.LegalizeOps({"relax.add": legalize})(mod)
    return calls(mod["main"])


def case_legalize_skip():
    mod = graph(lambda bb, x: op.exp(bb.emit(op.add(x, x))), X)
    return calls(relax.transform.LegalizeOps(skip_ops=["relax.add"])(mod)["main"])


def case_te_compute_prim_func():
    n = te.var("n", "int64")
    A = te.placeholder((n, 16), "float32", name="A")
    B = te.compute((n, 16), lambda i, j: A[i, j] * 2.0, name="B")
    k = te.reduce_axis((0, 16), name="k")
    C = te.compute((n,), lambda i: te.sum(B[i, k], axis=k), name="C")
    return str(te.create_prim_func([A, C]))


def case_te_max_argmax():
    A = te.placeholder((8, 16), "float32", name="A")
    k = te.reduce_axis((0, 16), name="k")
    B = te.compute((8,), lambda i: te.max(A[i, k], axis=k), name="B")
    return str(te.create_prim_func([A, B]))


def case_call_te():
    builder = relax.BlockBuilder()
    x = relax.Var("x", X)

    def double(a):
        return te.compute(a.shape, lambda i, j: a[i, j] * 2.0, name="double")

    with builder.function("main", [x]):
        y = builder.emit_te(double, x)
        z = builder.emit_te(double, y, primfunc_name_hint="twice")
        builder.emit_func_output(z)
    return str(builder.get())


def case_specialize():
    @T.prim_func(s_tir=True)
    def f(a: T.handle, n: T.int32):
        A = T.match_buffer(a, (n,), "float32")
        for i in range(n):
            with T.sblock("A"):
                vi = T.axis.spatial(n, i)
                A[vi] = T.float32(1)

    return str(f.specialize({f.params[1]: 8}))


def machine(mod, **options):
    exe = tvm.compile(mod, tvm.target.Target("llvm"), **options)
    return relax.VirtualMachine(exe, tvm.cpu()), exe


def case_vm_calls():
    vm, exe = machine(mlp())
    args = [np.full(s, 0.5, "float32") for s in ((2, 3), (3, 4), (4,))]
    tensors = [tvm.runtime.tensor(a) for a in args]
    first = vm["main"](*tensors).numpy()
    vm.set_input("main", *tensors)
    vm.invoke_stateful("main")
    second = vm.get_outputs("main").numpy()
    return [first.tolist(), second.tolist(), tuple(first.shape)]


def case_vm_errors():
    vm, _ = machine(mlp())
    x = tvm.runtime.tensor(np.zeros((2, 3), "float32"))
    results = []
    for args in ([x], [x, x, x], [x] * 4):
        try:
            vm["main"](*args)
            results.append("ran")
        except Exception:
            results.append("failed")
    try:
        vm["absent"]
        results.append("found")
    except Exception:
        results.append("failed")
    return results


def case_vm_tuple_and_time():
    vm, _ = machine(graph(lambda bb, x: relax.Tuple([bb.emit(op.exp(x)), x]), X))
    out = vm["main"](tvm.runtime.tensor(np.zeros((2, 3), "float32")))
    timer = vm.time_evaluator("main", tvm.cpu(), number=1)
    took = timer(tvm.runtime.tensor(np.zeros((2, 3), "float32")))
    return [len(out), out[0].numpy().tolist(), bool(took.mean > 0)]


def case_vm_save_function():
    vm, _ = machine(graph(lambda bb, x: op.add(x, x), X))
    vm.save_function("main", "saved", tvm.runtime.tensor(np.ones((2, 3), "float32")))
    return vm["saved"]().numpy().tolist()


def case_vm_instrument():
    vm, _ = machine(graph(lambda bb, x: op.add(x, x), X))
    seen = []

    def look(func, name, before, ret, *args):
        if "add" in str(name):
            seen.append(bool(before))

    vm.set_instrument(look)
    vm["main"](tvm.runtime.tensor(np.ones((2, 3), "float32")))
    return seen


def case_export_and_load():
    import os
    import tempfile

    vm, exe = machine(graph(lambda bb, x: op.add(x, x), X))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "lib.so")
        exe.export_library(path)
        loaded = tvm.runtime.load_module(path)
        again = relax.VirtualMachine(loaded, tvm.cpu())
        return again["main"](tvm.runtime.tensor(np.ones((2, 3), "float32"))).numpy().tolist()


def case_compile_prim_func():
    A = te.placeholder((8,), "float32", name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    func = te.create_prim_func([A, B])
    lib = tvm.compile(func, tvm.target.Target("llvm"))
    a = tvm.runtime.tensor(np.arange(8, dtype="float32"))
    b = tvm.runtime.empty((8,), "float32")
    lib(a, b)
    first = b.numpy().tolist()
    lib["main"](b, a)
    return [first, a.numpy().tolist()]


def case_compile_module_of_kernels():
    @I.ir_module
    class Module:
        @T.prim_func(s_tir=True)
        def first(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
            for i in range(4):
                B[i] = A[i] * 3

        @T.prim_func(s_tir=True)
        def second(A: T.Buffer((4,), "int32"), n: T.int32):
            for i in range(4):
                A[i] = n

    lib = tvm.compile(Module, tvm.target.Target("llvm"))
    a = tvm.runtime.tensor(np.arange(4, dtype="int32"))
    b = tvm.runtime.empty((4,), "int32")
    lib["first"](a, b)
    lib["second"](a, 7)
    return [b.numpy().tolist(), a.numpy().tolist()]


def case_kernel_argument_errors():
    A = te.placeholder((8,), "float32", name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    lib = tvm.compile(te.create_prim_func([A, B]), tvm.target.Target("llvm"))
    good = tvm.runtime.empty((8,), "float32")
    wrong = [tvm.runtime.empty((9,), "float32"), tvm.runtime.empty((8,), "int32"),
             tvm.runtime.empty((8, 1), "float32")]  # fmt: skip
    results = []
    for bad in wrong:
        try:
            lib["main"](good, bad)
            results.append("ran")
        except Exception as error:
            results.append(type(error).__name__ in ("ValueError", "TypeError", "RuntimeError",
                                                    "ArgumentError", "InternalError"))  # fmt: skip
    return results


def case_symbolic_batch():
    n = tirx.Var("n", "int64")
    mod = graph(lambda bb, x: op.nn.softmax(x), relax.TensorType((n, 3), "float32"))
    vm, _ = machine(mod)
    return [tuple(vm["main"](tvm.runtime.tensor(np.ones((k, 3), "float32"))).shape) for k in (1, 5)]


def case_zero_pipeline():
    mod = relax.get_pipeline("zero")(mlp())
    return [calls(mod["main"]), kernels(mod)]


def case_relax_build():
    exe = relax.build(mlp(), tvm.target.Target("llvm"))
    vm = relax.VirtualMachine(exe, tvm.cpu())
    args = [np.full(s, 0.5, "float32") for s in ((2, 3), (3, 4), (4,))]
    return vm["main"](*[tvm.runtime.tensor(a) for a in args]).numpy().tolist()


def case_module_script_parses():
    text = mlp().script()
    return [bool(re.search(r"R\.matmul\(p0, p1", text)), "class Module" in text]
