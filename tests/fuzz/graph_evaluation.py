"""What a graph gives, node by node: as the judges of a node say, or computed in float64 and rounded after each node.

Random factors of some units in the last place, put on every number, show how far rounding alone may lead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from disagreements import REFERENCE, misjudges
from node_evaluation import Array, Inputs, NoAnswerError, by_reference, evaluate
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, numpy_helper

Scope = dict[str, Array]
EvaluateNode = Callable[[NodeProto, Inputs], list[Array]]
MOST_ITERATIONS = 16
"""Of a loop without a count."""
_NARROW = frozenset({TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.FLOAT})
_LINEAR = frozenset({
    "AveragePool", "Col2Im", "Conv", "ConvTranspose", "CumSum", "Einsum", "Gemm", "GlobalAveragePool", "GridSample",
    "MatMul", "Mean", "ReduceMean", "ReduceSum", "Sum",
})  # fmt: skip
"""Operators that sum products: of the magnitudes of their inputs they give the sums of the magnitudes."""
_SHAPING = {"Resize": 1, "Range": 0}
"""Operators with floating-point inputs that decide a shape, and the first of these."""
_TYPE_ATTRIBUTES = frozenset({"to", "dtype", "output_dtype", "output_datatype"})


@dataclass(frozen=True, slots=True)
class Noise:
    """Errors of every number: random ones of up to a unit in the last place, or as large ones as may be.

    The latter are of `units` units, each above or below: what one noise puts above, that of the other `sign` puts
    below. Types of 16 bits have one unit, as nothing is computed in them.
    """

    seed: int
    units: float | None = None
    sign: int = 1


class _Errors:
    """The errors of one noise, drawn one after the other."""

    def __init__(self, noise: Noise) -> None:
        self._noise = noise
        self._rng = np.random.default_rng(noise.seed)

    def of(self, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
        """In units in the last place of a type."""
        if self._noise.units is None:
            return self._rng.uniform(-1, 1, shape)
        units = self._noise.units if dtype.itemsize > 2 else 1.0
        return self._noise.sign * units * self._rng.choice((-1.0, 1.0), shape)


def is_float(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f" or dtype.name == "bfloat16"


def unit_of(dtype: np.dtype[Any]) -> float:
    """The distance from 1 to the next number of a type of floating point."""
    return {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}[dtype.name]


def opset_of(model: ModelProto) -> int:
    return next(entry.version for entry in model.opset_import if entry.domain in {"", "ai.onnx"})


def judged(model: ModelProto, inputs: Scope) -> Scope:
    """All values of the main graph, and by their names those that bodies had first. Raises NoAnswerError."""
    opset = opset_of(model)
    return _Walk(lambda node, given: evaluate(node, given, opset), lambda name, array: array).run(model.graph, inputs)


def rounded(model: ModelProto, inputs: Scope, values: Scope, noise: Noise | None, loss: float = 0.0) -> Scope:
    """Likewise of the graph with nodes computed in float64 and rounded to the types of `values`.

    With noise, each number, each sum within a node and each position where a node samples data is off. A convolution
    may lose `loss` beside its weights' magnitudes times its largest input.
    """
    opset = opset_of(model)
    errors = None if noise is None else _Errors(noise)

    def finish(name: str, array: Array) -> Array:
        dtype = values[name].dtype if name in values else array.dtype
        if not is_float(dtype):
            return array
        wide = _wide(array)
        if errors is not None:
            wide = wide * (1 + unit_of(dtype) * errors.of(wide.shape, dtype))
        return np.asarray(wide.astype(dtype))

    def node_in_double(node: NodeProto, given: Inputs) -> list[Array]:
        if node.op_type in _SHAPING:
            first = _SHAPING[node.op_type]
            exact = [values.get(name, a) for name, a in zip(node.input, given, strict=True)]
            given = [*given[:first], *exact[first:]]
        wide = [None if a is None else _wide(a) for a in given]

        def answer(arrays: Inputs) -> list[Array]:
            """In float64, or in the node's own types where only a judge in these follows the standard."""
            if not misjudges(REFERENCE, node, given, opset):
                with suppress(NoAnswerError):
                    return by_reference(_wide_node(node), arrays, opset)
            own = [None if g is None else np.asarray(a, g.dtype) for a, g in zip(arrays, given, strict=True)]
            return evaluate(node, own, opset)

        if errors is not None and node.op_type == "GridSample":  # a position rounds beside the extent, from -1 on
            grid = wide[1]
            wide[1] = grid + unit_of(given[1].dtype) * (np.abs(grid) + 1) * errors.of(grid.shape, given[1].dtype)
        results = answer(wide)
        dtypes = [values[name].dtype for name in node.output if name in values]
        if errors is None or not dtypes or not is_float(dtypes[0]):
            return results
        within = _rounding_within(node, wide, answer, max(unit_of(dtypes[0]), unit_of(np.dtype(np.float64))), loss)
        return [
            _wide(r) + within * errors.of(r.shape, dtypes[0])
            if is_float(r.dtype) and (i == 0 or np.ndim(within) == 0)
            else r
            for i, r in enumerate(results)
        ]

    with np.errstate(all="ignore"):
        return _Walk(node_in_double, finish).run(model.graph, {n: finish(n, a) for n, a in inputs.items()})


