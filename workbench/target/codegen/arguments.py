"""The check of arguments at run time, as LLVM IR: compiled once, linked once per process and once
per exported library. Every entry calls it with constant tables that describe its parameters.

    main: argument 1 (B): expected float32[128, 128], got float64[128, 128]

Tables (all little endian, pointers of 8 bytes):

* parameter, 56 bytes: name, described type (texts), i32 kind, i32 type word (tensors: DLDataType;
  integers: bits), i32 dimensions (integers: 1 if signed), i32 bytes of an element, extents, strides
  (null: must be compact), i64 slot of the element offset (-1: it is added to the data address);
* extent or stride, 24 bytes: i64 mode, i64 number, text. Modes: CONST (equal to the number), BIND
  (store into the slot of that number), SAME (equal to the content of the slot), SKIP.

Results: `out`, one i64 per parameter (data address, integer, bits of a double), and the slots.
"""

from __future__ import annotations

from workbench.target.codegen.emitter import ModuleEmitter
from workbench.target.codegen.llvm_types import c_string
from workbench.target.codegen.machine import Machine

BAD_ARGUMENT = "wb_bad_argument"
CHECK = "wb_check_arguments"
#: Kinds of parameters.
TENSOR, INTEGER, FLOAT, BOOL, HANDLE = range(5)
#: Modes of extents and strides.
CONST, BIND, SAME, SKIP = range(4)
#: Reasons of `wb_bad_argument`.
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
declare void @TVMFFIErrorSetRaisedFromCStr(ptr, ptr)
declare i64 @llvm.umin.i64(i64, i64)

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

define internal void @wb_bad_count(ptr %function, i32 %wanted, ptr %listed, i32 %count) #1 {
  %buffer = alloca [1024 x i8]
  %rc = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %buffer, i64 1024, ptr $count,
      ptr %function, i32 %wanted, ptr %listed, i32 %count)
  call void @TVMFFIErrorSetRaisedFromCStr(ptr $TypeError, ptr %buffer)
  ret void
}

