"""How calls of intrinsics are written where the name in the text is not the operator's own."""

from __future__ import annotations

#: The data type of the result is the first argument in the text.
DTYPE_FIRST = frozenset(
    "tirx." + name
    for name in [
        "call_extern",
        "call_pure_extern",
        "call_llvm_intrin",
        "call_llvm_pure_intrin",
        "reinterpret",
        "get_active_lane_mask",
        "vectorhigh",
        "vectorlow",
        "vectorcombine",
        "dp4a",
        "type_annotation",
    ]
)

#: The data type of the result is the last argument in the text.
DTYPE_LAST = frozenset(["tirx.tvm_struct_get"])

#: Operators with a shorter or longer name in the text.
WRITTEN_AS = {
    "tirx.tvm_call_packed": "call_packed",
    "tirx.tvm_call_cpacked": "call_cpacked",
    "tirx.tvm_call_packed_lowered": "call_packed_lowered",
    "tirx.tvm_call_cpacked_lowered": "call_cpacked_lowered",
}

#: The operator of a written name.
OPERATOR_OF = {written: name for name, written in WRITTEN_AS.items()}
