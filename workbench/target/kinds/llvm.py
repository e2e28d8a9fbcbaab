"""The CPU, through LLVM. By default exactly this machine: its processor, all its features."""

from __future__ import annotations

from typing import Any

from workbench.target.target import Option, TargetKind, register_tag, target_kinds


def _positive(value: Any) -> str | None:
    return None if value > 0 else "expected a positive number"


def _level(value: Any) -> str | None:
    return None if 0 <= value <= 3 else "expected 0, 1, 2 or 3"


LLVM = target_kinds.add(
    "llvm",
    TargetKind(
        name="llvm",
        device_type="cpu",
        keys=("cpu",),
        options={
            "mcpu": Option(str, "processor, as LLVM names it; default: this machine's"),
            "mattr": Option(list, "features such as +avx2; default: this machine's"),
            "mtriple": Option(str, "machine, system and ABI; default: this machine's"),
            "num-cores": Option(int, "processors that schedules plan for", check=_positive),
            "vector-width": Option(int, "bits of a vector register", check=_positive),
            "opt-level": Option(int, "0 to 3; 0 skips LLVM's IR passes", 3, check=_level),
            "fast-math": Option(bool, "all of the fast-math options", False),
            "fast-math-nnan": Option(bool, "assume no NaN", False),
            "fast-math-ninf": Option(bool, "assume no infinities", False),
            "fast-math-nsz": Option(bool, "ignore the sign of zero", False),
            "fast-math-arcp": Option(bool, "divide by multiplying with the reciprocal", False),
            "fast-math-contract": Option(bool, "a * b + c may be rounded once", True),
            "fast-math-reassoc": Option(bool, "sums may be reordered", False),
            "debug-info": Option(bool, "keep the line of the TIR of each instruction", True),
            "cache": Option(bool, "keep object code in the user's cache folder", True),
        },
        stages=(("llvm-ir", "llvm"), ("llvm-ir-optimised", "llvm"), ("asm", "asm")),
        codegen="workbench.target.codegen.build",
        doc="machine code for CPUs",
    ),
)

register_tag("llvm/generic-x86-64", {"kind": "llvm", "mcpu": "x86-64", "mattr": []})
register_tag("llvm/x86-64-v3", {"kind": "llvm", "mcpu": "x86-64-v3", "mattr": []})
register_tag("llvm/x86-64-v4", {"kind": "llvm", "mcpu": "x86-64-v4", "mattr": []})
