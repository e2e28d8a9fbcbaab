"""`workbench doctor`: what is installed, in which version, and what each missing part would give.

Packages are looked up by their metadata and not imported, with one exception: LLVM is asked for the
host CPU and made to compile and run a function, because everything else depends on that.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from workbench.inspect.machine import describe_machine, describe_vectors

__all__ = ["Finding", "examine"]

Group = Literal["needed", "notebook", "tools", "tests", "optional"]
_TITLES: dict[Group, str] = {
    "needed": "Needed by the compiler",
    "notebook": "Notebook",
    "tools": "Programs",
    "tests": "Tests and checks",
    "optional": "Others",
}


@dataclass(frozen=True)
class Part:
    """Something that may be installed: what it gives, and how to get it."""

    name: str
    group: Group
    gives: str
    install: str
    minimum: tuple[int, ...] = ()
    programs: tuple[str, ...] = ()  # look for these executables instead of a Python package


@dataclass(frozen=True)
class Finding:
    """What was found of one part. `status` is `ok`, `missing` or `broken`."""

    name: str
    group: Group
    status: Literal["ok", "missing", "broken"]
    found: str
    gives: str
    install: str

    @property
    def fatal(self) -> bool:
        """Whether the compiler cannot work like this."""
        return self.group == "needed" and self.status != "ok"


_CORE, _LAB, _TEST = "pip install .", 'pip install ".[lab]"', 'pip install -e ".[test]"'
PARTS: tuple[Part, ...] = (
    Part("numpy", "needed", "arrays, and the reference meaning of every operator", _CORE, (1, 26)),
    Part("llvmlite", "needed", "machine code", _CORE, (0, 50)),
    Part("onnx", "needed", "reading models", _CORE, (1, 17)),
    Part("apache-tvm-ffi", "needed", "calls into compiled code", _CORE, (0, 1, 15)),
    Part("graphviz", "needed", "DOT text of graphs", _CORE, (0, 20)),
    Part("ml_dtypes", "needed", "bfloat16 and float8 constants", _CORE, (0, 5)),
    Part("jupyterlab", "notebook", "the tour, and notebooks at all", _LAB, (4, 4)),
    Part("ipywidgets", "notebook", "live widgets", _LAB, (8, 1)),
    Part(
        "anywidget", "notebook", "live widgets; without it the static views stay", _LAB, (0, 9, 18)
    ),
    Part("matplotlib", "notebook", "plots of measured times", _LAB, (3, 8)),
    Part(
        "graphviz dot",
        "tools",
        "pictures of graphs laid out by Graphviz",
        f"{_LAB}, or Debian: apt-get install graphviz",
        programs=("dot", "graphviz-pure"),
    ),
    Part(
        "linker",
        "tools",
        "export_library (shared libraries); compiling and running here needs none",
        "Debian: apt-get install gcc",
        programs=("gcc", "clang", "cc", "ld.lld", "ld"),
    ),
    Part(
        "browser",
        "tools",
        "browser tests, and a window for `workbench demo`",
        "Debian: apt-get install chromium",
        programs=("chromium", "chromium-browser", "google-chrome", "firefox"),
    ),
    Part("pytest", "tests", "the test suite", _TEST),
    Part("hypothesis", "tests", "random programs in the test suite", _TEST),
    Part("onnxruntime", "tests", "an independent answer to compare results with", _TEST),
    Part("scikit-learn", "tests", "the images for training the digits networks again", _TEST),
    Part("nbclient", "tests", "running the notebooks as tests", _TEST),
    Part("playwright", "tests", "tests in a real browser", _TEST),
    Part("ruff", "tests", "lint and format", _TEST),
    Part("pyright", "tests", "type checks", _TEST),
    Part(
        "torch",
        "optional",
        "torch tensors as inputs, without a copy; the compiler does not use it",
        "pip install torch",
    ),
    Part(
        "nvcc",
        "optional",
        "nothing in this version, which has no GPU target",
        "the CUDA toolkit",
        programs=("nvcc",),
    ),
)


def examine(parts: tuple[Part, ...] = PARTS) -> list[Finding]:
    """Look every part up; nothing is imported or changed. Programs are asked for their version."""
    return [_program(part) if part.programs else _package(part) for part in parts]


def _finding(part: Part, status: Literal["ok", "missing", "broken"], found: str) -> Finding:
    return Finding(part.name, part.group, status, found, part.gives, part.install)


def _package(part: Part) -> Finding:
    try:
        version = metadata.version(part.name)
    except metadata.PackageNotFoundError:
        return _finding(part, "missing", "not installed")
    numbers = tuple(int(digits) for digits in re.findall(r"\d+", version)[: len(part.minimum)])
    if numbers < part.minimum:
        wanted = ".".join(map(str, part.minimum))
        return _finding(part, "broken", f"{version} is too old, {wanted} or newer is needed")
    return _finding(part, "ok", version)


def _program(part: Part) -> Finding:
    for name in part.programs:
        # A virtual environment that is used without being activated is not on PATH.
        path = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
        if path:
            return _finding(part, "ok", _version_of(name, path))
    return _finding(part, "missing", f"none of: {', '.join(part.programs)}")


def _version_of(name: str, path: str) -> str:
    flag = "-V" if "dot" in name or "graphviz" in name else "--version"
    try:
        answer = subprocess.run(
            [path, flag], capture_output=True, text=True, timeout=10, check=False, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{name}, which does not answer {flag}: {error}"
    lines = (answer.stdout + answer.stderr).strip().splitlines()
    numbered = [line for line in lines if re.search(r"\d+\.\d+", line)]
    return f"{name}: {numbered[0].strip()}" if numbered else name


@dataclass(frozen=True)
class LlvmCheck:
    """The host as LLVM sees it, and whether a function could be compiled and run."""

    version: str
    cpu: str
    vectors: str
    milliseconds: float


_TWICE = """
define i64 @twice(i64 %x) {
  %y = add i64 %x, %x
  ret i64 %y
}
"""


def check_llvm() -> LlvmCheck:
    """Compile a function for this CPU and run it; raises what llvmlite raises if that fails."""
    import llvmlite.binding as llvm_untyped

    llvm: Any = llvm_untyped  # llvmlite has no type information
    start = time.perf_counter()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=cpu, features=features.flatten(), opt=2, reloc="pic", codemodel="default"
    )
    module = llvm.parse_assembly(_TWICE, llvm.create_context())
    module.verify()
    compiler = llvm.create_lljit_compiler(machine)
    builder = llvm.JITLibraryBuilder().add_object_img(machine.emit_object(module))
    library = builder.export_symbol("twice").link(compiler, "workbench-doctor")
    twice = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library["twice"])
    if twice(21) != 42:
        raise RuntimeError(f"compiled code is wrong: twice(21) gave {twice(21)}")
    return LlvmCheck(
        version=".".join(map(str, llvm.llvm_version_info)),
        cpu=cpu,
        vectors=describe_vectors(dict(features)),
        milliseconds=(time.perf_counter() - start) * 1e3,
    )


def _sections(findings: list[Finding]) -> Iterator[str]:
    width = max(len(finding.name) for finding in findings)
    for group, title in _TITLES.items():
        members = [finding for finding in findings if finding.group == group]
        if not members:
            continue
        yield f"\n{title}"
        for finding in members:
            yield f"  {finding.status:<8}{finding.name:<{width}}  {finding.found}"
            if finding.status != "ok":
                yield f"  {'':8}{'':{width}}  would give: {finding.gives}"
                yield f"  {'':8}{'':{width}}  to get it:  {finding.install}"


def _verdict(findings: list[Finding], llvm_error: str) -> str:
    bad = [finding.name for finding in findings if finding.fatal]
    if bad:
        return f"The compiler cannot work: {', '.join(bad)}. To get it: {_CORE}"
    if llvm_error:
        return f"The compiler cannot work: LLVM failed a first function ({llvm_error})."
    missing = [finding.name for finding in findings if finding.status != "ok"]
    if missing:
        return f"The compiler works. Not there, and not needed for that: {', '.join(missing)}."
    return "The compiler works, and nothing is missing."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `workbench doctor`."""
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")


