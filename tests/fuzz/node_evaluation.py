"""What a node gives, by onnxruntime without optimisations, else by the evaluator of the onnx package.

Where the list of disagreements says that onnxruntime leaves the standard, or where it has no kernel, the other answers.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
from disagreements import REFERENCE, RUNTIME, misjudges
from onnx import ModelProto, NodeProto, helper
from onnx.reference import ReferenceEvaluator
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NoKernelError  # type: ignore[import-untyped]

Array = np.ndarray[Any, Any]
Inputs = Sequence[Array | None]

IR_VERSION = 13


class NoAnswerError(Exception):
    """No judge gives a meaning to the node and its data."""


def evaluate(node: NodeProto, inputs: Inputs, opset: int) -> list[Array]:
    """The outputs of a node that have names. Raises NoAnswerError where no judge knows them."""
    if not misjudges(RUNTIME, node, inputs, opset) and all(a is None or a.dtype.kind != "V" for a in inputs):
        try:
            return by_onnxruntime(node, inputs, opset)
        except NoKernelError:
            pass
    if misjudges(REFERENCE, node, inputs, opset):
        raise NoAnswerError(f"{node.op_type}: no judge follows the standard here")
    return by_reference(node, inputs, opset)


def by_onnxruntime(node: NodeProto, inputs: Inputs, opset: int) -> list[Array]:
    """In one thread. Raises NoKernelError where it has none for these types, NoAnswerError for what it refuses."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    model, given = _alone(node, inputs, opset)
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return [np.asarray(result) for result in session.run(None, given)]
    except NoKernelError:
        raise
    except Exception as error:  # its classes have no base but this one
        if "No corresponding Numpy type" in str(error):
            raise NoKernelError(str(error)) from error
        raise NoAnswerError(f"onnxruntime: {_brief(error)}") from error


def by_reference(node: NodeProto, inputs: Inputs, opset: int) -> list[Array]:
    """Raises NoAnswerError for whatever it raises, and for numbers that become integers which can't hold them."""
    model, given = _alone(node, inputs, opset)
    try:
        with np.errstate(all="warn"), warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            results = ReferenceEvaluator(model).run(None, given)
    except Exception as error:  # it may fail in any way
        raise NoAnswerError(f"reference: {type(error).__name__}: {_brief(error)}") from error
    if any("invalid value encountered in cast" in str(w.message) for w in warned):
        raise NoAnswerError("reference: a number becomes an integer of a type that can't hold it")
    return [np.asarray(result) for result in results]


def _alone(node: NodeProto, inputs: Inputs, opset: int) -> tuple[ModelProto, dict[str, Array]]:
    """A model of one node, and the arrays that it takes by name."""
    given = {name: a for name, a in zip(node.input, inputs, strict=True) if a is not None}
    types = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for name, a in given.items()
    ]
    outputs = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
    graph = helper.make_graph([node], "node", types, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR_VERSION), given


def _brief(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]
