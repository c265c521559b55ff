"""The evaluator of the onnx package as a judge, completed with large gathers, softmax before operator set 13, and
operators of installed packages, as te defines them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper
from onnx.defs import get_schema
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from sateen.frontends.core.inputs import Bindings
from sateen.frontends.onnx.custom import operator_named
from sateen.frontends.onnx.importer import import_onnx
from sateen.frontends.onnx.loading import load_onnx
from sateen.frontends.onnx.peers import ONNXRUNTIME
from sateen.graph_ir.ir import Array, OpSet
from sateen.graph_ir.judge import interpret
from sateen.graph_ir.ops import installed_operators
from sateen.runtime.errors import FrontendError


def reference(path: Path, keep: Sequence[str] = ()) -> Callable[[Mapping[str, Array]], dict[str, Array]]:
    """A function from inputs to outputs and the inner values in `keep`, computed node by node, slowly."""
    model = onnx.load(path)
    evaluator = ReferenceEvaluator(model, new_ops=operators_of(model))
    names = {*evaluator.output_names, *keep}

    def run(inputs: Mapping[str, Array]) -> dict[str, Array]:
        results: Any = evaluator.run(None, dict(inputs), intermediate=True)
        return {name: value for name, value in results.items() if name in names}

    return run


def usual_judge(path: Path) -> str:
    """The judge of a model if the user names none: onnxruntime knows no operators of installed packages."""
    return "reference" if ONNXRUNTIME.missing or has_brought_operators(load_onnx(path).proto) else "onnxruntime"


def value_names(path: Path) -> list[str]:
    """The values that the nodes of the main graph compute, in order."""
    return [name for node in load_onnx(path).proto.graph.node for name in node.output if name]


def operators_of(model: onnx.ModelProto) -> list[type[OpRun]]:
    """The operators that the evaluator lacks for a model's operator set, or computes for small tensors only."""
    version = max((o.version for o in model.opset_import if o.domain in {"", "ai.onnx"}), default=1)
    known = installed_operators(OpSet.of())
    kinds = sorted({(node.domain, node.op_type) for node in model.graph.node})
    brought = [
        type(kind, (ByDefinition,), {"known": known, "op_domain": domain})
        for domain, kind in kinds
        if operator_named(known, domain, kind)
    ]
    return [GatherElements, *([Softmax, LogSoftmax, Hardmax] if version < 13 else []), *brought]


def has_brought_operators(model: onnx.ModelProto) -> bool:
    """Whether a model uses operators of installed packages, which other engines do not know."""
    known = installed_operators(OpSet.of())
    return any(operator_named(known, node.domain, node.op_type) for node in model.graph.node)


class ByDefinition(OpRun):
    """An operator of a package, evaluated in float64 as te defines it, as a separate network."""

    known: OpSet
    op_domain: str

    def _run(self, *inputs: Array | None, **_: Any) -> tuple[Array, ...]:
        node = onnx.NodeProto()
        node.CopyFrom(self.onnx_node)
        given = {name: a for name, a in zip(node.input, inputs, strict=False) if a is not None}
        types = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for name, a in given.items()
        ]
        names = [name for name in node.output if name]
        outputs = [helper.make_empty_tensor_value_info(name) for name in names]
        graph = helper.make_graph([node], node.op_type, types, outputs)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(self.op_domain, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        network, report = import_onnx(load_onnx(model), Bindings(), self.known)
        if network is None:
            raise FrontendError(str(report))
        values = interpret(network, given)
        return tuple(values[name] for name in names)


class GatherElements(OpRun):
    """The standard operator for any number of elements along the axis; the evaluator's own is limited to 64."""

    op_domain = ""
    op_schema = get_schema("GatherElements", 13)

    def _run(self, data: Array, indices: Array, axis: int | None = None) -> tuple[Array]:
        along = (axis or 0) % data.ndim
        part = tuple(slice(None) if d == along else slice(n) for d, n in enumerate(indices.shape))
        return (np.take_along_axis(data[part], indices, along),)


class _OfRows(OpRun, ABC):
    """The input is a matrix, whose columns begin at `axis` (ONNX Softmax-11)."""

    op_domain = ""

    def _run(self, x: Array, axis: int) -> tuple[Array]:
        rows = x.reshape(prod(x.shape[: axis + x.ndim if axis < 0 else axis]), -1)
        return (self.of_rows(rows).astype(x.dtype).reshape(x.shape),)

    @abstractmethod
    def of_rows(self, x: Array) -> Array:
        """The result for a matrix, each of whose rows is normalised."""


class Softmax(_OfRows):
    op_schema = get_schema("Softmax", 11)

    def of_rows(self, x: Array) -> Array:
        powers = np.exp(x - x.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))


class LogSoftmax(_OfRows):
    op_schema = get_schema("LogSoftmax", 11)

    def of_rows(self, x: Array) -> Array:
        shifted = x - x.max(axis=1, keepdims=True)
        return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))


class Hardmax(_OfRows):
    op_schema = get_schema("Hardmax", 11)

    def of_rows(self, x: Array) -> Array:
        return np.asarray(np.arange(x.shape[1]) == x.argmax(axis=1)[:, None])
