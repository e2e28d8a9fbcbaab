"""The machine behind a target: triple, processor, features, vector width, LLVM target machine."""

from __future__ import annotations

import functools
import os
import re
import tempfile
import threading
from dataclasses import dataclass
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.target.target import Target

_init_lock = threading.Lock()
_initialised = False
_UNKNOWN = re.compile(r"('[^']*') is not a recognized (processor|feature)")
#: Processors with 512-bit registers, and with 256-bit ones, by the beginning of LLVM's name.
_WIDE = (
    "x86-64-v4",
    "skylake-avx512",
    "cascadelake",
    "cooperlake",
    "cannonlake",
    "icelake",
    "tigerlake",
    "rocketlake",
    "sapphirerapids",
    "emeraldrapids",
    "graniterapids",
    "diamondrapids",
    "knl",
    "knm",
    "znver4",
    "znver5",
)
_MIDDLE = (
    "x86-64-v3",
    "sandybridge",
    "ivybridge",
    "haswell",
    "broadwell",
    "skylake",
    "alderlake",
    "raptorlake",
    "meteorlake",
    "arrowlake",
    "lunarlake",
    "bdver",
    "znver",
)


class CodegenError(WorkbenchError, RuntimeError):
    """Code could not be generated, or LLVM refused it."""


@dataclass(frozen=True)
class Machine:
    """What LLVM is told about the machine; `vector_bits` is the width of a vector register."""

    triple: str
    cpu: str
    features: str
    vector_bits: int

    @property
    def arch(self) -> str:
        """The first part of the triple."""
        return self.triple.partition("-")[0]

    @property
    def is_linux(self) -> bool:
        """Whether the system is Linux."""
        return "linux" in self.triple

    def key(self) -> str:
        """A text that tells machines apart, for caches."""
        return f"{self.triple}/{self.cpu}/{self.features}/{self.vector_bits}"


def llvm() -> Any:
    """The LLVM bindings, initialised. Loads LLVM on first use."""
    global _initialised
    import llvmlite.binding as binding

    if not _initialised:
        with _init_lock:
            if not _initialised:
                binding.initialize_native_target()
                binding.initialize_native_asmprinter()
                _initialised = True
    return binding


@functools.lru_cache(maxsize=64)
def machine_of(target: Target) -> Machine:
    """The machine a target describes; what it leaves open is this machine's."""
    binding = llvm()
    host_triple = binding.get_default_triple()
    triple = target.get("mtriple") or host_triple
    cpu, features = target.get("mcpu"), target.get("mattr")
    native = triple.partition("-")[0] == host_triple.partition("-")[0]
    if cpu is None and features is None and native:
        cpu, features = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
    else:
        cpu, features = cpu or "generic", ",".join(features or ())
    width = target.get("vector-width") or _vector_bits(triple, cpu, features)
    machine = Machine(triple, cpu, features, width)
    if target.get("mcpu") is not None or target.get("mattr") is not None:
        _check_names(machine)
    return machine


def _check_names(machine: Machine) -> None:
    """Raises `CodegenError` for a processor or feature that LLVM does not know.

    LLVM only prints a warning, and may abort the process later. So the warning is caught, at the
    level of the file descriptor because it is C++ that writes it.
    """
    with tempfile.TemporaryFile() as file:
        try:
            saved = os.dup(2)
        except OSError:
            return  # no standard error: nowhere to see the warning
        try:
            os.dup2(file.fileno(), 2)
            target_machine(machine)
        finally:
            os.dup2(saved, 2)
            os.close(saved)
        file.seek(0)
        text = file.read().decode(errors="replace")
    unknown = list(dict.fromkeys(_UNKNOWN.findall(text)))
    if unknown:
        names = ", ".join(f"{kind} {name}" for name, kind in unknown)
        raise CodegenError(
            f"LLVM does not know the {names} of {machine.triple}",
            hint="leave mcpu and mattr out for this machine, or name one such as "
            "x86-64-v3, skylake-avx512, znver4, cortex-a76",
        )


def _vector_bits(triple: str, cpu: str, features: str) -> int:
    if not triple.startswith(("x86_64", "i686")):
        return 128
    flags = features.split(",")
    if "+avx512f" in flags or cpu.startswith(_WIDE):
        return 512
    return 256 if "+avx" in flags or "+avx2" in flags or cpu.startswith(_MIDDLE) else 128


def target_machine(machine: Machine, opt_level: int = 3) -> Any:
    """A new LLVM target machine. Raises `CodegenError` if LLVM was built without that machine."""
    binding = llvm()
    try:
        if machine.arch != binding.get_default_triple().partition("-")[0]:
            binding.initialize_all_targets()
            binding.initialize_all_asmprinters()
        made = binding.Target.from_triple(machine.triple)
    except RuntimeError as error:
        raise CodegenError(f"LLVM knows no machine {machine.triple!r}: {error}") from error
    return made.create_target_machine(
        cpu=machine.cpu,
        features=machine.features,
        opt=max(1, opt_level),
        reloc="pic",
        codemodel="default",
    )