; detail: for a symbolic size { i32 axis, i64 wanted, ptr name }.
define $VISIBLE void @wb_bad_argument(ptr %function, i32 %position, ptr %name, ptr %expected,
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

define $VISIBLE i32 @wb_check_arguments(ptr %function, ptr %params, i32 %n, ptr %listed, ptr %args,
                                        i32 %count, ptr %out, ptr %slots) {
entry:
  %detail = alloca { i32, i64, ptr }
  %right_count = icmp eq i32 %count, %n
  br i1 %right_count, label %start, label %bad_count
bad_count:
  call void @wb_bad_count(ptr %function, i32 %n, ptr %listed, i32 %count)
  ret i32 -1
start:
  %no_params = icmp eq i32 %n, 0
  br i1 %no_params, label %done, label %param
param:
  %i = phi i32 [ 0, %start ], [ %i1, %next ]
  %p = getelementptr [56 x i8], ptr %params, i32 %i
  %any = getelementptr [16 x i8], ptr %args, i32 %i
  %p_kind = getelementptr i8, ptr %p, i64 16
  %kind = load i32, ptr %p_kind
  %p_word = getelementptr i8, ptr %p, i64 20
  %word = load i32, ptr %p_word
  %p_ndim = getelementptr i8, ptr %p, i64 24
  %ndim = load i32, ptr %p_ndim
  %p_item = getelementptr i8, ptr %p, i64 28
  %item32 = load i32, ptr %p_item
  %item = zext i32 %item32 to i64
  %type = load i32, ptr %any
  %p_payload = getelementptr i8, ptr %any, i64 8
  %payload = load i64, ptr %p_payload
  %is_int = icmp eq i32 %type, 1
  %is_bool = icmp eq i32 %type, 2
  %whole = or i1 %is_int, %is_bool
  switch i32 %kind, label %tensor [
    i32 1, label %integer
    i32 2, label %real
    i32 3, label %truth
    i32 4, label %handle
  ]

integer:
  br i1 %whole, label %range, label %bad
range:
  ; Shifting the unused high bits out and in again leaves a number that fits as it was.
  %word64 = zext i32 %word to i64
  %unused = sub i64 64, %word64
  %up = shl i64 %payload, %unused
  %down_signed = ashr i64 %up, %unused
  %down_unsigned = lshr i64 %up, %unused
  %signed = icmp ne i32 %ndim, 0
  %down = select i1 %signed, i64 %down_signed, i64 %down_unsigned
  %fits = icmp eq i64 %down, %payload
  br i1 %fits, label %give, label %bad

real:
  %is_float = icmp eq i32 %type, 3
  %number = or i1 %is_float, %whole
  %as_real = sitofp i64 %payload to double
  %as_bits = bitcast double %as_real to i64
  %real_bits = select i1 %is_float, i64 %payload, i64 %as_bits
  br i1 %number, label %give, label %bad

truth:
  %nonzero = icmp ne i64 %payload, 0
  %truth_value = zext i1 %nonzero to i64
  br i1 %whole, label %give, label %bad

handle:
  %after_header = add i64 %payload, 24
  switch i32 %type, label %bad [
    i32 0, label %null
    i32 4, label %give
    i32 7, label %give
    i32 70, label %object
  ]
null:
  br label %give
object:
  br label %give

tensor:
  %t_object = icmp eq i32 %type, 70
  %t_plain = icmp eq i32 %type, 7
  %is_tensor = or i1 %t_object, %t_plain
  %skip = select i1 %t_object, i64 24, i64 0
  %t_int = add i64 %payload, %skip
  %t = inttoptr i64 %t_int to ptr
  br i1 %is_tensor, label %dtype, label %bad
dtype:
  %q_word = getelementptr i8, ptr %t, i64 20
  %t_word = load i32, ptr %q_word
  %same_word = icmp eq i32 %t_word, %word
  ; bool (code 6, 8 bits) may come as uint8 (code 1).
  %wants_bool = icmp eq i32 %word, 67590
  %has_uint8 = icmp eq i32 %t_word, 67585
  %as_bool = and i1 %wants_bool, %has_uint8
  %good_word = or i1 %same_word, %as_bool
  br i1 %good_word, label %dimensions, label %bad
dimensions:
  %q_ndim = getelementptr i8, ptr %t, i64 16
  %t_ndim = load i32, ptr %q_ndim
  %same_ndim = icmp eq i32 %t_ndim, %ndim
  br i1 %same_ndim, label %device, label %bad
device:
  %q_device = getelementptr i8, ptr %t, i64 8
  %t_device = load i32, ptr %q_device
  %on_cpu = icmp eq i32 %t_device, 1
  br i1 %on_cpu, label %extents, label %bad

extents:
  %q_shape = getelementptr i8, ptr %t, i64 24
  %shape = load ptr, ptr %q_shape
  %p_dims = getelementptr i8, ptr %p, i64 32
  %dims = load ptr, ptr %p_dims
  %scalar = icmp eq i32 %ndim, 0
  br i1 %scalar, label %data, label %extent
extent:
  %axis = phi i32 [ 0, %extents ], [ %axis1, %extent_good ]
  %total = phi i64 [ 1, %extents ], [ %total1, %extent_good ]
  %q_extent = getelementptr i64, ptr %shape, i32 %axis
  %found = load i64, ptr %q_extent
  %total1 = mul i64 %total, %found
  %entry_at = getelementptr [24 x i8], ptr %dims, i32 %axis
  %mode = load i64, ptr %entry_at
  %q_wanted = getelementptr i8, ptr %entry_at, i64 8
  %wanted = load i64, ptr %q_wanted
  %slot = getelementptr i64, ptr %slots, i64 %wanted
  switch i64 %mode, label %extent_good [
    i64 0, label %extent_const
    i64 1, label %extent_bind
    i64 2, label %extent_same
  ]
extent_const:
  %equal = icmp eq i64 %found, %wanted
  br i1 %equal, label %extent_good, label %bad
extent_bind:
  store i64 %found, ptr %slot
  br label %extent_good
extent_same:
  %bound = load i64, ptr %slot
  store i32 %axis, ptr %detail
  %d_wanted = getelementptr i8, ptr %detail, i64 8
  store i64 %bound, ptr %d_wanted
  %q_text = getelementptr i8, ptr %entry_at, i64 16
  %text = load ptr, ptr %q_text
  %d_text = getelementptr i8, ptr %detail, i64 16
  store ptr %text, ptr %d_text
  %agrees = icmp eq i64 %found, %bound
  br i1 %agrees, label %extent_good, label %bad
extent_good:
  %axis1 = add i32 %axis, 1
  %more_axes = icmp slt i32 %axis1, %ndim
  br i1 %more_axes, label %extent, label %steps

steps:
  %q_strides = getelementptr i8, ptr %t, i64 32
  %strides = load ptr, ptr %q_strides
  %p_own = getelementptr i8, ptr %p, i64 40
  %own = load ptr, ptr %p_own
  %has_own = icmp ne ptr %own, null
  %no_strides = icmp eq ptr %strides, null
  %empty = icmp eq i64 %total1, 0
  %nothing = or i1 %no_strides, %empty
  %not_own = xor i1 %has_own, true
  %skip_steps = and i1 %nothing, %not_own
  br i1 %skip_steps, label %data, label %step
step:
  ; From the last axis to the first: %compact is the stride of a tensor without gaps.
  %j = phi i32 [ %ndim, %steps ], [ %j1, %step_good ]
  %compact = phi i64 [ 1, %steps ], [ %compact1, %step_good ]
  %j1 = sub i32 %j, 1
  %q_len = getelementptr i64, ptr %shape, i32 %j1
  %len = load i64, ptr %q_len
  %compact1 = mul i64 %compact, %len
  br i1 %no_strides, label %step_found, label %step_load
step_load:
  %q_step = getelementptr i64, ptr %strides, i32 %j1
  %given = load i64, ptr %q_step
  br label %step_found
step_found:
  %actual = phi i64 [ %compact, %step ], [ %given, %step_load ]
  %single = icmp eq i64 %len, 1
  br i1 %has_own, label %step_own, label %step_compact
step_compact:
  %fits_compact = icmp eq i64 %actual, %compact
  %fine_compact = or i1 %fits_compact, %single
  br i1 %fine_compact, label %step_good, label %bad
step_own:
  %own_at = getelementptr [24 x i8], ptr %own, i32 %j1
  %own_mode = load i64, ptr %own_at
  %q_own = getelementptr i8, ptr %own_at, i64 8
  %own_number = load i64, ptr %q_own
  %own_slot = getelementptr i64, ptr %slots, i64 %own_number
  switch i64 %own_mode, label %step_good [
    i64 0, label %step_const
    i64 1, label %step_bind
    i64 2, label %step_same
  ]
step_bind:
  store i64 %actual, ptr %own_slot
  br label %step_good
step_same:
  %own_bound = load i64, ptr %own_slot
  br label %step_const
step_const:
  %own_wanted = phi i64 [ %own_number, %step_own ], [ %own_bound, %step_same ]
  %fits_own = icmp eq i64 %actual, %own_wanted
  %fine_own = or i1 %fits_own, %single
  br i1 %fine_own, label %step_good, label %bad
step_good:
  %more_steps = icmp sgt i32 %j1, 0
  br i1 %more_steps, label %step, label %data

data:
  %q_data = getelementptr i8, ptr %t, i64 0
  %data_at = load i64, ptr %q_data
  %q_offset = getelementptr i8, ptr %t, i64 40
  %offset = load i64, ptr %q_offset
  %p_slot = getelementptr i8, ptr %p, i64 48
  %offset_slot = load i64, ptr %p_slot
  %own_offset = icmp sge i64 %offset_slot, 0
  %moved = add i64 %data_at, %offset
  %address = select i1 %own_offset, i64 %data_at, i64 %moved
  %low_mask = sub i64 %item, 1
  %low = and i64 %moved, %low_mask
  %aligned = icmp eq i64 %low, 0
  br i1 %aligned, label %aligned_data, label %bad
aligned_data:
  br i1 %own_offset, label %store_offset, label %give
store_offset:
  %offset_place = getelementptr i64, ptr %slots, i64 %offset_slot
  store i64 %offset, ptr %offset_place
  br label %give

give:
  %value = phi i64 [ %payload, %range ], [ %real_bits, %real ], [ %truth_value, %truth ],
                   [ %payload, %handle ], [ %payload, %handle ], [ 0, %null ],
                   [ %after_header, %object ], [ %address, %aligned_data ],
                   [ %address, %store_offset ]
  %place = getelementptr i64, ptr %out, i32 %i
  store i64 %value, ptr %place
  br label %next
next:
  %i1 = add i32 %i, 1
  %more = icmp slt i32 %i1, %n
  br i1 %more, label %param, label %done
done:
  ret i32 0

bad:
  %reason = phi i32 [ $KIND, %integer ], [ $RANGE, %range ], [ $KIND, %real ], [ $KIND, %truth ],
                    [ $KIND, %handle ], [ $KIND, %tensor ], [ $DTYPE, %dtype ],
                    [ $SHAPE, %dimensions ], [ $DEVICE, %device ], [ $SHAPE, %extent_const ],
                    [ $SYMBOL, %extent_same ], [ $STRIDES, %step_compact ],
                    [ $STRIDES, %step_const ], [ $ALIGNMENT, %data ]
  %name = load ptr, ptr %p
  %p_described = getelementptr i8, ptr %p, i64 8
  %described = load ptr, ptr %p_described
  call void @wb_bad_argument(ptr %function, i32 %i, ptr %name, ptr %described, i32 %reason,
                             ptr %detail, ptr %any)
  ret i32 -1
}
"""


def declare(module: ModuleEmitter) -> None:
    """Declares the functions in a module that calls them."""
    module.declare(BAD_ARGUMENT, "void", "ptr, i32, ptr, ptr, i32, ptr, ptr", " #1")
    module.declare(CHECK, "i32", "ptr, ptr, i32, ptr, ptr, i32, ptr, ptr")


def support_ir(machine: Machine, *, exported: bool) -> str:
    """The functions as a module; `exported` is the variant that goes into a shared library."""
    text = _IR
    for name, number in (
        ("KIND", KIND),
        ("DTYPE", DTYPE),
        ("DEVICE", DEVICE),
        ("SYMBOL", SYMBOL),
        ("STRIDES", STRIDES),
        ("ALIGNMENT", ALIGNMENT),
        ("RANGE", RANGE),
        ("SHAPE", SHAPE),
    ):
        text = text.replace(f"${name}", str(number))
    text = text.replace("$VISIBLE ", "hidden " if exported else "")
    constants: list[str] = []
    for name in sorted(_TEXTS, key=len, reverse=True):
        body, length = c_string(_TEXTS[name])
        constants.append(f"@wb.s.{name} = private constant [{length} x i8] {body}")
        text = text.replace(f"${name}", f"@wb.s.{name}")
    head = f'target triple = "{machine.triple}"'
    return "\n".join([head, *constants, text, "attributes #1 = { cold noinline nounwind }", ""])
