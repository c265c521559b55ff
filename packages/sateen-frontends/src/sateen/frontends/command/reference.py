"""The evaluator of the onnx package as a judge, with what it lacks: large gathers, softmax before operator set 13."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx.defs import get_schema
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from sateen.graph_ir.graph import Array


def reference(path: Path, keep: Sequence[str] = ()) -> Callable[[Mapping[str, Array]], dict[str, Array]]:
    """A function from inputs to outputs and the values within that `keep` names, computed node by node, slowly."""
    model = onnx.load(path)
    evaluator = ReferenceEvaluator(model, new_ops=operators_of(model))
    names = {*evaluator.output_names, *keep}

    def run(inputs: Mapping[str, Array]) -> dict[str, Array]:
        results: Any = evaluator.run(None, dict(inputs), intermediate=True)
        return {name: value for name, value in results.items() if name in names}

    return run


def operators_of(model: onnx.ModelProto) -> list[type[OpRun]]:
    """What the evaluator lacks for a model's operator set, or computes for small tensors only."""
    version = max((o.version for o in model.opset_import if o.domain in {"", "ai.onnx"}), default=1)
    return [GatherElements, *([Softmax, LogSoftmax, Hardmax] if version < 13 else [])]


class GatherElements(OpRun):
    """The standard operator for any number of elements along the axis; the evaluator's own ends at 64."""

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
