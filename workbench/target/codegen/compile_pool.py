"""Compiling many functions at once: helper processes beside this one.

llvmlite holds one lock around LLVM, so threads do not help. A helper is a plain child process that
reads jobs from its standard input and ends when that closes: it never imports the user's main
module (scripts need no guard, notebooks work) and cannot outlive this process. Whatever a helper
does not finish is compiled here, which also reports the errors.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

from workbench.runtime.threads import num_threads
from workbench.target.codegen.compile import Compiled, cached, compile_ir, keep
from workbench.target.codegen.machine import Machine, machine_of
from workbench.target.target import Target

#: Starting a helper takes as long as compiling about this many functions.
MIN_FUNCTIONS = 16
_MOST_HELPERS = 7
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from workbench.target.codegen.compile_pool import serve; serve()"
)


@dataclass(eq=False)
class Job:
    """One text to be compiled; `result` once it is."""

    text: str
    machine: Machine
    level: int
    use_cache: bool
    result: Compiled | None = None


class CompilePool:
    """Compiles texts in the order in which they are added, by helpers and by `finish`."""

    def __init__(self, target: Target, helpers: int) -> None:
        self.machine = machine_of(target)
        self.level = int(target.get("opt-level", 3))
        self.use_cache = bool(target.get("cache", True))
        self.waiting: deque[Job] = deque()
        self.changed = threading.Condition()
        self.closed = False
        self.threads = [
            threading.Thread(target=self._drive, name=f"compile-{n}", daemon=True)
            for n in range(helpers)
        ]
        self.started = False

    def add(self, text: str) -> Job:
        """Queues a text; object code kept from earlier is taken at once."""
        job = Job(text, self.machine, self.level, self.use_cache)
        job.result = cached(text, self.machine, self.level) if self.use_cache else None
        if job.result is None:
            with self.changed:
                self.waiting.append(job)
                self.changed.notify()
            if not self.started:
                self.started = True
                for thread in self.threads:
                    thread.start()
        return job

    def finish(self, jobs: list[Job]) -> list[Compiled]:
        """Helps until the queue is empty, and gives the results. Raises CodegenError."""
        try:
            while (job := self._next(wait=False)) is not None:
                job.result = compile_ir(job.text, job.machine, job.level, use_cache=job.use_cache)
        finally:
            self.close()
        for job in jobs:
            if job.result is None:  # its helper failed
                job.result = compile_ir(job.text, job.machine, job.level, use_cache=job.use_cache)
        return [job.result for job in jobs if job.result is not None]

    def close(self) -> None:
        """No more work: helpers finish the text they are at, and end."""
        with self.changed:
            self.closed = True
            self.waiting.clear()
            self.changed.notify_all()
        for thread in self.threads if self.started else ():
            thread.join()

    def _next(self, wait: bool = True) -> Job | None:
        with self.changed:
            while wait and not self.waiting and not self.closed:
                self.changed.wait()
            return self.waiting.popleft() if self.waiting else None

    def _drive(self) -> None:
        """The life of one helper, seen from here."""
        with _helper() as helper:
            if helper is None:
                return
            source, sink = helper
            while (job := self._next()) is not None:
                try:
                    _send(sink, (job.text, job.machine, job.level))
                    answer = _receive(source)
                except (OSError, EOFError, pickle.UnpicklingError):
                    return  # it died; `finish` compiles what it had
                if answer is not None:
                    obj, seconds = answer
                    job.result = Compiled(job.text, job.machine, job.level, obj, False, seconds)
                    if job.use_cache:
                        keep(job.result)


def helpers_for(functions: int) -> int:
    """How many helper processes are worth starting."""
    if functions < MIN_FUNCTIONS or not sys.executable:
        return 0
    return min(num_threads() - 1, functions // MIN_FUNCTIONS, _MOST_HELPERS)


@contextlib.contextmanager
def _helper() -> Iterator[tuple[IO[bytes], IO[bytes]] | None]:
    """A helper's output and input; None if no process can be started. It has ended afterwards."""
    command = [sys.executable, "-c", _START, json.dumps(sys.path)]
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )
    except OSError:
        yield None
        return
    assert process.stdin is not None and process.stdout is not None
    try:
        yield process.stdout, process.stdin
    finally:
        with contextlib.suppress(OSError):
            process.stdin.close()
        process.stdout.close()
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _send(sink: IO[bytes], value: Any) -> None:
    data = pickle.dumps(value)
    sink.write(len(data).to_bytes(8, "little") + data)
    sink.flush()


def _receive(source: IO[bytes]) -> Any:
    head = source.read(8)
    size = int.from_bytes(head, "little")
    data = source.read(size)
    if len(head) < 8 or len(data) < size:
        raise EOFError("the other process has ended")
    return pickle.loads(data)


def serve() -> None:
    """The helper: compiles what comes in until there is no more. A refused text answers None."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing else may write among the answers
    while True:
        try:
            text, machine, level = _receive(source)
        except EOFError:
            return
        try:
            made = compile_ir(text, machine, level, use_cache=False)
            answer = (made.obj, made.seconds)
        except RuntimeError:
            answer = None
        try:
            _send(sink, answer)
        except BrokenPipeError:
            return


__all__ = ["MIN_FUNCTIONS", "CompilePool", "Job", "helpers_for", "serve"]
