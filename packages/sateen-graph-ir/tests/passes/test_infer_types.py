"""Pass infer_types."""

import pytest

from sateen.graph_ir.ir import TensorType, Value
from sateen.graph_ir.passes.infer_types import infer_types, with_inputs
from sateen.runtime.errors import InferenceError

TEXT = "input %x: float32[?n, 2]\ninput %k: float32[3, 1]\n%a = relu(%x)\n%y = concat(%a, %x) {axis=1}\noutput %y"


def test_types_follow_the_inputs(parse):
    graph = parse(TEXT)
    x, k = graph.inputs
    changed = with_inputs(graph, (Value("x", TensorType.of("float64", (4, 2))), k))
    assert [str(v.type) for n in changed.nodes for v in n.outputs] == ["float64[4, 2]", "float64[4, 4]"]
    assert x not in changed.inputs


def test_types_that_agree_leave_the_graph_as_it_is(check_unchanged):
    check_unchanged(infer_types, TEXT)


def test_sizes_that_do_not_fit_are_refused(parse):
    graph = parse("input %x: float32[?n]\ninput %k: float32[?n]\n%y = add(%x, %k)\noutput %y")
    sizes = [Value(v.name, TensorType.of("float32", (n,))) for v, n in zip(graph.inputs, (3, 4), strict=True)]
    with pytest.raises(InferenceError) as caught:
        with_inputs(graph, sizes)
    assert caught.value.__notes__ == ["  %x: float32[3]", "  %k: float32[4]"]