def run(options: argparse.Namespace, write: Callable[[str], None] = print) -> int:
    """Print the findings; 1 if the compiler cannot work here, else 0."""
    findings = examine()
    machine = describe_machine()
    llvm: LlvmCheck | None = None
    llvm_error = ""
    if not any(finding.fatal for finding in findings):
        try:
            llvm = check_llvm()
        except Exception as error:  # whatever LLVM raises is the finding
            llvm_error = f"{type(error).__name__}: {error}"
    verdict = _verdict(findings, llvm_error)
    if options.json:
        facts = {
            "machine": asdict(machine),
            "llvm": asdict(llvm) if llvm else None,
            "llvm_error": llvm_error or None,
            "parts": [asdict(finding) for finding in findings],
            "verdict": verdict,
        }
        write(json.dumps(facts, indent=2))
    else:
        write("Machine")
        write(f"  system     {machine.system}")
        write(f"  python     {machine.python}")
        write(f"  processor  {machine.processor}")
        if llvm:
            write(f"  vectors    {llvm.vectors}")
        write(f"  threads    {machine.usable} usable of {machine.cores}")
        if machine.memory_gib is not None:
            write(f"  memory     {machine.memory_gib:.1f} GiB")
        if llvm:
            write(f"  LLVM       {llvm.version} for {llvm.cpu}; first function compiled and run in")
            write(f"             {llvm.milliseconds:.0f} ms")
        for line in _sections(findings):
            write(line)
        write(f"\n{verdict}")
    return 1 if llvm is None else 0
