"""Small Caffe2 models, by the messages of the reader's own schema."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from sateen import frontends, runtime
from sateen.frontends.caffe2.schemas.net_pb2 import Argument, Net, Operator
from sateen.graph_ir.compile import build

Array = np.ndarray[Any, Any]


def _operator(type_: str, inputs: Sequence[str], outputs: Sequence[str], **arguments: Any) -> Operator:
    """An operator; a float, an int, text, integers or floats as arguments."""
    op = Operator(type=type_, input=inputs, output=outputs)
    for name, value in arguments.items():
        match value:
            case float():
                op.arg.append(Argument(name=name, f=value))
            case int():
                op.arg.append(Argument(name=name, i=value))
            case str():
                op.arg.append(Argument(name=name, s=value.encode()))
            case np.ndarray():
                op.arg.append(Argument(name=name, floats=value.ravel().tolist()))
            case _:
                op.arg.append(Argument(name=name, ints=value))
    return op


def _init(**weights: Array) -> bytes:
    """An init net with these weights, and a place for x."""
    ops = [_operator("GivenTensorFill", [], [name], shape=a.shape, values=a) for name, a in weights.items()]
    return Net(name="init", op=[*ops, _operator("ConstantFill", [], ["x"], shape=[1])]).SerializeToString()


@pytest.fixture
def operator() -> Callable[..., Operator]:
    """operator(type, inputs, outputs, argument=value, …)"""
    return _operator


@pytest.fixture
def init() -> Callable[..., bytes]:
    """init(weight=array, …): the bytes of an init net."""
    return _init


@pytest.fixture
def run() -> Callable[..., dict[str, Array]]:
    """run(operators, inputs, outputs, weight=array, …): what a net gives."""

    def run_net(
        ops: Sequence[Operator], inputs: Mapping[str, Array], outputs: Sequence[str], **weights: Array
    ) -> dict[str, Array]:
        net = Net(name="net", op=ops, external_output=outputs).SerializeToString()
        shapes = {name: array.shape for name, array in inputs.items()}
        graph, params = frontends.from_caffe2(net, _init(**weights), shapes=shapes)
        found = runtime.load(build(graph, params=params)).run(dict(inputs))
        return {name: array.numpy() for name, array in found.items()}

    return run_net
