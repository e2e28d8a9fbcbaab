"""The texts of argument errors, made at run time by LLVM IR that is part of every module.

    main: argument 1 (B): expected float32[128, 128], got float64[128, 128]

The functions are linked once per module, marked cold, and print with `snprintf` into a buffer on
the stack.
"""

from __future__ import annotations

from workbench.target.codegen.emitter import ModuleEmitter
from workbench.target.codegen.llvm_types import c_string

#: Reasons of `wb.bad_argument`.
KIND, DTYPE, SHAPE, DEVICE, SYMBOL, STRIDES, ALIGNMENT, RANGE = range(8)

_TEXTS = {
    "count": "%s: expected %d arguments (%s), got %d",
    "head": "%s: argument %d (%s): expected %s",
    "got": ", got ",
    "on_cpu": " on the CPU, got one on device type %d",
    "symbol": " with %s = %lld from the arguments before, got ",
    "strides": " with compact strides, got one with gaps or transposed; "
    "pass a contiguous copy (numpy.ascontiguousarray)",
    "alignment": " aligned to its elements, got data at an odd address",
    "range": ", got %lld, which does not fit",
    "int": "the int %lld",
    "float": "the float %g",
    "none": "None",
    "bool": "a bool",
    "text": "a str",
    "pointer": "a raw pointer",
    "function": "a function",
    "shape": "a shape",
    "array": "a list or tuple",
    "object": "an object of type index %d",
    "bracket": "[",
    "dim": "%lld",
    "next": ", %lld",
    "close": "]",
    "t_int": "int",
    "t_uint": "uint",
    "t_float": "float",
    "t_bfloat": "bfloat",
    "t_complex": "complex",
    "t_bool": "bool",
    "t_other": "dtype code %d, bits ",
    "t_float8_e4m3fn": "float8_e4m3fn",
    "t_float8_e5m2": "float8_e5m2",
    "TypeError": "TypeError",
    "ValueError": "ValueError",
}

