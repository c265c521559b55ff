"""What becomes of a model: refused, or compiled, run and compared with what other evaluators compute.

onnxruntime judges first, then the evaluator of the onnx package as it is and in float64. A result is right if one of
them agrees, or if it is as near to float64 as onnxruntime's is.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from guarded_memory import guarded
from onnx import AttributeProto, ModelProto, TensorProto, numpy_helper
from onnx.defs import get_schema
from onnx.reference import ReferenceEvaluator

from sateen.frontends import from_onnx
from sateen.frontends.command.comparison import AS_FAR, tolerance_of
from sateen.graph_ir.compile import build
from sateen.graph_ir.ir import Symbol
from sateen.graph_ir.judge import difference
from sateen.runtime import Artifact, load
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError, SateenError
from sateen.tensor_ir import ObjectCache

Array = np.ndarray[Any, Any]

MOST_BYTES = 1 << 26
"""Of the inputs, outputs and workspace of a model that is run."""
MOST_REPORT = 1 << 16
"""Characters of an error that a user may be shown."""
EXTENT = 3
"""Of dimensions that a model leaves open."""
_RIGHT_SINCE = {"AveragePool": 7, "OneHot": 1 << 31}
"""Operator sets before which the evaluator of the onnx package is wrong: it counts padding, which onnx's own version
converter does not; and it takes indices of floating point as they are, where the standard makes them integers first."""
RUNTIME_OPSET, RUNTIME_IR = 26, 13
"""The newest that the judge onnxruntime takes."""
NEAR = 1e-6
"""Difference between a model and a neutral mutant of it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What sateen makes of a model: `kind` is refused, late (refused behind the frontend), large, run or fault."""

    kind: str
    text: str = ""
    inputs: dict[str, Array] = field(default_factory=dict)
    outputs: dict[str, Array] = field(default_factory=dict)


class Compiler:
    """Reads, compiles and runs models, keeping object code."""

    def __init__(self, cache: Path) -> None:
        self._cache = ObjectCache(cache)

    def examine(self, model: bytes, files: Mapping[str, bytes], seed: int) -> Outcome:
        """A model in a folder with other files, run on inputs that the seed draws, then on hostile ones."""
        try:
            with TemporaryDirectory() as folder:
                place = Path(folder, "model.onnx")
                for name, content in ((place.name, model), *files.items()):
                    Path(folder, name).write_bytes(content)
                graph, parameters = self._read(place if files or seed % 7 == 0 else model)
        except FrontendError as error:
            return _refusal("refused", error)
        try:
            artifact = build(graph, params=parameters, cache=self._cache)
        except SateenError as error:
            return _refusal("late", error)
        sizes = [prod(map(int, p.shape)) * p.dtype.bytes for p in (*artifact.inputs, *artifact.outputs)]
        if sum(sizes) + artifact.workspace_bytes > MOST_BYTES:
            return Outcome("large", str(sum(sizes) + artifact.workspace_bytes))
        inputs = drawn_inputs(artifact, seed, _usual)
        outputs = _run(artifact, inputs)
        _run(artifact, drawn_inputs(artifact, seed, _hostile))
        return Outcome("run", "", inputs, outputs)

    def _read(self, source: Path | bytes) -> tuple[Any, Any]:
        """The graph, with open dimensions bound."""
        graph, parameters = from_onnx(source)
        symbols = {d.name for value in graph.inputs for d in value.type.shape if isinstance(d, Symbol)}
        return from_onnx(source, dims=dict.fromkeys(symbols, EXTENT)) if symbols else (graph, parameters)


def _refusal(kind: str, error: SateenError) -> Outcome:
    """A refusal, if its words can be shown."""
    words = error.report()
    unfit = sorted({c for c in words if not c.isprintable() and c != "\n"})
    if unfit or len(words) > MOST_REPORT:
        return Outcome("fault", f"an error of {len(words)} characters with {unfit}: {words[:300]!r}")
    return Outcome(kind, words)


def _run(artifact: Artifact, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs for inputs behind each of which lies memory that nothing may read."""
    given = {name: guarded(array, at_end=True) for name, array in inputs.items()}
    return {name: np.array(array.numpy()) for name, array in load(artifact, threads=1).run(given).items()}


