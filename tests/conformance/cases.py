"""The cases of ONNX's backend tests: models with inputs and the outputs that they must give."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.loader import load_model_tests

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")
"""All but `real`, whose networks are large; tests/test_onnx_models.py reads these."""

SHAPE_DECIDING: Mapping[str, tuple[int, ...]] = {
    "AffineGrid": (1,),
    "BlackmanWindow": (0,),
    "CenterCropPad": (1,),
    "Col2Im": (1, 2),
    "Compress": (1,),
    "ConstantOfShape": (0,),
    "CumProd": (1,),
    "CumSum": (1,),
    "DFT": (1, 2),
    "Dropout": (1, 2),
    "Expand": (1,),
    "HammingWindow": (0,),
    "HannWindow": (0,),
    "If": (0,),
    "Loop": (0, 1),
    "MaxUnpool": (2,),
    "MelWeightMatrix": (0, 1, 2, 3, 4),
    "OneHot": (1,),
    "Pad": (1, 3),
    "Range": (0, 1, 2),
    "ReduceL1": (1,),
    "ReduceL2": (1,),
    "ReduceLogSum": (1,),
    "ReduceLogSumExp": (1,),
    "ReduceMax": (1,),
    "ReduceMean": (1,),
    "ReduceMin": (1,),
    "ReduceProd": (1,),
    "ReduceSum": (1,),
    "ReduceSumSquare": (1,),
    "Reshape": (1,),
    "Resize": (1, 2, 3),
    "STFT": (1, 3),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "SplitToSequence": (1,),
    "Squeeze": (1,),
    "Tile": (1,),
    "TopK": (1,),
    "Trilu": (1,),
    "Unsqueeze": (1,),
    "Upsample": (1,),
}
"""The inputs, by position, of which an operator's output takes its shape or its axes, or that choose what is run."""


@dataclass(frozen=True, slots=True)
class Data:
    """Inputs in the order of the graph, and the outputs that they give."""

    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """One backend test. `operator` is what it is a test of, for a function's body the function, else its kind;
    `deciding` names inputs of the graph that decide shapes."""

    name: str
    operator: str
    source: TestCase
    deciding: tuple[str, ...]

    def model(self) -> onnx.ModelProto:
        if self.source.model is not None:
            return self.source.model
        return onnx.load(Path(self.source.model_dir or "") / "model.onnx")

    def data(self, model: onnx.ModelProto) -> Iterator[Data]:
        if self.source.data_sets is not None:
            for inputs, outputs in self.source.data_sets:
                yield Data(tuple(map(_array, inputs)), tuple(map(_array, outputs)))
            return
        for folder in sorted(Path(self.source.model_dir or "").glob("test_data_set*")):
            yield Data(
                _stored(folder, "input", [value.type for value in model.graph.input]),
                _stored(folder, "output", [value.type for value in model.graph.output]),
            )


def load_cases() -> dict[str, Case]:
    """All cases by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cases compute logarithms of negative numbers and the like
        sources = [source for kind in KINDS for source in load_model_tests(kind=kind)]
    plain = {source.name: source for source in sources}
    return {source.name: _case(source, plain) for source in sorted(sources, key=lambda source: source.name)}


def _case(source: TestCase, sources: Mapping[str, TestCase]) -> Case:
    if source.kind != "node":
        return Case(source.name, source.kind, source, ())
    original = sources[re.sub(r"_expanded(_ver\d+)?$", "", source.name)]
    assert original.model is not None
    *_, node = original.model.graph.node
    inputs = {value.name for value in original.model.graph.input}
    positions = SHAPE_DECIDING.get(node.op_type, ())
    deciding = [node.input[i] for i in positions if i < len(node.input)]
    operator = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
    return Case(source.name, operator, source, tuple(name for name in deciding if name in inputs))


def _array(item: Any) -> Any:
    if isinstance(item, onnx.TensorProto):
        return numpy_helper.to_array(item)
    return item if isinstance(item, (list, dict, type(None))) else np.asarray(item)


def _stored(folder: Path, name: str, types: Sequence[onnx.TypeProto]) -> tuple[Any, ...]:
    """The files input_0.pb, ... of a data set."""
    items: list[Any] = []
    for type_, number in zip(types, range(len(list(folder.glob(f"{name}_*.pb")))), strict=False):
        raw = (folder / f"{name}_{number}.pb").read_bytes()
        if type_.HasField("sequence_type"):
            items.append(numpy_helper.to_list(onnx.SequenceProto.FromString(raw)))
        elif type_.HasField("optional_type"):
            items.append(numpy_helper.to_optional(onnx.OptionalProto.FromString(raw)))
        else:
            items.append(numpy_helper.to_array(onnx.TensorProto.FromString(raw)))
    return tuple(items)
