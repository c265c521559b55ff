"""The formats that can be read, each by its reader; a file's content says which it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sateen.frontends.core.inputs import Bindings
from sateen.frontends.core.reader import LoadedModel, Reader, network_of
from sateen.frontends.core.report import Report
from sateen.frontends.core.source import LIMITS, Source, read_source
from sateen.frontends.onnx import ONNX
from sateen.graph_ir.ir import Array, Graph, OpSet
from sateen.graph_ir.ops import OPS
from sateen.runtime.errors import FrontendError

READERS: tuple[Reader, ...] = (ONNX,)
"""All formats; no two recognise one file."""
EXPECTED = " or ".join(reader.described for reader in READERS)
"""The name in errors for models that can be read."""
PEERS = {name: peer for reader in READERS for name, peer in reader.peers.items()}
"""All engines that models can be measured against."""


def reader_of(given: str | Path | bytes, expected: str = EXPECTED) -> tuple[Reader, Source]:
    """The reader of a model, and its source. Raises FrontendError if no reader takes it; `expected` names what would be
    accepted."""
    source = read_source(given, LIMITS, expected)
    for reader in READERS:
        if reader.recognises(source):
            return reader, source
    found = source.format or "data of no format that is known here"
    raise FrontendError(f"{source.place}: expected {expected}, found {found}")


def open_model(given: str | Path | bytes, expected: str = EXPECTED) -> LoadedModel:
    """A model, loaded and checked as a file. Raises FrontendError if it is no model, or damaged."""
    reader, source = reader_of(given, expected)
    return reader.load(source, LIMITS)


def load(
    source: str | Path | bytes,
    *,
    shapes: Mapping[str, Sequence[int]] = {},  # never written to
    dims: Mapping[str, int] = {},
    constants: Mapping[str, Array | float] = {},
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    operators: OpSet = OPS,
) -> tuple[Graph, dict[str, Array]]:
    """Read a model of any known format: a path, or its bytes.

    `shapes` gives inputs their shapes, `dims` gives dimensions that the model names their extents, `constants` makes
    inputs constant, by an array or, for a scalar, a number; dimensions that stay unknown are Symbols. `inputs` and
    `outputs` name values within the model at which the network begins and ends. `operators` may have some of other
    packages. The second result holds the data of the graph's parameters by name. Raises FrontendError where the model
    is malformed or has nodes that can't be compiled, naming all of them.
    """
    return network_of(open_model(source), Bindings(shapes, dims, constants, inputs, outputs), operators)


def check(
    source: str | Path | bytes,
    *,
    shapes: Mapping[str, Sequence[int]] = {},
    dims: Mapping[str, int] = {},
    constants: Mapping[str, Array | float] = {},
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    operators: OpSet = OPS,
) -> Report:
    """A report of everything in a model that can't be read as a graph. Raises FrontendError if it is malformed."""
    return open_model(source).read(Bindings(shapes, dims, constants, inputs, outputs), operators)[1]
