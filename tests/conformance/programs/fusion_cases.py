"""Which operators become one kernel, what kernels are called, and their fusion kinds."""

import tvm
from tvm import relax, te, tirx

op = relax.op
nn = op.nn


def tensor(*shape, dtype="float32"):
    return relax.TensorType(shape, dtype)


M, V, IMAGE = tensor(8, 8), tensor(8), tensor(1, 4, 8, 8)
KERNEL, CHANNELS = tensor(4, 4, 3, 3), tensor(1, 4, 1, 1)


def graph(build, *types):
    builder = relax.BlockBuilder()
    params = [relax.Var(f"p{i}", ty) for i, ty in enumerate(types)]
    with builder.function("main", params):
        with builder.dataflow():
            out = builder.emit_output(build(builder.emit, *params))
        builder.emit_func_output(out)
    return builder.get()


def groups(build, *types):
    """The kernels that are called after fusion, in order."""
    mod = graph(build, *types)
    for item in ("LegalizeOps", "AnnotateTIROpPattern", "FuseOps", "FuseTIR"):
        mod = getattr(relax.transform, item)()(mod)
    values = [b.value for block in mod["main"].body.blocks for b in block.bindings]
    return [v.args[0].name_hint for v in values if isinstance(v, relax.Call)]


def kinds(build, *types):
    """The kernels of one operator, and their kinds."""
    mod = relax.transform.LegalizeOps()(graph(lambda emit, *p: build(*p), *types))
    mod = relax.transform.AnnotateTIROpPattern()(mod)
    return {
        g.name_hint: int(f.attrs["op_pattern"])
        for g, f in mod.functions.items()
        if isinstance(f, tirx.PrimFunc)
    }


def case_unary_kernels():
    names = "abs acos asin atan ceil cos cosh erf exp floor isnan log negative round rsqrt sigmoid"
    names += " sign sin sinh sqrt square tan tanh trunc"
    found = [kinds(getattr(op, n), M) for n in names.split()]
    return [*found, kinds(lambda x: op.clip(x, 0, 1), M), kinds(lambda x: nn.leakyrelu(x), M)]


def case_binary_kinds():
    shapes = [(M, M), (M, V), (tensor(8, 1), tensor(1, 8)), (tensor(1, 8), M), (V, tensor())]
    return [[kinds(f, *s) for s in shapes] for f in (op.add, op.less, op.power)]


def case_reduction_kinds():
    reductions = (op.sum, op.max, op.mean, op.variance, op.argmax, op.prod)
    found = [kinds(lambda x, f=f: f(x, 1), M) for f in reductions]
    pools = (nn.max_pool2d, nn.avg_pool2d, nn.adaptive_avg_pool2d)
    return [*found, *[kinds(lambda x, f=f: f(x, 2), IMAGE) for f in pools]]


def case_product_kinds():
    return [
        kinds(op.matmul, M, M),
        kinds(op.matmul, M, V),
        kinds(op.matmul, tensor(2, 4, 8), tensor(2, 8, 4)),
        kinds(nn.conv2d, IMAGE, KERNEL),
        kinds(lambda x, w: nn.conv2d(x, w, groups=4), IMAGE, tensor(4, 1, 3, 3)),
        kinds(lambda x, g, b: nn.layer_norm(x, g, b, -1), M, V, V),
        kinds(lambda x, g: nn.rms_norm(x, g, -1), M, V),
        kinds(nn.log_softmax, M),
    ]


def case_moving_kinds():
    index = tensor(4, dtype="int64")
    return [
        kinds(lambda x, i: op.take(x, i, 0), M, index),
        kinds(lambda x, i: op.gather_elements(x, i, 1), M, tensor(8, 8, dtype="int64")),
        kinds(lambda x, i: op.gather_nd(x, i), M, tensor(4, 2, dtype="int64")),
        kinds(lambda x, y: op.concat([x, y], 0), M, M),
        kinds(lambda x: op.split(x, 2, 1), M),
        kinds(lambda x: nn.pad(x, [0, 0, 1, 1]), M),
        kinds(lambda x: nn.pad(x, [1, 1, 1, 1], "reflect"), M),
        kinds(op.permute_dims, M),
        kinds(lambda x: op.reshape(x, (64,)), M),
        kinds(lambda x: op.expand_dims(x, 1), M),
        kinds(lambda x: op.broadcast_to(x, (4, 8)), tensor(1, 8)),
        kinds(lambda x: op.image.resize2d(x, (16, 16)), IMAGE),
        kinds(lambda x: op.full((2, 3), relax.const(1.0, "float32")), M),
        kinds(lambda x: op.zeros_like(x), M),
        kinds(lambda x: op.astype(x, "int32"), M),
        kinds(op.where, tensor(8, 1, dtype="bool"), M, M),
    ]


def block_kind(expr, shape, axes, *inputs):
    """The kind of a reduction over `axes` by `expr(indices, reduced)`."""
    names = [te.reduce_axis((0, extent), name=f"k{n}") for n, extent in enumerate(axes)]
    out = te.compute(shape, lambda *i: te.sum(expr(i, names), axis=names))
    mod = tvm.IRModule({"main": te.create_prim_func([*inputs, out])})
    return int(relax.transform.AnnotateTIROpPattern()(mod)["main"].attrs["op_pattern"])


