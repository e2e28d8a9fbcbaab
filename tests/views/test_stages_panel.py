"""The links from operators to loops to assembly lines, on a compiled model."""

import numpy as np
import pytest

from workbench import driver, te
from workbench.core.errors import WorkbenchError
from workbench.runtime.executable import Executable
from workbench.s_tir.build import build
from workbench.views.panel import quiet
from workbench.views.panels import panel_of
from workbench.views.render_text import to_text
from workbench.views.stages_panel import StagesPanel


@pytest.fixture(scope="module")
def panel():
    a = te.placeholder((64,), name="A")
    b = te.compute((64,), lambda i: a[i] * 3.0, name="B")
    return StagesPanel(build(te.create_prim_func([a, b])))


def test_every_assembly_line_is_linked_to_a_line_of_its_own_kernel(panel):
    (kernel,) = panel.kernels.values()
    linked = {p for n in kernel.asm for p in panel.asm.line_map.get(n, ())}
    assert linked and linked <= set(kernel.loops)
    store = next(n for n in kernel.loops if "* T.float32(3.0)" in panel.loop_text[n - 1].text)
    words = [
        panel.asm_text[n - 1].text for n in kernel.asm if store in panel.asm.line_map.get(n, ())
    ]
    assert any("mul" in word for word in words), words
    answer = panel.answer("kernel", {"name": kernel.name}, quiet())
    assert f'data-id="L{store}' in answer["loops"] and f"L{store}" in answer["asm"]
    assert ".cfi" not in answer["asm"]


def test_operators_of_a_model_lead_to_loops():
    onnx = pytest.importorskip("onnx")
    from workbench.models import digits
    from workbench.relax.frontend.onnx import from_onnx

    made = StagesPanel(driver.compile(from_onnx(onnx.load(digits.model_path("mlp"))), "llvm"))
    told = [name for kernel in made.kernels.values() for name in kernel.operators]
    assert any(name.startswith("Gemm") for name in told), told
    for kernel in made.kernels.values():
        named = {one for n in kernel.loops for one in made.line_operators.get(n, ())}
        assert named <= set(kernel.operators)
    assert {args["name"] for _, args in made.requests()} == set(made.kernels)
    pinned = to_text(made.pinned({"name": next(iter(made.kernels))}))
    assert "# line " in pinned


def test_unknown_kernels_and_loaded_programs_are_refused(panel):
    with pytest.raises(ValueError, match="no kernel 'nope'"):
        panel.answer("kernel", {"name": "nope"}, quiet())
    with pytest.raises(WorkbenchError, match="no stages"):
        panel_of(Executable(panel.exe.mod))


def test_the_page_is_the_same_for_the_same_program(tmp_path, panel):
    first = panel.exe.export_html(tmp_path / "a.html").read_bytes()
    assert first == panel.exe.export_html(tmp_path / "b.html").read_bytes()
    assert np.char.count(first.decode(), "http://").item() == first.decode().count(
        "http://www.w3.org/2000/svg"
    )