def _rounding_within(
    node: NodeProto, wide: Inputs, answer: Callable[[Inputs], list[Array]], unit: float, loss: float
) -> Array | float:
    """What rounding of sums within a node may come to, with inputs in float64."""
    unit = 4 * min(unit, unit_of(np.dtype(np.float32)))
    sizes = [a if a is None or a.dtype.kind != "f" else np.abs(a) for a in wide]
    match node.op_type:
        case "Conv" if loss:
            largest = np.full_like(sizes[0], np.max(sizes[0], initial=0.0))
            (sums,) = answer([largest, *sizes[1:]])
            return (unit + loss) * _wide(sums)
        case "Resize":  # a position rounds beside the extent that it counts along
            (sums,) = answer(sizes)
            return unit * max(sizes[0].shape) * np.abs(_wide(sums))
        case operator if operator in _LINEAR:
            (sums,) = answer(sizes)
            return unit * np.abs(_wide(sums))
        case "LSTM" | "GRU" | "RNN":  # their activations lie between -1 and 1
            return unit
        case "Gelu":  # x (1 + erf(x / sqrt 2)) / 2, where both terms may cancel
            return unit * sizes[0]
        case "BatchNormalization":  # x a + (bias - mean a), of which terms may cancel
            _, scale, bias, mean, variance = sizes
            return unit * (bias + mean * scale / np.sqrt(variance)).reshape(-1, *[1] * (sizes[0].ndim - 2))
        case "GroupNormalization" | "InstanceNormalization":
            return unit * sizes[2].reshape(-1, *[1] * (sizes[0].ndim - 2))
        case "LayerNormalization" if len(sizes) > 2:
            return unit * sizes[2]
        case "DFT":
            return unit * float(sizes[0].sum())
        case "Det":
            return unit * float(np.max(np.prod(np.linalg.norm(sizes[0], axis=-1), axis=-1), initial=0.0))
        case _:
            return 0.0


class _Walk:
    def __init__(self, node: EvaluateNode, finish: Callable[[str, Array], Array]) -> None:
        self._evaluate = node
        self._finish = finish

    def run(self, graph: GraphProto, scope: Scope) -> Scope:
        """All values of a graph and of its surroundings."""
        scope = dict(scope)
        for tensor in graph.initializer:
            scope[tensor.name] = self._finish(tensor.name, numpy_helper.to_array(tensor))
        for node in graph.node:
            bodies = {a.name: a.g for a in node.attribute if a.type == AttributeProto.GRAPH}
            given = [scope[name] if name else None for name in node.input]
            names = [name for name in node.output if name]
            match node.op_type:
                case "If":
                    results = self._branch(
                        bodies["then_branch" if scope[node.input[0]].item() else "else_branch"], scope, {}
                    )
                case "Loop":
                    results = self._loop(given, bodies["body"], scope)
                case "Scan":
                    results = self._scan(given, node, bodies["body"], scope)
                case _:
                    results = self._evaluate(node, given)
            if bodies:
                results = [r for r, name in zip(results, node.output, strict=True) if name]
            scope.update({name: self._finish(name, r) for name, r in zip(names, results, strict=True)})
        return scope

    def _branch(self, body: GraphProto, scope: Scope, given: Scope) -> list[Array]:
        """What a body gives with values `given` to it alone, in a scope that keeps all its values."""
        inner = self.run(body, {**scope, **given})
        scope.update({name: a for name, a in inner.items() if name not in scope})
        return [inner[value.name] for value in body.output]

    def _iteration(self, body: GraphProto, given: Sequence[Array], scope: Scope) -> list[Array]:
        return self._branch(body, scope, {value.name: a for value, a in zip(body.input, given, strict=True)})

    def _loop(self, given: Inputs, body: GraphProto, scope: Scope) -> list[Array]:
        most, start, *state = given
        goes_on = start is None or bool(start.item())
        rows: list[list[Array]] = []
        for i in range(MOST_ITERATIONS if most is None else int(most.item())):
            if not goes_on:
                break
            again, *results = self._iteration(body, [np.array(i, np.int64), np.array(goes_on), *state], scope)
            goes_on, state = bool(again.item()), results[: len(state)]
            rows.append(results[len(state) :])
        return [*state, *_stacked(rows)]

    def _scan(self, given: Inputs, node: NodeProto, body: GraphProto, scope: Scope) -> list[Array]:
        """Along the first axes, forwards: no other Scan is drawn."""
        carried = len(given) - next(a.i for a in node.attribute if a.name == "num_scan_inputs")
        state, sources = list(given[:carried]), given[carried:]
        rows: list[list[Array]] = []
        for i in range(len(sources[0])):
            results = self._iteration(body, [*state, *(source[i] for source in sources)], scope)
            state = results[:carried]
            rows.append(results[carried:])
        return [*state, *_stacked(rows)]


def _stacked(rows: Sequence[Sequence[Array]]) -> list[Array]:
    if not rows:
        raise NoAnswerError("no iteration tells the shape of what is stacked")
    return [np.stack(column) for column in zip(*rows, strict=True)]


def _wide(array: Array) -> Array:
    return array.astype(np.float64) if is_float(array.dtype) else array


def _wide_node(node: NodeProto) -> NodeProto:
    """The node as it is in a graph whose floating point is float64."""
    wide = NodeProto()
    wide.CopyFrom(node)
    for attribute in wide.attribute:
        if attribute.name in _TYPE_ATTRIBUTES and attribute.i in _NARROW:
            attribute.i = TensorProto.DOUBLE
        if attribute.type == AttributeProto.TENSOR and attribute.t.data_type in _NARROW:
            attribute.t.CopyFrom(numpy_helper.from_array(_wide(numpy_helper.to_array(attribute.t))))
    return wide
