"""Reads tensor data that lies in a file beside the model, and only there.

The location is walked one component at a time from the model's folder, following no symbolic link, and the file must be
a regular one with a single name (no hard link), so that a model reads nothing that its folder does not own.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import onnx

from sateen.frontends.onnx.loading import Model, subgraphs
from sateen.runtime.errors import FrontendError


def read_external_data(tensor: onnx.TensorProto, folder: Path | None, size: int) -> bytes:
    """The `size` bytes of a tensor. Raises FrontendError where the location, offset or length is not safe and exact."""
    fields = {entry.key: entry.value for entry in tensor.external_data}
    what = f"tensor {tensor.name!r}: external data"
    if folder is None:
        raise FrontendError(f"{what} needs a folder; give the model as a path, not as bytes or a message")
    parts = _components(fields.get("location", ""), what)
    offset = _number(fields.get("offset", "0"), "offset", what)
    length = _number(fields.get("length", str(size)), "length", what)
    if length != size:
        raise FrontendError(f"{what} has {length} bytes, but its element type and dimensions take {size}")
    try:
        descriptor = _open(folder, parts)
    except OSError as error:
        raise FrontendError(f"{what}: can't open {'/'.join(parts)!r} in the model's folder: {error.strerror}") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            raise FrontendError(f"{what}: expected {'/'.join(parts)!r} to be a regular file without hard links")
        if offset + length > status.st_size:
            raise FrontendError(
                f"{what} lies at {offset} to {offset + length} of {'/'.join(parts)!r}, which has {status.st_size} bytes"
            )
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            file.seek(offset)
            data = file.read(length)
    finally:
        os.close(descriptor)
    if len(data) != length:
        raise FrontendError(f"{what}: {'/'.join(parts)!r} became shorter while it was read")
    return data


def external_files(model: Model) -> Iterator[Path]:
    """The files beside a model that its tensors lie in, as far as they are named as they must be."""
    if model.folder is None:
        return
    locations: dict[str, None] = {}
    graphs = [model.proto.graph]
    nodes = [node for function in model.proto.functions for node in function.node]
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
            yield model.folder.joinpath(*_components(location, "a tensor"))
        except FrontendError:
            continue  # it is refused where it is read


def _components(location: str | bytes, what: str) -> list[str]:
    """The parts of a relative path that stays inside its folder on every system."""
    parts = location.split("/") if isinstance(location, str) else []
    plain = all(re.fullmatch(r"[^\\:#\x00-\x1f]+", part) and part not in {".", ".."} for part in parts)
    if not parts or not plain:
        raise FrontendError(f"{what}: expected the plain relative path of a file beside the model, found {location!r}")
    return parts


def _number(value: str | bytes, name: str, what: str) -> int:
    if not isinstance(value, str) or not re.fullmatch(r"[0-9]{1,18}", value):
        raise FrontendError(f"{what}: expected a number of bytes as {name}, found {value!r}")
    return int(value)


def _open(folder: Path, parts: list[str]) -> int:
    if os.open not in os.supports_dir_fd:
        raise FrontendError("external data can't be opened safely on this system; store the tensors in the model")
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    for last, part in zip([False] * (len(parts) - 1) + [True], parts, strict=True):
        flags = os.O_NOFOLLOW | (os.O_NONBLOCK if last else os.O_DIRECTORY)
        try:
            inner = os.open(part, os.O_RDONLY | flags, dir_fd=at)
        finally:
            os.close(at)
        at = inner
    return at
