"""Fixtures that import, compile and run a single node."""

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from sateen import frontends, runtime
from sateen.graph_ir.compile import build

Array = np.ndarray[Any, Any]


def _model(operator: str, inputs: dict[str, Array], outputs: int, opset: int, attributes: Any) -> onnx.ModelProto:
    given = ["" if name.startswith("_") else name for name in inputs]
    node = helper.make_node(operator, given, [f"y{i}" for i in range(outputs)], **attributes)
    declared = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(data.dtype), data.shape)
        for name, data in inputs.items()
        if not name.startswith("_")
    ]
    results = [helper.make_empty_tensor_value_info(f"y{i}") for i in range(outputs)]
    graph = helper.make_graph([node], "net", declared, results)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


@pytest.fixture
def run_node() -> Callable[..., list[Array]]:
    """run_node(operator, inputs, ...): what a node gives; see `_run_node`."""
    return _run_node


def _run_node(
    operator: str,
    inputs: dict[str, Array],
    *,
    bound: tuple[str, ...] = (),
    outputs: int = 1,
    opset: int = 23,
    **attributes: Any,
) -> list[Array]:
    """The outputs of a node whose inputs called `bound` are constants; an input whose name begins with _ is absent."""
    model = _model(operator, inputs, outputs, opset, attributes)
    graph, params = frontends.from_onnx(model, constants={name: inputs[name] for name in bound})
    found = runtime.load(build(graph, params=params)).run({v.name: inputs[v.name] for v in graph.inputs})
    return [found[f"y{i}"].numpy() for i in range(outputs)]


@pytest.fixture
def reference() -> Callable[..., list[Array]]:
    """reference(operator, inputs, ...): what the evaluator of the onnx package gives for a node."""

    def evaluated(
        operator: str, inputs: dict[str, Array], *, outputs: int = 1, opset: int = 23, **attributes: Any
    ) -> list[Array]:
        given = {name: data for name, data in inputs.items() if not name.startswith("_")}
        results = ReferenceEvaluator(_model(operator, inputs, outputs, opset, attributes)).run(None, given)
        return [np.asarray(result) for result in results]

    return evaluated