def case_block_kinds():
    a, b = te.placeholder((8, 8), name="a"), te.placeholder((8, 8), name="b")
    v, i32 = te.placeholder((8,), name="v"), te.placeholder((8,), "int32", name="i")
    return [
        block_kind(lambda i, k: a[i[0], k[0]], (8,), [8], a),
        block_kind(lambda i, k: a[k[0], k[0]], (), [8], a),
        block_kind(lambda i, k: a[i[0], 0], (8,), [8], a),
        block_kind(lambda i, k: v[i[0] + k[0]], (7,), [2], v),
        block_kind(lambda i, k: a[i[0], k[0]] * b[k[0], i[1]], (8, 8), [8], a, b),
        block_kind(lambda i, k: a[i[0], k[0]] * a[k[0], i[1]], (8, 8), [8], a),
        block_kind(lambda i, k: a[i[0], k[0]] * b[i[0], k[0]], (8,), [8], a, b),
        block_kind(lambda i, k: a[i[0], k[0]] + b[k[0], i[1]], (8, 8), [8], a, b),
        block_kind(lambda i, k: a[i[0], k[0]] * v[k[0]], (8, 8), [8], a, v),
        block_kind(lambda i, k: a[i[0], i32[k[0]]], (8,), [8], a, i32),
        block_kind(lambda i, k: a[i32[i[0]], k[0]], (8,), [8], a, i32),
    ]


def case_group_convolution():
    def build(emit, x, w, b):
        y = emit(nn.relu(emit(op.add(emit(nn.conv2d(x, w, padding=1)), b))))
        return nn.max_pool2d(y, 2, 2)

    return groups(build, IMAGE, KERNEL, CHANNELS)


def case_group_residual():
    def build(emit, x, w, w2):
        y = emit(nn.relu(emit(nn.conv2d(x, w, padding=1))))
        return nn.relu(emit(op.add(emit(nn.conv2d(y, w2, padding=1)), x)))

    return groups(build, IMAGE, KERNEL, KERNEL)


def case_group_two_branches():
    def build(emit, x, w, w2):
        y, z = emit(nn.conv2d(x, w, padding=1)), emit(nn.conv2d(x, w2, padding=1))
        return nn.relu(emit(op.add(y, z)))

    return groups(build, IMAGE, KERNEL, KERNEL)


def case_group_excitation():
    def build(emit, x, w):
        y = emit(nn.relu(x))
        s = emit(op.mean(y, [2, 3], keepdims=True))
        return op.multiply(y, emit(op.sigmoid(emit(nn.conv2d(s, w)))))

    return groups(build, IMAGE, tensor(4, 4, 1, 1))


def case_group_softmax():
    def build(emit, a, b):
        scaled = emit(op.multiply(emit(op.matmul(a, b)), relax.const(0.5, "float32")))
        return op.multiply(emit(nn.softmax(scaled)), relax.const(2.0, "float32"))

    return groups(build, M, M)


def case_group_normalisation():
    def build(emit, x, y, g, b):
        return nn.relu(emit(nn.layer_norm(emit(op.add(x, y)), g, b, -1)))

    return groups(build, M, M, V, V)


def case_group_reductions():
    def after(f):
        def build(emit, x):
            y = emit(op.exp(x))
            return op.divide(y, emit(f(y, 1, keepdims=True)))

        return groups(build, M)

    def last(f):
        return groups(lambda emit, x: op.sqrt(emit(f(emit(op.exp(x)), 1))), M)

    return [after(op.sum), after(op.mean), last(op.sum), last(op.mean), last(op.std)]


def case_group_moves():
    def build(emit, x, i):
        t = emit(op.permute_dims(emit(op.reshape(emit(op.exp(x)), (2, 4, 8))), [1, 0, 2]))
        y = emit(op.reshape(t, (8, 8)))
        return nn.relu(emit(op.take(y, i, 0)))

    return groups(build, M, tensor(4, dtype="int64"))


def case_group_diamond_of_moves():
    def build(emit, x):
        y = emit(op.exp(x))
        return op.add(emit(op.permute_dims(y)), emit(op.log(y)))

    return groups(build, M)


def case_group_split():
    def build(emit, x):
        s = emit(op.split(emit(nn.relu(x)), 2, 1))
        left, right = emit(relax.TupleGetItem(s, 0)), emit(relax.TupleGetItem(s, 1))
        return op.add(emit(nn.relu(left)), right)

    return groups(build, M)


def case_group_gate():
    def build(emit, x, w):
        s = emit(op.split(emit(op.matmul(x, w)), 2, 1))
        left, right = emit(relax.TupleGetItem(s, 0)), emit(relax.TupleGetItem(s, 1))
        return op.multiply(emit(nn.silu(left)), right)

    return groups(build, M, tensor(8, 16))


def case_group_one_output():
    def build(emit, x, w):
        s = emit(op.split(x, 2, 1))
        return op.matmul(emit(nn.relu(emit(relax.TupleGetItem(s, 1)))), w)

    return groups(build, M, tensor(4, 8))


def case_group_all_outputs():
    return groups(lambda emit, x: op.split(emit(nn.relu(x)), 2, 1), M)


def case_group_outputs_apart():
    def build(emit, x):
        s = emit(op.split(x, 2, 1))
        left, right = emit(relax.TupleGetItem(s, 0)), emit(relax.TupleGetItem(s, 1))
        return op.matmul(left, emit(op.permute_dims(right)))

    return groups(build, M)
