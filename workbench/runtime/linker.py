"""Object files → shared library, with whatever linker the machine has."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from workbench.core.errors import WorkbenchError


class LinkError(WorkbenchError, RuntimeError):
    """No linker was found, or it refused the input."""


def _linkers() -> list[list[str]]:
    """Command prefixes of the usable linkers, quickest first."""
    found: list[list[str]] = []
    if path := shutil.which("ld"):
        found.append([path])
    found += [[path] for name in ("gcc", "cc", "clang") if (path := shutil.which(name))]
    if importlib.util.find_spec("ziglang") is not None:
        found.append([sys.executable, "-m", "ziglang", "ld.lld"])
    return found


def link_shared(output: str | Path, objects: Sequence[bytes | str | Path]) -> Path:
    """Links objects (bytes or paths) into the shared library `output` and returns its path.

    Tries `ld`, then the C compilers, then the LLD inside the `ziglang` package.
    Raises `LinkError` with each tool's message if none succeeds.
    """
    return _link(output, objects, "-shared")


def link_relocatable(output: str | Path, objects: Sequence[bytes | str | Path]) -> Path:
    """Joins objects into one object file; a single one is written as it is.

    Raises `LinkError` like `link_shared`.
    """
    if len(objects) == 1 and isinstance(objects[0], bytes):
        Path(output).write_bytes(objects[0])
        return Path(output)
    return _link(output, objects, "-r")


def _link(output: str | Path, objects: Sequence[bytes | str | Path], mode: str) -> Path:
    output = Path(output)
    output.parent.mkdir(parents=True, exist_ok=True)
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        paths: list[str] = []
        for number, item in enumerate(objects):
            if isinstance(item, bytes):
                path = Path(folder) / f"part{number}.o"
                path.write_bytes(item)
                paths.append(str(path))
            else:
                paths.append(str(item))
        made = Path(folder) / "out.so"
        for command in _linkers():
            done = subprocess.run(
                [*command, mode, "-o", str(made), *paths],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode == 0:
                partial = output.with_name(output.name + ".partial")
                shutil.copyfile(made, partial)
                partial.replace(output)
                return output
            failures.append(f"{' '.join(command)}: {done.stderr.strip()}")
    if not failures:
        raise LinkError(
            f"cannot write {output.name}: no linker found (looked for ld, gcc, cc, clang, ziglang)",
            hint="pip install ziglang, or install binutils",
        )
    raise LinkError(f"cannot link {output.name}:\n" + "\n".join(failures))
