"""Data of tensors in a file beside the model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import onnx

from sateen.frontends.core.beside import FilesBeside, plain_path
from sateen.frontends.onnx.loading import subgraphs
from sateen.runtime.errors import FrontendError


def read_external_data(tensor: onnx.TensorProto, beside: FilesBeside | None, size: int) -> memoryview:
    """The `size` bytes of a tensor. Raises FrontendError if the location, offset or length is not safe and exact."""
    fields = {entry.key: entry.value for entry in tensor.external_data}
    what = f"tensor {tensor.name!r}: external data"
    if beside is None:
        raise FrontendError(f"{what} needs a folder; give the model as a path, not as bytes or a message")
    offset = _number(fields.get("offset", "0"), "offset", what)
    length = _number(fields.get("length", str(size)), "length", what)
    if length != size:
        raise FrontendError(f"{what} has {length} bytes, but its element type and dimensions take {size}")
    return beside.read(fields.get("location", ""), offset, length, what)


def external_files(proto: onnx.ModelProto, folder: Path) -> Iterator[Path]:
    """The files in a folder that hold tensors of a model, as far as their names are valid."""
    locations: dict[str, None] = {}
    graphs = [proto.graph]
    nodes = [node for function in proto.functions for node in function.node]
    while graphs or nodes:
        if graphs:
            graph = graphs.pop()
            nodes += graph.node
            tensors = list(graph.initializer)
        else:
            node = nodes.pop()
            graphs += subgraphs(node)
            tensors = [t for a in node.attribute for t in (a.t, *a.tensors)]
        locations |= {e.value: None for t in tensors for e in t.external_data if e.key == "location"}
    for location in locations:
        try:
            yield folder.joinpath(*plain_path(location, "a tensor"))
        except FrontendError:
            continue  # it is refused where it is read


def _number(value: str | bytes, name: str, what: str) -> int:
    if not isinstance(value, str) or not re.fullmatch(r"[0-9]{1,18}", value):
        raise FrontendError(f"{what}: expected a number of bytes as {name}, found {value!r}")
    return int(value)
