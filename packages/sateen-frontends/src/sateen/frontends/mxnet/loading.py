"""Loads an MXNet model: the symbol and the arrays of its parameters, checked as files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from sateen.frontends.core.pairs import pair_of
from sateen.frontends.core.source import Limits, Source
from sateen.frontends.mxnet.arrays import read_arrays
from sateen.frontends.mxnet.converters import OPERATORS
from sateen.frontends.mxnet.network import Network, network_of_symbol
from sateen.frontends.mxnet.recognition import ARRAYS, SYMBOL
from sateen.frontends.mxnet.symbol import read_symbol
from sateen.graph_ir.ir import Array
from sateen.runtime.errors import FrontendError, printable

_OF_BLOCKS = "its names are those of Gluon's save_parameters, while net.export('NAME') writes those of the symbol"


@dataclass(frozen=True, slots=True)
class MxnetFile:
    """A model as its files have it: `arrays` by name, and the place of them in errors; `beside` is the file that was
    found beside the given one, if any."""

    name: str
    place: str
    network: Network
    arrays: Mapping[str, Array]
    arrays_place: str
    beside: Path | None
    limits: Limits


def load_mxnet(source: Source, limits: Limits) -> MxnetFile:
    """A model of one or both of its files. Raises FrontendError if they are damaged, don't belong together, or if the
    symbol has weights and there are no arrays."""
    pair = pair_of(source, SYMBOL, ARRAYS, limits)
    symbol = pair.network
    network = network_of_symbol(read_symbol(replace(symbol, weights=None), limits), OPERATORS, symbol.place)
    if pair.weights is None and not network.weights:  # such as a function of inputs
        return MxnetFile(_name(symbol), symbol.place, network, {}, "no file", None, limits)
    arrays = pair.required_weights()
    beside = pair.beside if source.weights is None else None
    data = read_arrays(arrays, limits)
    if data and network.variables.keys().isdisjoint(data):
        remedy = f"found none in {arrays.place}; give the file of these weights (weights=, or --weights FILE)"
        of_blocks = f"; {_OF_BLOCKS}" if all("." in name for name in data) else ""
        raise FrontendError(f"{symbol.place}: {_expected(network)}, {remedy}{of_blocks}")
    return MxnetFile(_name(symbol), symbol.place, network, data, arrays.place, beside, limits)


def _name(source: Source) -> str:
    return "mxnet" if source.path is None else printable(source.path.name)


def _expected(network: Network) -> str:
    """What data of the network an error names first."""
    for name, (node, argument) in network.weights.items():
        return f"node {printable(node)!r}: expected data of its {argument} {printable(name)!r}"
    return f"expected data of {', '.join(map(printable, network.variables)) or 'no variable'}"
