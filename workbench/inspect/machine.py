"""What this computer is: processor, vector units, threads, memory; standard library only.

The LLVM side (host CPU name, features) is asked separately, because it needs llvmlite.
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Machine", "describe_machine", "describe_vectors"]

_X86_VECTORS = [
    # (feature that must be there, name, bits)
    ("avx512f", "AVX-512", 512),
    ("avx2", "AVX2", 256),
    ("avx", "AVX", 256),
    ("sse2", "SSE2", 128),
]
_ARM_VECTORS = [("sve", "SVE", 128), ("neon", "NEON", 128)]
_EXTRAS = {
    "fma": "FMA",
    "f16c": "F16C",
    "avx512vnni": "VNNI",
    "avx512bf16": "BF16",
    "avx512fp16": "FP16",
    "amx-tile": "AMX",
    "dotprod": "DOTPROD",
    "bf16": "BF16",
}


@dataclass(frozen=True)
class Machine:
    """Facts that belong beside every measured number."""

    system: str
    processor: str
    cores: int
    usable: int
    memory_gib: float | None
    python: str

    def line(self) -> str:
        """One line for captions."""
        memory = "" if self.memory_gib is None else f", {self.memory_gib:.0f} GiB"
        return f"{self.processor}, {self.usable} of {self.cores} cores{memory}; {self.system}"


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() in ("model name", "Model", "Hardware"):
                return value.strip()
    return platform.processor() or platform.machine()


def _memory_gib() -> float | None:
    names = os.sysconf_names
    if "SC_PHYS_PAGES" not in names or "SC_PAGE_SIZE" not in names:
        return None
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30


def describe_machine() -> Machine:
    """Read the facts now; the number of usable cores respects the process's affinity mask."""
    cores = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    libc = " ".join(part for part in platform.libc_ver() if part)
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    return Machine(
        system=f"{system}, {libc}" if libc else system,
        processor=_processor(),
        cores=cores,
        usable=usable,
        memory_gib=_memory_gib(),
        python=f"{platform.python_implementation()} {platform.python_version()}",
    )


def describe_vectors(features: dict[str, bool]) -> str:
    """The widest vector unit among LLVM's host `features` and what it holds, for one line."""
    for key, name, bits in _X86_VECTORS + _ARM_VECTORS:
        if features.get(key):
            extras = [label for extra, label in _EXTRAS.items() if features.get(extra)]
            listed = f" ({', '.join(extras)})" if extras else ""
            return f"{name}{listed}: {bits // 32} float32 in a register of {bits} bits"
    return "no vector unit that is known here"
