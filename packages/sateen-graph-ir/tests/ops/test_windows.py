"""Attributes of windows: what spells out their defaults is left out, once it is known to be right."""

import pytest

from sateen.graph_ir.ir import GraphBuilder, Problem, TensorType, parse_problem
from sateen.graph_ir.ops import (
    OPS,
    AveragePool,
    Conv,
    ConvTranspose,
    DeformableColumns,
    MaxPool,
    MaxPoolIndices,
    Relu,
    WinogradConv,
)
from sateen.runtime import InferenceError

SPELT_OUT = {"strides": (1, 1), "pads": (0, 0, 0, 0), "dilations": (1, 1)}


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (Conv(**SPELT_OUT, groups=2), Conv(groups=2)),
        (Conv((1, 1), (1, 1, 1, 1), (1, 1)), Conv(pads=(1, 1, 1, 1))),
        (ConvTranspose(**SPELT_OUT, output_padding=(0, 0)), ConvTranspose()),
        (WinogradConv(4, 1, (0, 0, 0, 0)), WinogradConv(4, 1)),
        (MaxPool((2, 2), **SPELT_OUT), MaxPool((2, 2))),
        (MaxPoolIndices((1, 1), **SPELT_OUT), MaxPoolIndices((1, 1))),
        (AveragePool((2, 2), **SPELT_OUT), AveragePool((2, 2))),
        (DeformableColumns((3, 3), **SPELT_OUT), DeformableColumns((3, 3))),
    ],
    ids=lambda op: op.op_name(),
)
def test_attributes_that_spell_out_their_defaults_are_left_out(told, expected):
    assert told.canonical() == expected
    assert expected.canonical() is expected


@pytest.mark.parametrize(
    "op", [Conv((1, 2)), Conv(pads=(0, 0, 0, 1)), Conv(dilations=(2, 2)), MaxPool((1, 1), (2, 1)), Relu()], ids=str
)
def test_others_stay(op):
    assert op.canonical() is op


def test_nodes_have_the_canonical_form():
    g = GraphBuilder("net")
    x, w = g.input("x", "float32", (1, 4, 8, 8)), g.input("w", "float32", (4, 4, 3, 3))
    g.output(g.add(Conv((1, 1), (1, 1, 1, 1), (1, 1)), x, w, name="y"))
    assert "%y: float32[1, 4, 8, 8] = conv(%x, %w) {pads=(1, 1, 1, 1)}" in str(g.finish())


def test_wrong_numbers_are_refused_before_they_are_left_out():
    g = GraphBuilder("net")
    x, w = g.input("x", "float32", (1, 4, 8, 8)), g.input("w", "float32", (4, 4, 3, 3))
    with pytest.raises(InferenceError, match=r"^conv: expects 2 strides, found \[1\]"):
        g.add(Conv(strides=(1,)), x, w)


def test_operators_that_mean_the_same_are_one_problem():
    types = tuple(TensorType.of("float32", shape) for shape in ((1, 4, 8, 8), (4, 4, 3, 3)))
    problem = Problem(Conv((1, 1), (1, 1, 1, 1), (1, 1)), types)
    assert problem == Problem(Conv(pads=(1, 1, 1, 1)), types)
    assert str(problem) == "conv(float32[1, 4, 8, 8], float32[4, 4, 3, 3]) {pads=(1, 1, 1, 1)}"
    assert parse_problem(str(problem).replace("{", "{strides=(1, 1), "), OPS) == problem
