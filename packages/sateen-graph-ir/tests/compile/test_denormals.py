"""What a network does with subnormal numbers is chosen when it is built, and holds on all of its threads."""

from __future__ import annotations

import numpy as np
import pytest

from sateen.graph_ir.compile import build
from sateen.graph_ir.ir import Graph, GraphBuilder
from sateen.graph_ir.ops import MatMul, Multiply
from sateen.runtime import ArgumentError, CodegenError, load

SMALL, LARGE = np.float32(1e-20), np.float32(1e30)
ROWS, DEPTH = 256, 64


def network() -> Graph:
    """Products that may be subnormal numbers, and a multiple of their sums."""
    g = GraphBuilder("net")
    x, factor = g.input("x", "float32", (ROWS, DEPTH)), g.input("factor", "float32", (1,))
    w = g.parameter("w", np.full((DEPTH, DEPTH), SMALL))
    sums = g.add(MatMul(), x, w, name="sums")
    g.output(g.add(Multiply(), sums, factor, name="y"))
    return g.finish()


INPUTS = {"x": np.full((ROWS, DEPTH), SMALL), "factor": np.array([LARGE])}


def test_denormals_are_kept_unless_they_are_to_be_flushed() -> None:
    kept, flushed = build(network()), build(network(), denormals="flush")
    assert (kept.options, flushed.options) == ({}, {"denormals": "flush"})
    assert kept.to_bytes() == build(network(), denormals="keep").to_bytes()
    expected = DEPTH * float(SMALL) ** 2 * float(LARGE)
    np.testing.assert_allclose(load(kept).run(INPUTS)["y"].numpy(), expected, rtol=1e-3)
    np.testing.assert_array_equal(load(flushed).run(INPUTS)["y"].numpy(), 0)


@pytest.mark.parametrize("denormals", ["keep", "flush"])
def test_the_number_of_threads_changes_no_bit(denormals: str) -> None:
    artifact = build(network(), denormals=denormals)
    x = np.where(np.arange(ROWS * DEPTH).reshape(ROWS, DEPTH) % 3, SMALL, np.float32(1e-18))
    one, all_ = (load(artifact, threads=threads).run({**INPUTS, "x": x})["y"].numpy() for threads in (1, 0))
    assert one.tobytes() == all_.tobytes()


def test_a_saved_artifact_says_that_it_flushes(tmp_path) -> None:
    build(network(), denormals="flush").save(tmp_path / "net.sateen")
    model = load(tmp_path / "net.sateen")
    assert model.artifact.options["denormals"] == "flush"
    np.testing.assert_array_equal(model.run(INPUTS)["y"].numpy(), 0)


def test_another_choice_is_refused() -> None:
    with pytest.raises(ArgumentError, match="expected denormals keep or flush, found 'zero'"):
        build(network(), denormals="zero")


def test_an_architecture_whose_code_can_not_flush_is_refused() -> None:
    with pytest.raises(CodegenError, match="run: expected denormals to be kept, found denormals flush"):
        build(network(), "llvm -mtriple=riscv64-unknown-linux-gnu", denormals="flush")