_IR = """
declare i32 @snprintf(ptr, i64, ptr, ...)

; Appends to a buffer of 1024 bytes at *at, and moves *at.
define internal void @wb.say(ptr %buffer, ptr %at, ptr %format, i64 %value) #1 {
entry:
  %old = load i64, ptr %at
  %room = icmp ult i64 %old, 1000
  br i1 %room, label %print, label %done
print:
  %place = getelementptr i8, ptr %buffer, i64 %old
  %left = sub i64 1024, %old
  %count = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %place, i64 %left, ptr %format, i64 %value)
  %wide = sext i32 %count to i64
  %new = add i64 %old, %wide
  store i64 %new, ptr %at
  br label %done
done:
  ret void
}

define internal void @wb.say_tensor(ptr %buffer, ptr %at, ptr %tensor) #1 {
entry:
  %p_ndim = getelementptr i8, ptr %tensor, i64 16
  %ndim = load i32, ptr %p_ndim
  %p_code = getelementptr i8, ptr %tensor, i64 20
  %code = load i8, ptr %p_code
  %p_bits = getelementptr i8, ptr %tensor, i64 21
  %bits8 = load i8, ptr %p_bits
  %bits = zext i8 %bits8 to i64
  %p_shape = getelementptr i8, ptr %tensor, i64 24
  %shape = load ptr, ptr %p_shape
  switch i8 %code, label %other [
    i8 0, label %int
    i8 1, label %uint
    i8 2, label %float
    i8 4, label %bfloat
    i8 5, label %complex
    i8 6, label %bool
    i8 10, label %e4m3
    i8 12, label %e5m2
  ]
int:
  br label %sized
uint:
  br label %sized
float:
  br label %sized
bfloat:
  br label %sized
complex:
  br label %sized
other:
  br label %sized
sized:
  %name = phi ptr [ $t_int, %int ], [ $t_uint, %uint ], [ $t_float, %float ],
                  [ $t_bfloat, %bfloat ], [ $t_complex, %complex ], [ $t_other, %other ]
  %code64 = zext i8 %code to i64
  call void @wb.say(ptr %buffer, ptr %at, ptr %name, i64 %code64)
  call void @wb.say(ptr %buffer, ptr %at, ptr $dim, i64 %bits)
  br label %dims
bool:
  call void @wb.say(ptr %buffer, ptr %at, ptr $t_bool, i64 0)
  br label %dims
e4m3:
  call void @wb.say(ptr %buffer, ptr %at, ptr $t_float8_e4m3fn, i64 0)
  br label %dims
e5m2:
  call void @wb.say(ptr %buffer, ptr %at, ptr $t_float8_e5m2, i64 0)
  br label %dims
dims:
  call void @wb.say(ptr %buffer, ptr %at, ptr $bracket, i64 0)
  %any = icmp sgt i32 %ndim, 0
  br i1 %any, label %dim, label %end
dim:
  %i = phi i32 [ 0, %dims ], [ %i1, %dim ]
  %p = getelementptr i64, ptr %shape, i32 %i
  %extent = load i64, ptr %p
  %first = icmp eq i32 %i, 0
  %format = select i1 %first, ptr $dim, ptr $next
  call void @wb.say(ptr %buffer, ptr %at, ptr %format, i64 %extent)
  %i1 = add i32 %i, 1
  %more = icmp slt i32 %i1, %ndim
  br i1 %more, label %dim, label %end
end:
  call void @wb.say(ptr %buffer, ptr %at, ptr $close, i64 0)
  ret void
}

; What an argument is.
define internal void @wb.say_any(ptr %buffer, ptr %at, ptr %any) #1 {
entry:
  %kind = load i32, ptr %any
  %p = getelementptr i8, ptr %any, i64 8
  %payload = load i64, ptr %p
  switch i32 %kind, label %object [
    i32 0, label %none
    i32 1, label %int
    i32 2, label %bool
    i32 3, label %float
    i32 4, label %pointer
    i32 7, label %plain
    i32 8, label %text
    i32 11, label %text
    i32 65, label %text
    i32 68, label %function
    i32 69, label %shape
    i32 70, label %tensor
    i32 71, label %array
    i32 75, label %array
  ]
none:
  br label %say
int:
  br label %say
bool:
  br label %say
pointer:
  br label %say
text:
  br label %say
function:
  br label %say
shape:
  br label %say
array:
  br label %say
object:
  %kind64 = sext i32 %kind to i64
  br label %say
say:
  %format = phi ptr [ $none, %none ], [ $int, %int ], [ $bool, %bool ], [ $pointer, %pointer ],
                    [ $text, %text ], [ $function, %function ], [ $shape, %shape ],
                    [ $array, %array ], [ $object, %object ]
  %value = phi i64 [ 0, %none ], [ %payload, %int ], [ 0, %bool ], [ 0, %pointer ],
                   [ 0, %text ], [ 0, %function ], [ 0, %shape ], [ 0, %array ],
                   [ %kind64, %object ]
  call void @wb.say(ptr %buffer, ptr %at, ptr %format, i64 %value)
  ret void
float:
  %old = load i64, ptr %at
  %place = getelementptr i8, ptr %buffer, i64 %old
  %left = sub i64 1024, %old
  %real = bitcast i64 %payload to double
  %count = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %place, i64 %left, ptr $float, double %real)
  %wide = sext i32 %count to i64
  %new = add i64 %old, %wide
  store i64 %new, ptr %at
  ret void
plain:
  %plain_ptr = inttoptr i64 %payload to ptr
  call void @wb.say_tensor(ptr %buffer, ptr %at, ptr %plain_ptr)
  ret void
tensor:
  %moved = add i64 %payload, 24
  %tensor_ptr = inttoptr i64 %moved to ptr
  call void @wb.say_tensor(ptr %buffer, ptr %at, ptr %tensor_ptr)
  ret void
}

define internal void @wb.bad_count(ptr %function, i32 %wanted, ptr %listed, i32 %count) #1 {
  %buffer = alloca [1024 x i8]
  %rc = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %buffer, i64 1024, ptr $count,
      ptr %function, i32 %wanted, ptr %listed, i32 %count)
  call void @TVMFFIErrorSetRaisedFromCStr(ptr $TypeError, ptr %buffer)
  ret void
}

; detail: for a symbolic size { i32 axis, i64 wanted, ptr name }.
define internal void @wb.bad_argument(ptr %function, i32 %position, ptr %name, ptr %expected,
                                      i32 %reason, ptr %detail, ptr %any) #1 {
entry:
  %buffer = alloca [1024 x i8]
  %at = alloca i64
  %count = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %buffer, i64 900, ptr $head, ptr %function,
      i32 %position, ptr %name, ptr %expected)
  %wide = sext i32 %count to i64
  %short = call i64 @llvm.umin.i64(i64 %wide, i64 899)
  store i64 %short, ptr %at
  %p = getelementptr i8, ptr %any, i64 8
  %payload = load i64, ptr %p
  switch i32 %reason, label %got [
    i32 $DEVICE, label %device
    i32 $SYMBOL, label %symbol
    i32 $STRIDES, label %strides
    i32 $ALIGNMENT, label %alignment
    i32 $RANGE, label %range
  ]
got:
  call void @wb.say(ptr %buffer, ptr %at, ptr $got, i64 0)
  call void @wb.say_any(ptr %buffer, ptr %at, ptr %any)
  br label %raise
device:
  %kind = load i32, ptr %any
  %is_object = icmp eq i32 %kind, 70
  %skip = select i1 %is_object, i64 32, i64 8
  %where_int = add i64 %payload, %skip
  %where = inttoptr i64 %where_int to ptr
  %type = load i32, ptr %where
  %type64 = sext i32 %type to i64
  call void @wb.say(ptr %buffer, ptr %at, ptr $on_cpu, i64 %type64)
  br label %raise
symbol:
  %p_wanted = getelementptr i8, ptr %detail, i64 8
  %wanted = load i64, ptr %p_wanted
  %p_symbol = getelementptr i8, ptr %detail, i64 16
  %symbol_name = load ptr, ptr %p_symbol
  %old = load i64, ptr %at
  %place = getelementptr i8, ptr %buffer, i64 %old
  %left = sub i64 1024, %old
  %count2 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %place, i64 %left, ptr $symbol,
      ptr %symbol_name, i64 %wanted)
  %wide2 = sext i32 %count2 to i64
  %new = add i64 %old, %wide2
  store i64 %new, ptr %at
  call void @wb.say_any(ptr %buffer, ptr %at, ptr %any)
  br label %raise
strides:
  call void @wb.say(ptr %buffer, ptr %at, ptr $strides, i64 0)
  br label %raise
alignment:
  call void @wb.say(ptr %buffer, ptr %at, ptr $alignment, i64 0)
  br label %raise
range:
  call void @wb.say(ptr %buffer, ptr %at, ptr $range, i64 %payload)
  br label %raise
raise:
  %is_type = icmp ult i32 %reason, $SHAPE
  %error = select i1 %is_type, ptr $TypeError, ptr $ValueError
  call void @TVMFFIErrorSetRaisedFromCStr(ptr %error, ptr %buffer)
  ret void
}
"""


def use(module: ModuleEmitter) -> None:
    """Adds the functions to a module, once."""
    if module.has_argument_errors:
        return
    module.has_argument_errors = True
    module.declare("TVMFFIErrorSetRaisedFromCStr", "void", "ptr, ptr")
    module.declare("llvm.umin.i64", "i64", "i64, i64")
    text = _IR
    for name, number in (
        ("DEVICE", DEVICE),
        ("SYMBOL", SYMBOL),
        ("STRIDES", STRIDES),
        ("ALIGNMENT", ALIGNMENT),
        ("RANGE", RANGE),
        ("SHAPE", SHAPE),
    ):
        text = text.replace(f"${name}", str(number))
    for name in sorted(_TEXTS, key=len, reverse=True):
        if f"${name}" not in text:
            continue
        body, length = c_string(_TEXTS[name])
        module.globals.append(f"@wb.s.{name} = private constant [{length} x i8] {body}")
        text = text.replace(f"${name}", f"@wb.s.{name}")
    module.functions.append(text)
