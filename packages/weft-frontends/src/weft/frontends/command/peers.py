"""Others that run ONNX models: opponents in a comparison, judges in a verification."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import onnx

from weft.graph_ir.graph import Array
from weft.runtime import ArgumentError

Run = Callable[[Mapping[str, Array]], dict[str, Array]]
"""Outputs by name, for inputs by name."""


def has_onnxruntime() -> bool:
    """Whether onnxruntime is installed."""
    return find_spec("onnxruntime") is not None


def value_names(model: onnx.ModelProto) -> list[str]:
    """The values that the nodes of the main graph compute, in order."""
    return [name for node in model.graph.node for name in node.output if name]


def onnxruntime(path: Path, threads: int = 0, keep: Sequence[str] = ()) -> Run:
    """The model in onnxruntime on processors, with all its optimisations; `keep` adds values within to the outputs.

    Raises ArgumentError where it is not installed or refuses the model.
    """
    try:
        runtime: Any = import_module("onnxruntime")
    except ImportError:
        raise ArgumentError("onnxruntime is not installed: pip install 'weft-frontends[peers]'") from None
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3  # errors
    source = _with_outputs(path, keep).SerializeToString() if keep else str(path)
    try:
        session = runtime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its classes have no base but this one
        raise ArgumentError(f"onnxruntime refuses {path}: {error}") from error
    outputs = [o.name for o in session.get_outputs()]

    def run(inputs: Mapping[str, Array]) -> dict[str, Array]:
        return dict(zip(outputs, session.run(outputs, dict(inputs)), strict=True))

    return run


def _with_outputs(path: Path, names: Sequence[str]) -> onnx.ModelProto:
    model = onnx.load(path)
    present = {o.name for o in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in present)
    return model
