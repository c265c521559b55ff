"""A format of a few lines, whose reader is written on the core alone:

plain network
input x float32 2 n
data w 1.0 2.0
node sum add x w -> y
output y
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from sateen.frontends import readers
from sateen.frontends.core.cut import part_of
from sateen.frontends.core.folding import converted
from sateen.frontends.core.importer import Conversion, Importer, Results
from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.node import Converter, ModelNode
from sateen.frontends.core.operands import extents_array
from sateen.frontends.core.order import in_order
from sateen.frontends.core.place import Call, Heading, Place
from sateen.frontends.core.reader import LoadedModel, Reader
from sateen.frontends.core.report import Report, UnsupportedError
from sateen.frontends.core.source import Limits, Source
from sateen.graph_ir.ir import Graph, OpSet, Symbol
from sateen.graph_ir.ops import Add, Concat, Gather, Relu, Reshape
from sateen.runtime.dtype import DType

Words = list[str]

CONVERTERS: dict[str, Converter[ModelNode]] = {
    "add": lambda node: node.result(Add(), node.value(0), node.value(1)),
    "concat": lambda node: node.result(Concat(axis=0), *node.values()),
    "relu": lambda node: node.result(Relu(), node.value(0)),
    "reshape": lambda node: node.result(Reshape(tuple(node.constant(1).tolist())), node.value(0)),
    "shape": lambda node: extents_array(node.shape(0)),
    "take": lambda node: node.result(Gather(axis=0), node.value(0), node.value(1)),
}


@dataclass(frozen=True, slots=True)
class PlainModel(LoadedModel):
    lines: Sequence[Words]
    limits: Limits

    def _of(self, kind: str) -> Iterator[Words]:
        return (line[1:] for line in self.lines if line[0] == kind)

    def declarations(self) -> list[Declaration]:
        return [
            Declaration(name, DType.of(dtype), tuple(int(d) if d.isdigit() else Symbol(d) for d in shape))
            for name, dtype, *shape in self._of("input")
        ]

    def files_beside(self) -> Iterator[Path]:
        return iter(())

    def read(self, bindings: Bindings, operators: OpSet) -> tuple[Graph | None, Report]:
        nodes = in_order(list(self._of("node")), _reads, _gives, lambda line: f"node {line[0]!r}")
        inputs = {given.name: given for given in self.declarations()}
        part = part_of(nodes, list(inputs), [name for (name,) in self._of("output")], _reads, _gives, bindings)
        names = [*inputs, *(name for line in nodes for name in _gives(line))]
        declarations = [inputs[name] for name in part.inputs]
        importer = PlainImporter("net", "net", declarations, names, part.outputs, bindings, self.limits)
        importer.bind_inputs()
        for name, *numbers in self._of("data"):
            exact = all(number.isdigit() for number in numbers)
            data = np.array(list(map(float, numbers)), np.int64 if exact else np.float32)
            importer.define(importer.scope, name, data)
        importer.read(part.nodes, importer.scope, Place(importer.emitter))
        return importer.finish({})


def _reads(line: Words) -> Words:
    return line[2 : line.index("->")]


def _gives(line: Words) -> Words:
    return line[line.index("->") + 1 :]


class PlainImporter(Importer[Words]):
    def heading_of(self, node: Words, place: Place) -> Heading:
        return Heading(node[0], node[1], tuple(_reads(node)), tuple(_gives(node)))

    def conversion_of(self, node: Words, heading: Heading) -> Conversion:
        if heading.operator not in CONVERTERS:
            raise UnsupportedError("plain networks have no such operator", "write another")
        return partial(self._convert, CONVERTERS[heading.operator])

    def _convert(self, converter: Converter[ModelNode], call: Call) -> Results:
        return converted(ModelNode(call, {}), converter)

    def declaration(self, name: str) -> Declaration | None:
        """Values are called after their type, or are of none."""
        return Declaration(name, DType.of("float32"), (2,)) if name.startswith("pair") else None


def _load(source: Source, limits: Limits) -> PlainModel:
    return PlainModel([line.split() for line in source.data.decode().splitlines()[1:]], limits)


PLAIN = Reader("a plain network", lambda source: source.data.startswith(b"plain network\n"), _load)


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], bytes]:
    """plain(lines): a network of the format, which is among those that can be read."""
    monkeypatch.setattr(readers, "READERS", (*readers.READERS, PLAIN))
    return lambda lines: f"plain network\n{lines}".encode()
