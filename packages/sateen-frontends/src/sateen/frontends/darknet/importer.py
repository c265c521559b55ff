"""Makes a Graph and its parameters of a network and its weights, or a report of all gaps."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from sateen.frontends.core.cut import part_of
from sateen.frontends.core.folding import converted
from sateen.frontends.core.importer import Conversion, Importer, Results
from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.place import Call, Heading, Place
from sateen.frontends.core.report import Report
from sateen.frontends.core.source import Limits
from sateen.frontends.darknet.converters import CONVERTERS
from sateen.frontends.darknet.network import FLOAT, Layer, Network
from sateen.frontends.darknet.node import DarknetNode
from sateen.frontends.darknet.refusals import refusal_of
from sateen.frontends.darknet.weights import Weights
from sateen.graph_ir.ir import Graph


class DarknetImporter(Importer[Layer]):
    """One reading. A shape that the user gives replaces that of the file, which has a batch of training."""

    def __init__(
        self, model: str, network: Network, weights: Mapping[int, Weights], bindings: Bindings, limits: Limits
    ) -> None:
        self.network = network
        self.weights = weights
        inputs = {given.name: given for given in network.inputs}
        self.part = part_of(
            network.layers, list(inputs), network.outputs, network.reads, network.gives, bindings
        )  # fmt: skip
        names = [*inputs, *(name for layer in network.layers for name in network.gives(layer))]
        declarations = [inputs[name] for name in self.part.inputs]
        super().__init__(model, "network", declarations, names, self.part.outputs, bindings, limits)

    def run(self) -> tuple[Graph | None, Report]:
        self.bind_inputs()
        self.read(self.part.nodes, self.scope, Place(self.emitter))
        return self.finish({})

    def heading_of(self, node: Layer, place: Place) -> Heading:
        return Heading(node.name, node.section.type, self.network.reads(node), self.network.gives(node))

    def conversion_of(self, node: Layer, heading: Heading) -> Conversion:
        if node.section.type not in CONVERTERS:
            raise refusal_of(node.section.type)
        return partial(self._convert, node)

    def _convert(self, layer: Layer, call: Call) -> Results:
        weights = self.weights.get(layer.index, {})
        return converted(DarknetNode(call, layer, weights), CONVERTERS[layer.section.type])

    def declaration(self, name: str) -> Declaration | None:
        """Every layer gives floats; the file declares no sizes."""
        return Declaration(name, FLOAT, None)
