"""The facts about this computer that stand beside measured numbers."""

import pytest

from workbench.inspect.machine import describe_machine, describe_vectors


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        ({"avx512f": True, "avx2": True, "avx512bf16": True}, "AVX-512 (BF16): 16 float32"),
        ({"avx512f": False, "avx2": True, "fma": True}, "AVX2 (FMA): 8 float32"),
        ({"neon": True}, "NEON: 4 float32"),
        ({}, "no vector unit"),
    ],
)
def test_vectors(features, expected):
    assert expected in describe_vectors(features)


def test_machine_line_names_processor_and_cores():
    machine = describe_machine()
    assert machine.processor in machine.line()
    assert f"{machine.usable} of {machine.cores}" in machine.line()
