"""Object code on disk, found by the hash of what it was made from.

One file per entry, written beside its place and renamed, so a reader never sees half of one; each
carries its own digest, so a damaged one is compiled again. The folder is
`$WORKBENCH_CACHE_DIR`, else `$XDG_CACHE_HOME/workbench`, else `~/.cache/workbench`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path
from typing import Any

#: Changed when the meaning of an entry changes.
VERSION = 1
LIMIT_BYTES = 256 << 20
_DIGEST = 32
_pruned: set[Path] = set()


def folder() -> Path:
    """Where the entries are."""
    own = os.environ.get("WORKBENCH_CACHE_DIR")
    if own:
        return Path(own) / "objects"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "workbench" / "objects"


def key_of(text: str, machine: str, version: Any) -> str:
    """The name of the entry made from a text for a machine by a version of LLVM."""
    digest = hashlib.sha256()
    for part in (str(VERSION), repr(version), machine, text):
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()


def load(key: str) -> bytes | None:
    """The object code, or None if there is none (or it is damaged)."""
    try:
        data = (folder() / key[:2] / f"{key}.o").read_bytes()
    except OSError:
        return None
    body = data[_DIGEST:]
    return body if body and hashlib.sha256(body).digest() == data[:_DIGEST] else None


def store(key: str, obj: bytes) -> None:
    """Keeps object code. A folder that cannot be written means no cache, not an error."""
    place = folder() / key[:2]
    with contextlib.suppress(OSError):
        place.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=place, suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(obj).digest())
                file.write(obj)
            Path(name).replace(place / f"{key}.o")
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise
        _prune(folder())


def _prune(root: Path) -> None:
    """Once per process: drops the oldest entries if the folder has grown above the limit."""
    if root in _pruned:
        return
    _pruned.add(root)
    entries = sorted((p.stat().st_mtime, p.stat().st_size, p) for p in root.glob("*/*.o"))
    total = sum(size for _, size, _ in entries)
    for _, size, path in entries:
        if total <= LIMIT_BYTES:
            break
        path.unlink(missing_ok=True)
        total -= size
