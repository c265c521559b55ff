"""A symbol, MXNet's network, as its JSON has it: nodes in order, and the results that it gives.

A node is a variable or an operator. The dialects differ in where attributes stand: up to 0.8 those of the operator are
in `param` and notes for training in `attr`, up to 0.11 all are in `attr`, later in `attrs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sateen.frontends.core.json_text import parse_object
from sateen.frontends.core.source import Limits, Source
from sateen.runtime.errors import FrontendError, printable
from sateen.runtime.signature import LONGEST_NAME

VARIABLE = "null"
"""The operator of a variable."""
BEFORE_VERSIONS = 800
"""The version of files that don't say theirs (legacy_json_util.cc): 0.8, as major·10000 + minor·100 + patch."""
_NOTES = frozenset({"ctx_group", "force_mirroring", "lr_mult", "mirror_stage", "wd_mult"})
"""Notes for training among the attributes of old files, perhaps behind the name of an input, as `weight_lr_mult`; newer
ones write them as `__lr_mult__` (kHiddenKeys of src/c_api/c_api_symbolic.cc)."""
_MOST_OUTPUT = 250
"""The most outputs of a node."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Output `output` of node `node`, by numbers."""

    node: int
    output: int


@dataclass(frozen=True, slots=True)
class SymbolNode:
    """A node; `notes` are the attributes that are not its operator's, without the underscores around them."""

    name: str
    operator: str
    inputs: tuple[Entry, ...]
    attributes: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Symbol:
    """Each node reads those before it."""

    nodes: tuple[SymbolNode, ...]
    heads: tuple[Entry, ...]
    version: int


def read_symbol(source: Source, limits: Limits) -> Symbol:
    """The symbol in a file. Raises FrontendError if it is damaged or exceeds the limits."""
    place = source.place
    document = parse_object(source.data, place)
    nodes = _listed(document, "nodes", place)
    if len(nodes) > limits.nodes:
        raise FrontendError(f"{place}: expected at most {limits.nodes} nodes, found {len(nodes)}")
    read = tuple(_node(node, index, place) for index, node in enumerate(nodes))
    heads = tuple(_entry(head, len(read), f"{place}: heads") for head in _listed(document, "heads", place))
    if not heads:
        raise FrontendError(f"{place}: expected a symbol with heads, found none: it has nothing to compute")
    return Symbol(read, heads, _version(document, place))


def _listed(of: Mapping[str, Any], key: str, place: str) -> list[Any]:
    found = of.get(key)
    if not isinstance(found, list):
        raise FrontendError(f"{place}: expected a list of {key}, found {type(found).__name__}")
    return found


def _node(node: Any, index: int, place: str) -> SymbolNode:
    if not isinstance(node, dict):
        raise FrontendError(f"{place}: expected node {index} as an object, found {type(node).__name__}")
    name, operator = (_text(node.get(key), f"{place}: {key} of node {index}") for key in ("name", "op"))
    what = f"{place}: node {index} {name!r}"
    inputs = tuple(_entry(entry, index, what) for entry in _listed(node, "inputs", what))
    if operator == VARIABLE and inputs:
        raise FrontendError(f"{what}: expected a variable without inputs, found {len(inputs)}")
    if "param" in node:
        own, others = _texts(node["param"], what), _texts(node.get("attr", {}), what)
    else:
        own, others = _texts(node.get("attrs", node.get("attr", {})), what), {}
    notes = {key: value for key, value in own.items() if operator == VARIABLE or _is_note(key)}
    attributes = {key: value for key, value in own.items() if key not in notes}
    hidden = {_bare(key): value for key, value in {**others, **notes}.items()}
    return SymbolNode(name, operator, inputs, attributes, hidden)


def _is_note(key: str) -> bool:
    return _bare(key) != key or key in _NOTES or any(key.endswith(f"_{note}") for note in _NOTES)


def _bare(key: str) -> str:
    is_hidden = len(key) > 4 and key.startswith("__") and key.endswith("__")
    return key[2:-2] if is_hidden else key


def _texts(found: Any, what: str) -> dict[str, str]:
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise FrontendError(f"{what}: expected attributes as an object of texts, found {printable(repr(found))[:200]}")
    return found


def _text(found: Any, what: str) -> str:
    if not (isinstance(found, str) and found.isprintable() and 0 < len(found) <= LONGEST_NAME):
        shown = repr(found)[:LONGEST_NAME]
        raise FrontendError(f"{what}: expected printable text of 1 to {LONGEST_NAME} characters, found {shown}")
    return found


def _entry(found: Any, nodes: int, what: str) -> Entry:
    """An entry [node, output] or [node, output, version]; the version is that of a variable, which is always 0 here."""
    is_entry = isinstance(found, list) and len(found) in {2, 3} and all(type(number) is int for number in found)
    if not is_entry:
        raise FrontendError(f"{what}: expected [node, output], found {printable(repr(found))[:200]}")
    node, output = found[:2]
    if not 0 <= node < nodes:
        raise FrontendError(f"{what}: expected to read one of the {nodes} nodes before it, found node {node}")
    if not 0 <= output < _MOST_OUTPUT:
        raise FrontendError(f"{what}: expected an output of 0 to {_MOST_OUTPUT - 1}, found {output} of node {node}")
    return Entry(node, output)


def _version(document: Mapping[str, Any], place: str) -> int:
    """The version of MXNet that wrote the file: 10901 stands for 1.9.1."""
    attributes = document.get("attrs", {})
    found = attributes.get("mxnet_version", ["int", BEFORE_VERSIONS]) if isinstance(attributes, dict) else None
    if not (isinstance(found, list) and len(found) == 2 and type(found[1]) is int):
        raise FrontendError(f"{place}: expected mxnet_version as ['int', number], found {printable(repr(found))[:200]}")
    return found[1]