Draw = Callable[[np.random.Generator, tuple[int, ...], np.dtype[Any]], Array]


def drawn_inputs(artifact: Artifact, seed: int, draw: Draw) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    return {p.name: draw(rng, tuple(map(int, p.shape)), p.dtype.numpy) for p in artifact.inputs}


def _usual(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Normally distributed numbers; integers that may be indices."""
    if dtype.kind in "iu":
        return rng.integers(0, 3, shape).astype(dtype)
    return rng.integers(0, 2, shape).astype(bool) if dtype.kind == "b" else rng.standard_normal(shape).astype(dtype)


def _hostile(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Numbers that are no indices, no sizes and no arguments of functions."""
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        low, high = int(bounds.min), int(bounds.max)
        return rng.choice(np.array([low, high, high // 2, max(low, -5), 0, 1, 5, 100], dtype), shape)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    with np.errstate(all="ignore"):
        return rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e38, -1e38, 1e-45], shape).astype(dtype)


def verdict(model: bytes, inputs: Mapping[str, Any], found: Mapping[str, Array]) -> tuple[str, str]:
    """Whether a result is right, by which judge: ("right", judge), ("wrong", how), ("unjudged", why), or ("undefined",
    why) where a judge says that ONNX gives these data no meaning."""
    if _has_odd_length(ModelProto.FromString(model), inputs):
        return "undefined", "a sequence is empty or longer than its data"
    remarks, by_judge = [], {}
    for name, judge in (("onnxruntime", by_onnxruntime), ("reference", by_reference), ("double", in_double)):
        try:
            with np.errstate(all="warn"), warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                by_judge[name] = judge(model, inputs)
        except UndefinedError as error:
            return "undefined", str(error)
        except Exception as error:  # noqa: BLE001  # a judge may fail in any way on a damaged model
            remarks.append(f"{name}: {type(error).__name__}: {' '.join(str(error).split())[:200]}")
            continue
        wrong = disagreement(found, by_judge[name])
        if not wrong:
            return "right", name
        if any("invalid value encountered in cast" in str(w.message) for w in warned):
            return "undefined", "a number becomes an integer that its type can't hold"
        remarks.append(f"{name}: {wrong}")
    if not by_judge:
        return "unjudged", "; ".join(remarks)
    if {"onnxruntime", "double"} <= by_judge.keys() and _is_near(found, by_judge["onnxruntime"], by_judge["double"]):
        return "right", "being as near to double as onnxruntime"
    return "wrong", "; ".join(remarks)


def _has_odd_length(model: ModelProto, inputs: Mapping[str, Any]) -> bool:
    """Whether an input gives a recurrent layer a length of which the standard says nothing: 0, or beyond the time."""
    for node in model.graph.node:
        x, lengths = ([*node.input, *[""] * 5][i] for i in (0, 4))
        if node.op_type in {"LSTM", "GRU", "RNN"} and {x, lengths} <= inputs.keys():
            batch_first = any(a.name == "layout" and a.i == 1 for a in node.attribute)
            if not np.all((inputs[lengths] > 0) & (inputs[lengths] <= inputs[x].shape[batch_first])):
                return True
    return False


def disagreement(found: Mapping[str, Array], expected: Mapping[str, Any]) -> str:
    """The first output that differs by more than its type allows; '' if none does."""
    for name, ours in found.items():
        theirs = _narrowed(np.asarray(expected[name]), ours)
        apart = difference(ours, theirs)
        if apart.largest > tolerance_of(DType.of(ours.dtype)):
            types = f"{ours.dtype}{list(ours.shape)}, {theirs.dtype}{list(theirs.shape)} expected"
            return f"{name!r} differs by {apart.overall:.2g}, locally by {apart.local:.2g}: {types}"
    return ""


def _narrowed(theirs: Array, ours: Array) -> Array:
    """Float64 as the float type of ours."""
    return theirs.astype(ours.dtype) if theirs.dtype == np.float64 and ours.dtype.kind in "fV" else theirs


def _is_near(found: Mapping[str, Array], runtime: Mapping[str, Any], exact: Mapping[str, Any]) -> bool:
    """Whether every output is at most four times as far from float64 as onnxruntime's is."""
    return all(
        (off := difference(ours, _narrowed(np.asarray(exact[name]), ours))).largest < np.inf
        and off.is_within(difference(np.asarray(runtime[name]), _narrowed(np.asarray(exact[name]), ours)), AS_FAR)
        for name, ours in found.items()
    )


class UndefinedError(Exception):
    """What an evaluator raises for data that its operator can't work with, such as an index out of range."""


def by_onnxruntime(model: bytes, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Raises UndefinedError where onnxruntime takes the model, but not the data."""
    import onnxruntime  # noqa: PLC0415  # only the process that judges starts its threads

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(_known(model), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    try:
        return dict(zip(names, session.run(names, dict(inputs)), strict=True))
    except Exception as error:  # its classes have no base but this one
        raise UndefinedError(f"onnxruntime: {' '.join(str(error).split())[:200]}") from error


def _known(model: bytes) -> bytes:
    """The model in an operator set that onnxruntime knows, where its operators have not changed since."""
    proto = ModelProto.FromString(model)
    for entry in proto.opset_import:
        if entry.domain in {"", "ai.onnx"} and entry.version > RUNTIME_OPSET:
            since = [get_schema(node.op_type, entry.version).since_version for node in proto.graph.node]
            if max(since) <= RUNTIME_OPSET:
                entry.version = RUNTIME_OPSET
    proto.ir_version = min(proto.ir_version, RUNTIME_IR)
    return proto.SerializeToString()


def by_reference(model: bytes, inputs: Mapping[str, Any]) -> dict[str, Any]:
    proto = ModelProto.FromString(model)
    opset = next((entry.version for entry in proto.opset_import if entry.domain in {"", "ai.onnx"}), 0)
    for node in proto.graph.node:
        if opset < _RIGHT_SINCE.get(node.op_type, 0):
            raise NotImplementedError(f"{node.op_type} of opset {opset} is not evaluated as the standard says")
    evaluator = ReferenceEvaluator(proto)
    return dict(zip(evaluator.output_names, evaluator.run(None, dict(inputs)), strict=True))


def in_double(model: bytes, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """All float32 data and computation in float64."""
    proto = ModelProto.FromString(model)
    pending = [proto.graph]
    nodes = [node for function in proto.functions for node in function.node]
    while pending:
        graph = pending.pop()
        nodes.extend(graph.node)
        for tensor in graph.initializer:
            _widen(tensor)
        pending.extend(a.g for node in graph.node for a in node.attribute if a.type == AttributeProto.GRAPH)
    for node in nodes:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.TENSOR:
                _widen(attribute.t)
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.DOUBLE
    wide = {name: a.astype(np.float64) if a.dtype == np.float32 else a for name, a in inputs.items()}
    return by_reference(proto.SerializeToString(), wide)


def _widen(tensor: TensorProto) -> None:
    if tensor.data_type == TensorProto.FLOAT:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))


def unequal(outputs: Sequence[Array], originals: Sequence[Array]) -> str:
    """How the first outputs of a neutral mutant differ from those of its model; '' if they do not."""
    for index, (ours, expected) in enumerate(zip(outputs, originals, strict=False)):
        apart = difference(ours, expected).overall
        if apart > NEAR:
            return f"output {index} differs by {apart:.2g} from what the model gave before"
    return ""
