"""Recurrent layers; the values of all cells are tested in sateen-topi."""

import re

import numpy as np
import pytest

from sateen.graph_ir import build
from sateen.graph_ir.ir import GraphBuilder, Problem, TensorType
from sateen.graph_ir.ops import GRU, LSTM, RNN
from sateen.graph_ir.records import Record, Records
from sateen.runtime import Target, load
from sateen.runtime.errors import InferenceError
from sateen.tensor_ir import Machine

RANDOM = np.random.default_rng(0)
STEPS, BATCH, FEATURES, HIDDEN = 3, 2, 4, 5


def normal(*shape):
    return (RANDOM.standard_normal(shape) * 0.3).astype("float32")


def operands(gates, directions=1):
    width = gates * HIDDEN
    return [normal(STEPS, BATCH, FEATURES), normal(directions, width, FEATURES), normal(directions, width, HIDDEN)]


def test_rnn_in_both_directions(check_op):
    x, weight, recurrence = operands(1, 2)
    bias = normal(2, 2 * HIDDEN)
    y = np.zeros((STEPS, 2, BATCH, HIDDEN))
    last = np.zeros((2, BATCH, HIDDEN))
    for d in range(2):
        for t in range(STEPS)[:: 1 - 2 * d]:
            fed = x[t] @ weight[d].T + last[d] @ recurrence[d].T + bias[d, :HIDDEN] + bias[d, HIDDEN:]
            y[t, d] = last[d] = np.maximum(fed, 0)
    op = RNN(HIDDEN, "bidirectional", ("Relu", "Relu"))
    check_op(op, [x, weight, recurrence, bias], [y.astype("float32"), last.astype("float32")])


@pytest.mark.parametrize("target", ["llvm", "llvm -mcpu=x86-64", "opencl"])
def test_networks_with_layers_of_float64_compile(target):
    """In the layouts of weights that each machine chooses."""
    graph = GraphBuilder("double")
    x, w, r = (graph.input(name, "float64", shape) for name, shape in (("x", (2, 1, 5)), ("w", (1, 160, 5)),
                                                                       ("r", (1, 160, 40))))  # fmt: skip
    hidden, *_ = graph.add_all(LSTM(hidden_size=40), x, w, r)
    graph.output(hidden)
    assert str(build(graph.finish(), target).outputs[0].dtype) == "float64"


@pytest.mark.parametrize(("layer", "gates"), [(LSTM, 4), (GRU, 3), (RNN, 1)])
def test_tiles_are_a_choice_and_recurrent_weights_have_their_panels(layer, gates):
    g = GraphBuilder("chosen")
    x = g.input("x", "float32", (STEPS, BATCH, FEATURES))
    w, r = (g.parameter(name, normal(1, gates * 200, n)) for name, n in (("w", FEATURES), ("r", 200)))
    y, *_ = g.add_all(layer(200), x, w, r)
    g.output(y)
    graph, machine = g.finish(), Machine.of("llvm")
    (node,) = graph.nodes
    problem = Problem.of(node)
    methods = [c.method for c in problem.candidates(machine)]
    for method in methods:
        choice, *_ = node.op.layouts_by(method, problem.inputs, problem.outputs, machine)
        assert choice.inputs[2].block_of(1) == method.vectors * machine.lanes()
    untuned, first, last = (
        build(graph, records=Records([Record(str(Target.host()), problem, m, 1e-6) for m in measured]), shipped=False)
        for measured in ((), methods[:1], methods[-1:])
    )
    assert untuned.code == first.code != last.code
    data = {"x": normal(STEPS, BATCH, FEATURES)}
    found, expected = (load(artifact).run(data) for artifact in (last, untuned))
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name].numpy(), array.numpy())


def test_lstm_and_gru_infer_their_states():
    y = TensorType.of("float32", (STEPS, 1, BATCH, HIDDEN))
    state = TensorType.of("float32", (1, BATCH, HIDDEN))
    assert LSTM(HIDDEN).infer(*types(operands(4))) == (y, state, state)
    assert GRU(HIDDEN).infer(*types(operands(3))) == (y, state)


def types(arrays):
    return [TensorType.of(str(a.dtype), a.shape) for a in arrays]


@pytest.mark.parametrize(
    ("op", "message"),
    [
        (LSTM(HIDDEN, "backward"), "expects a direction of forward, reverse, bidirectional, found 'backward'"),
        (LSTM(7), "expects weight float32[1, 28, 4], found float32[1, 20, 4]"),
        (LSTM(HIDDEN, activations=("Tanh",)), "expects 3 activations, found 1"),
        (LSTM(HIDDEN, activations=("Tanh", "Tanh", "Step")), "found 'Step'"),
        (LSTM(HIDDEN, clip=-1.0), "expects a clip above 0, found -1.0"),
    ],
)
def test_attributes_that_don_t_fit_are_refused(op, message):
    with pytest.raises(InferenceError, match=re.escape(message)):
        op.infer(*types(operands(4)))


def test_operands_that_don_t_fit_are_refused():
    given = types(operands(4))
    with pytest.raises(InferenceError, match=re.escape("expects bias float32[1, 40], found float32[1, 20]")):
        LSTM(HIDDEN).infer(*given, TensorType.of("float32", (1, 20)))
    with pytest.raises(InferenceError, match=re.escape("expects lengths of integers [2], found float32[2]")):
        LSTM(HIDDEN).infer(*given, None, TensorType.of("float32", (2,)))
    with pytest.raises(InferenceError, match="expects float32 or float64, found float16"):
        LSTM(HIDDEN).infer(*(TensorType.of("float16", t.shape) for t in given))
