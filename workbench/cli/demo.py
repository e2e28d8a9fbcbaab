"""`workbench demo`: the whole path once, on the digits CNN that ships with the package.

Import, compile, check against held-out labels and the ONNX reference evaluator, time, report; then
JupyterLab on the tour. Every step says how long it took; a check that fails stops the demo with
status 1, because a wrong result that is fast would be no demonstration.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.cli.lab import LabError, open_lab
from workbench.cli.progress import Progress
from workbench.models import digits

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CheckError", "Demonstration", "demonstrate"]

TOLERANCE = 1e-4  # of the largest value
BATCHES = (1, 7)  # besides the whole held-out set; none is known when compiling
_NOTEBOOK = "00_tour.ipynb"


class CheckError(RuntimeError):
    """The compiled model does not do what it should; the message says what was found."""


@dataclass
class Demonstration:
    """Everything the demo made and measured, for the report."""

    model: Any
    module: Any
    executable: Any
    trace: Any
    timing: Any
    correct: int
    images: int
    differences: dict[int, float]
    compile_seconds: float

    @property
    def accuracy(self) -> float:
        """Share of held-out images that were recognised."""
        return self.correct / self.images


def _check(vm: Any, model: Any, images: NDArray[np.float32]) -> dict[int, float]:
    """By batch size: the difference from the ONNX reference evaluator, by the largest value."""
    from onnx.reference import ReferenceEvaluator

    reference = ReferenceEvaluator(model)
    found: dict[int, float] = {}
    for batch in (*BATCHES, len(images)):
        x = images[:batch]
        expected: Any = reference.run(None, {"image": x})
        difference = np.abs(vm["main"](x).numpy() - expected[0]).max() / np.abs(expected[0]).max()
        found[batch] = float(difference)
        if not difference <= TOLERANCE:  # also catches NaN
            raise CheckError(
                f"batch {batch}: differs from the ONNX reference evaluator by {difference:.1e} of "
                f"the largest value; at most {TOLERANCE:g} is right"
            )
    return found


def demonstrate(progress: Progress) -> Demonstration:
    """Import, compile, check and time the digits CNN. Raises `CheckError` if a result is wrong."""
    with progress.step("import workbench and onnx"):
        import onnx

        import workbench as wb
        from workbench import relax
        from workbench.relax.frontend.onnx import from_onnx

    with progress.step("import the digits CNN") as step:
        model = onnx.load(digits.model_path("cnn"))
        module = from_onnx(model)
        step.result = f"{len(model.graph.node)} ONNX nodes, batch size free"
    with progress.step("compile for this processor") as step:
        executable = wb.compile(module, target="llvm")
        vm = relax.VirtualMachine(executable, wb.cpu())
        compile_seconds = step.seconds
        step.result = f"stages: {', '.join(stage.name for stage in executable.stages)}"
    images, labels = digits.load_heldout()
    with progress.step("check on images it never saw") as step:
        correct = int((vm["main"](images).numpy().argmax(axis=1) == labels).sum())
        expected = digits.metrics()["cnn"]["accuracy"]
        step.result = f"{correct} of {len(images)} right ({correct / len(images):.2%})"
        if correct / len(images) < expected - 1.5 / len(images):
            raise CheckError(f"{step.result}; the training script measured {expected:.2%}")
    with progress.step("check against the ONNX reference") as step:
        differences = _check(vm, model, images)
        step.result = f"largest difference {max(differences.values()):.0e} of the largest value"
    with progress.step("record the passes") as step:
        # The passes over single kernels come after these; with them the report would be 20 MB.
        trace = wb.trace(module, relax.get_pipeline("default"))
        step.result = f"{len(trace)} passes, {len(trace.changed)} of them changed something"
    with progress.step("time the kernels") as step:
        timing = wb.time(executable, images[:1])
        step.result = str(timing).splitlines()[0]
    return Demonstration(
        model=model,
        module=module,
        executable=executable,
        trace=trace,
        timing=timing,
        correct=correct,
        images=len(images),
        differences=differences,
        compile_seconds=compile_seconds,
    )


def find_tour(out: Path, here: Path) -> Path:
    """The tour notebook to open: the one of a checkout in `here`, else a copy in `out`.

    An existing copy is kept, since its reader may have worked in it.
    """
    checkout = here / "notebooks" / _NOTEBOOK
    if checkout.is_file():
        return checkout
    package = Path(__file__).parent.parent
    # Installed, the notebooks lie in the package; in an editable install, beside it.
    sources = (package / "notebooks" / _NOTEBOOK, package.parent / "notebooks" / _NOTEBOOK)
    source = next((path for path in sources if path.is_file()), None)
    if source is None:
        raise LabError(f"this installation has no {_NOTEBOOK}; install it again")
    copy = out / "notebooks" / _NOTEBOOK
    if not copy.exists():
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
    return copy


def _port(text: str) -> int:
    """A port number of an option; refused before any work is done."""
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"expected a port from 1 to 65535, got {text!r}")
    return int(text)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `workbench demo`."""
    parser.add_argument("--headless", action="store_true", help="stop after the report")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("workbench-demo"),
        metavar="DIR",
        help="folder of the report (default: %(default)s)",
    )
    parser.add_argument("--port", type=_port, default=8888, help="of JupyterLab (default 8888)")
    parser.add_argument("--no-browser", action="store_true", help="print the address only")


def run(options: argparse.Namespace) -> int:
    """Do the demo; 1 with a message on standard error if a check or JupyterLab fails."""
    out: Path = options.out
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        print(f"workbench demo: cannot write to {out}: {error.strerror}", file=sys.stderr)
        return 1
    progress = Progress(8)
    try:
        shown = demonstrate(progress)
        with progress.step("write the report") as step:
            from workbench.cli.report import write_report

            step.result = str(write_report(shown, out / "report.html"))
        if options.headless:
            return 0
        tour = find_tour(out, Path.cwd())
        return open_lab(tour, port=options.port, browser=not options.no_browser)
    except (CheckError, LabError) as error:
        print(f"workbench demo: {error}", file=sys.stderr)
        return 1
