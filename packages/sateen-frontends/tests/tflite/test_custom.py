"""Custom operators, whose options are maps of FlexBuffers."""

from dataclasses import dataclass

import numpy as np
import pytest

from sateen.frontends import check, from_tflite
from sateen.frontends.tflite.flexbuffers import read_map
from sateen.graph_ir import OPS, interpret
from sateen.runtime.errors import FrontendError
from sateen.tensor_ir import te
from sateen.topi import Computation, Operator, compute


@dataclass(frozen=True, slots=True)
class Affine(Operator):
    """x · scale, limited if asked; `word` says nothing."""

    name = "Acme.Affine"
    scale: float
    limited: bool = False
    word: str = ""
    sizes: tuple[int, ...] = ()

    def infer(self, x):
        return (x,)

    def compute(self, x, *, outputs):
        def element(*index):
            return te.minimum(x(*index) * self.scale, 1.0) if self.limited else x(*index) * self.scale

        return Computation((compute(x.shape, element, "affine"),))


OPERATORS = OPS.with_ops(Affine)


def test_entries_of_a_map_are_read_within_bounds(flex_map):
    entries = {"flag": True, "list": [3, -4], "number": -70000, "real": 0.5, "text": "abc", "void": None}
    data = flex_map(entries)
    assert read_map(data) == {**entries, "list": (3, -4)}
    for length in range(len(data)):
        with pytest.raises(FrontendError, match="options of a custom operator"):
            read_map(data[:length])


def _custom(model, operator, options):
    x, y = model.tensor("x", (2,)), model.tensor("y", (2,))
    model.node(operator, [x], [y], custom=options)
    model.inputs, model.outputs = [x], [y]
    return model.bytes()


def test_options_go_to_the_fields_of_their_names(model, flex_map):
    options = flex_map({"limited": True, "scale": 3.0, "sizes": [1, 2], "word": "w"})
    graph, _ = from_tflite(_custom(model, "Acme>Affine", options), operators=OPERATORS)
    assert [node.op for node in graph.nodes] == [Affine(3.0, True, "w", (1, 2))]
    np.testing.assert_array_equal(interpret(graph, {"x": np.array([-1, 2], np.float32)})["y"], [-3, 1])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"size": 3.0}, "Acme.Affine has no attribute 'size'; its attributes are limited, scale, sizes, word"),
        (b"", "Acme.Affine needs attribute 'scale'; its attributes are limited, scale, sizes, word"),
        ({"scale": None}, "option 'scale' is neither a number, text nor a vector of numbers"),
        (b"text", "expected options of a custom operator as a map of FlexBuffers, found other data"),
    ],
)
def test_options_that_do_not_fit_are_gaps(model, flex_map, options, text):
    data = options if isinstance(options, bytes) else flex_map(options)
    report = check(_custom(model, "Acme>Affine", data), operators=OPERATORS)
    assert [gap.reason for gap in report.gaps] == [text]


def test_an_operator_that_nobody_brings_is_a_gap(model):
    with pytest.raises(FrontendError, match=r"custom.Affine.*\n.*\n.*bring the operator"):
        from_tflite(_custom(model, "Affine", b""), operators=OPERATORS)
