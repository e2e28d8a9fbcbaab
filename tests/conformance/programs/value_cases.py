"""Compiled operators: the values that a program computes."""

import numpy as np
import tvm
from tvm import relax


def array(shape, dtype="float32", seed=0, low=0, high=3):
    generator = np.random.default_rng(seed)
    if "int" in dtype:
        return generator.integers(low, high, shape).astype(dtype)
    return generator.random(shape).astype(dtype)


def run(build, *inputs):
    """The results of a program of one expression, rounded."""
    builder = relax.BlockBuilder()
    params = [
        relax.Var(f"p{i}", relax.TensorType(a.shape, str(a.dtype))) for i, a in enumerate(inputs)
    ]
    with builder.function("main", params):
        with builder.dataflow():
            out = builder.emit_output(build(*params))
        builder.emit_func_output(out)
    exe = tvm.compile(builder.get(), tvm.target.Target("llvm"))
    machine = relax.VirtualMachine(exe, tvm.cpu())
    result = machine["main"](*[tvm.runtime.tensor(a) for a in inputs])
    results = [result] if hasattr(result, "numpy") else list(result)
    return [np.round(r.numpy().astype("float64"), 3).tolist() for r in results]


op = relax.op
X, Y = array((2, 3)), array((2, 3), seed=1)
I32, I64 = array((2, 3), "int32"), array((2,), "int64")


def case_sort():
    return run(lambda x: op.sort(x, axis=1), X)


def case_sort_descending():
    return run(lambda x: op.sort(x, axis=0, descending=True), X)


def case_argsort():
    return run(lambda x: op.argsort(x, axis=-1, descending=True, dtype="int32"), array((3, 7)))


def case_topk():
    return run(lambda x: op.topk(x, k=2, axis=-1), array((3, 7)))


def case_topk_smallest_values():
    return run(lambda x: op.topk(x, k=3, axis=0, ret_type="values", largest=False), array((5, 2)))


def case_bucketize():
    bounds = np.array([0.2, 0.5, 0.7], "float32")
    return run(lambda x, b: op.bucketize(x, b, right=True), X, bounds)


def case_einsum():
    return run(lambda x, y: op.einsum((x, y), "ij,kj->ik"), X, Y)


def case_einsum_sum():
    return run(lambda x: op.einsum((x,), "ij->j"), X)


def case_scatter_elements():
    return run(
        lambda x, i, y: op.scatter_elements(x, i, y, axis=1, reduction="add"),
        X, array((2, 2), "int64"), array((2, 2), seed=4),
    )  # fmt: skip


def case_scatter_nd():
    where = np.array([[0, 1], [1, 2]], "int64")
    return run(lambda x, i, y: op.scatter_nd(x, i, y), X, where, np.array([5, 6], "float32"))


def case_index_tensor():
    return run(lambda x, i: op.index_tensor(x, (i,)), X, array((2,), "int64", high=2))


def case_index_put():
    where = [np.array([0, 1], "int64"), np.array([2, 0], "int64")]
    return run(
        lambda x, i, j, v: op.index_put(x, (i, j), v), X, *where, np.array([5, 6], "float32")
    )


def case_meshgrid():
    return run(lambda a, b: op.meshgrid((a, b)), array((2,)), array((3,)))


def case_collapse_sum():
    return run(lambda x: op.collapse_sum_to(x, (1, 3)), X)


def case_eye():
    return run(lambda x: op.add(op.eye(2, 3, 1), x), X)


def case_hamming_window():
    return run(lambda x: op.add(op.hamming_window(3, True, 0.54, 0.46, "float32"), x), X)


def case_quantize():
    scale, zero = np.array([0.1, 0.2, 0.3], "float32"), np.array([1, 0, 2], "int8")
    return run(lambda x, s, z: op.quantize(x, s, z, axis=1), X, scale, zero)


def case_dequantize():
    scale, zero = np.array([0.1, 0.2, 0.3], "float32"), np.array([1, 0, 2], "int8")
    return run(
        lambda x, s, z: op.dequantize(x, s, z, axis=1), array((2, 3), "int8", high=9), scale, zero
    )


def case_attention():
    return run(op.nn.attention, array((1, 3, 2, 4)), array((1, 5, 2, 4), seed=1),
               array((1, 5, 2, 4), seed=2))  # fmt: skip


def case_attention_causal():
    return run(
        lambda q, k, v: op.nn.attention(q, k, v, causal_mask="BottomRight"),
        array((1, 3, 2, 4)), array((1, 5, 2, 4), seed=1), array((1, 5, 2, 4), seed=2),
    )  # fmt: skip


def case_cross_entropy():
    return run(op.nn.cross_entropy_with_logits, X, Y)


def case_nll_loss():
    return run(op.nn.nll_loss, X, I64)


def case_nll_loss_weights():
    return run(
        lambda p, t, w: op.nn.nll_loss(p, t, w, "sum"),
        array((2, 3, 2)), array((2, 2), "int64"), array((3,), seed=5),
    )  # fmt: skip


def case_slice_scatter():
    return run(lambda x, y: op.slice_scatter(x, y, 0, 1, 1, axis=0), X, array((1, 3), seed=3))


def case_reverse_sequence():
    return run(lambda x, n: op.reverse_sequence(x, n), X, np.array([2, 3], "int64"))


def case_uneven_split():
    return run(lambda x: op.split(x, 2, axis=1), X)


def case_conv_pool():
    def net(x, w):
        y = op.nn.relu(op.nn.conv2d(x, w, padding=1))
        return op.nn.avg_pool2d(y, 2, 2)

    return run(net, array((1, 2, 4, 4)), array((3, 2, 3, 3), seed=1))


def case_softmax_matmul():
    return run(lambda x, y: op.nn.softmax(op.matmul(x, op.permute_dims(y))), X, Y)


def case_layer_norm():
    return run(lambda x, g, b: op.nn.layer_norm(x, g, b, axes=-1), X, array((3,)), array((3,)))


def case_reductions():
    return run(lambda x: relax.Tuple([op.sum(x, 1), op.mean(x), op.max(x, 0), op.argmax(x, 1)]), X)


def case_cumsum():
    return run(lambda x: op.cumsum(x, axis=1), X)


def case_take_gather():
    return run(lambda x, i: op.take(x, i, axis=0), X, array((3,), "int64", high=2))
