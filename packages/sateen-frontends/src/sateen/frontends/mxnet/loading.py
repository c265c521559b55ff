"""Loads an MXNet model: the symbol and the arrays of its parameters, checked as files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sateen.frontends.core.pairs import Half, paired
from sateen.frontends.core.source import Limits, Source
from sateen.frontends.mxnet.arrays import read_arrays
from sateen.frontends.mxnet.converters import OPERATORS
from sateen.frontends.mxnet.network import Network, network_of_symbol
from sateen.frontends.mxnet.recognition import is_arrays, is_symbol
from sateen.frontends.mxnet.symbol import read_symbol
from sateen.graph_ir.ir import Array
from sateen.runtime.errors import printable

_SYMBOL_END, _ARRAYS_END = "-symbol.json", ".params"


def _arrays_names(symbol: str) -> Sequence[str]:
    """Files of arrays have a number of four digits, the epoch; other programs leave it out."""
    stem = symbol.removesuffix(_SYMBOL_END).removesuffix(".json")
    return f"{stem}-[0-9][0-9][0-9][0-9]{_ARRAYS_END}", f"{stem}{_ARRAYS_END}"


def _symbol_names(arrays: str) -> Sequence[str]:
    stem = arrays.removesuffix(_ARRAYS_END)
    head, _, epoch = stem.rpartition("-")
    model = head if head and epoch.isdigit() else stem
    return f"{model}{_SYMBOL_END}", f"{model}.json", f"{stem}{_SYMBOL_END}"


SYMBOL = Half("a symbol of MXNet (-symbol.json)", is_symbol, _symbol_names)
ARRAYS = Half("arrays of MXNet (.params)", is_arrays, _arrays_names)


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
    if source.weights is None and is_symbol(source):
        network = network_of_symbol(read_symbol(source, limits), OPERATORS, source.place)
        if not network.weights:  # such as a function of inputs: it needs no second file
            return MxnetFile(_name(source), source.place, network, {}, "no file", None, limits)
    symbol, arrays = paired(source, SYMBOL, ARRAYS, limits)
    found = symbol if source.path == arrays.path else arrays
    network = network_of_symbol(read_symbol(replace(symbol, weights=None), limits), OPERATORS, symbol.place)
    beside = found.path if source.weights is None else None
    return MxnetFile(_name(symbol), symbol.place, network, read_arrays(arrays, limits), arrays.place, beside, limits)


def _name(source: Source) -> str:
    return "mxnet" if source.path is None else printable(source.path.name)
