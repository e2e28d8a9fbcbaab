"""Scalar expressions, buffers and statements: folding, promotion, printing, refusals."""

from tvm import ir, tirx
from tvm.script import tirx as T

EXPRESSIONS = """
x + 1
1 + x
x + 0
x * 1
x * 0
x - x
x + y
x + l
l + x
x * 2 + y * 3
x // 2
x % 2
tirx.div(x, 2)
tirx.truncdiv(x, y)
tirx.truncmod(x, y)
tirx.floordiv(x, 4)
tirx.floormod(x, 4)
tirx.indexdiv(x, 4)
tirx.indexmod(x, 4)
tirx.ceildiv(x, 4)
-x
x < y
x <= 3
x > y
x >= y
tirx.EQ(x, y)
tirx.NE(x, y)
tirx.all(x < y, y < 3)
tirx.any(x < y, y < 3)
tirx.Not(x < y)
x & 3
x | y
x ^ y
~x
x << 2
x >> 1
f + 1
f * 2.0
f / 2
f + x
f - d
f // 2
tirx.min(x, y)
tirx.max(x, 5)
tirx.min(3, 5)
tirx.const(3, "int32") + tirx.const(4, "int32")
tirx.const(3, "int32") * tirx.const(4, "int64")
tirx.const(7, "int32") // tirx.const(2, "int32")
tirx.const(-7, "int32") // tirx.const(2, "int32")
tirx.const(-7, "int32") % tirx.const(2, "int32")
tirx.const(1.5, "float32") + tirx.const(2, "float32")
tirx.const(True)
tirx.const(3)
tirx.const(2.5)
tirx.const(300, "uint8")
tirx.min_value("int8")
tirx.max_value("int64")
tirx.max_value("float32")
tirx.infinity("float32")
tirx.exp(f)
tirx.sqrt(f)
tirx.log(f)
tirx.tanh(f)
tirx.sigmoid(f)
tirx.erf(f)
tirx.floor(f)
tirx.ceil(f)
tirx.round(f)
tirx.trunc(f)
tirx.abs(x)
tirx.abs(f)
tirx.power(f, 2)
tirx.power(f, f)
tirx.fmod(f, f)
tirx.atan2(f, f)
tirx.isnan(f)
tirx.isinf(f)
tirx.isfinite(f)
tirx.isnan(x)
tirx.popcount(x)
tirx.clz(x)
tirx.if_then_else(x < y, x, y)
tirx.if_then_else(x < y, 1, f)
tirx.Select(x < y, x, y)
tirx.Cast("float32", x)
x.astype("float32")
x.astype("int32")
f.astype("float16")
tirx.Ramp(x, 1, 4)
tirx.Broadcast(x, 4)
tirx.Ramp(0, 1, 4) + tirx.Broadcast(x, 4)
tirx.Shuffle([tirx.Ramp(0, 1, 4)], [2])
tirx.Let(x, y + 1, x * 2)
tirx.reinterpret("float32", x)
tirx.call_extern("float32", "foo", x, f)
tirx.call_pure_extern("float32", "foo", f)
tirx.call_intrin("float32", "tirx.exp", f)
tirx.call_packed("f", x)
tirx.likely(x < y)
tirx.bitwise_and(x, 1)
tirx.shift_left(x, 2)
tirx.shift_right(x, 2)
tirx.floor(x)
tirx.sum(x, axis=k)
tirx.copysign(f, f)
tirx.nextafter(f, f)
tirx.hypot(f, f)
tirx.ldexp(f, x)
tirx.log1p(f)
tirx.exp2(f)
tirx.exp10(f)
tirx.log2(f)
tirx.log10(f)
tirx.rsqrt(f)
tirx.nearbyint(f)
tirx.StringImm("text")
A[x, y]
A[0, y] + A[x, 1]
A[x]
A[x, f]
tirx.BufferLoad(A, [x, y])
A.vload([0, 0], "float32x4")
A.vstore([0, 0], tirx.Broadcast(f, 4))
A.offset_of([1, 2])
A.scope()
A.shape
A.dtype
S.strides
tirx.IterVar(ir.Range(0, 4), "i", 0)
tirx.BufferRegion(A, [ir.Range(0, 4), ir.Range(x, x + 1)])
tirx.Evaluate(x)
tirx.BufferStore(A, f, [x, y])
tirx.BufferStore(A, x, [x, y])
tirx.SeqStmt([tirx.Evaluate(x), tirx.Evaluate(y)])
tirx.For(x, 0, 4, tirx.ForKind.SERIAL, tirx.Evaluate(x))
tirx.For(x, 0, 4, tirx.ForKind.PARALLEL, tirx.Evaluate(x))
tirx.For(x, 0, y, tirx.ForKind.VECTORIZED, tirx.Evaluate(x))
tirx.IfThenElse(x < y, tirx.Evaluate(x), None)
tirx.IfThenElse(x < y, tirx.Evaluate(x), tirx.Evaluate(y))
tirx.While(x < y, tirx.Evaluate(x))
tirx.AttrStmt(x, "key", 1, tirx.Evaluate(x))
tirx.stmt_seq(tirx.Evaluate(x), y)
T.int32(3)
T.float32(1.5)
T.int64(x)
T.bool(True)
T.float16(2)
T.exp(f)
T.max(x, y)
T.floordiv(x, 3)
""".strip().splitlines()


def evaluated(text):
    x, y = tirx.Var("x", "int32"), tirx.Var("y", "int32")
    scope = {
        "x": x, "y": y, "l": tirx.Var("l", "int64"), "f": tirx.Var("f", "float32"),
        "d": tirx.Var("d", "float64"), "tirx": tirx, "ir": ir, "T": T,
        "A": tirx.decl_buffer((8, 16), "float32", name="A"),
        "S": tirx.decl_buffer((8, 16), "float32", name="S", strides=[32, 1]),
        "k": tirx.IterVar(ir.Range(0, 4), "k", 2),
    }  # fmt: skip
    value = eval(text, scope)
    if text.endswith((".shape", ".strides", "offset_of([1, 2])")):
        return list(map(str, value))
    scalar = hasattr(value, "expr_ty") and not isinstance(value, tirx.IterVar)
    return [str(value), str(value.expr_ty()) if scalar else ""]


def declare(text):
    def case():
        try:
            return evaluated(text)
        except AttributeError:
            raise
        except Exception:
            return "refused"

    return case


for _text in EXPRESSIONS:
    globals()[f"case_{_text}"] = declare(_text)
