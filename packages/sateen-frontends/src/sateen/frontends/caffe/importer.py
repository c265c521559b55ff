"""Makes a Graph and its parameters of a network and its weights, or a report of all gaps."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from sateen.frontends.caffe.converters import CONVERTERS
from sateen.frontends.caffe.custom import converted_custom, custom_type_of
from sateen.frontends.caffe.network import FLOAT, Layer, Network
from sateen.frontends.caffe.node import CaffeNode
from sateen.frontends.caffe.parameters import parameters_of
from sateen.frontends.caffe.refusals import refusal_of, require_bottoms, require_none
from sateen.frontends.caffe.weights import Blob
from sateen.frontends.core.custom import custom_operator
from sateen.frontends.core.cut import part_of
from sateen.frontends.core.folding import converted
from sateen.frontends.core.importer import Conversion, Importer, Results
from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.place import Call, Heading, Place
from sateen.frontends.core.report import Report
from sateen.frontends.core.source import Limits
from sateen.graph_ir.ir import Graph, OpSet
from sateen.topi.operators import Operator


class CaffeImporter(Importer[Layer]):
    """One reading. A shape that the user gives replaces that of the file, as Net::Reshape does in Caffe."""

    def __init__(
        self,
        model: str,
        network: Network,
        weights: Mapping[str, tuple[Blob, ...]] | None,
        bindings: Bindings,
        limits: Limits,
        operators: OpSet,
    ) -> None:
        self.weights = weights or {}
        self.has_weights = weights is not None
        self.known = operators
        inputs = {given.name: given for given in network.inputs}
        self.part = part_of(
            network.layers, list(inputs), network.outputs, lambda layer: layer.inputs, lambda layer: layer.outputs,
            bindings,
        )  # fmt: skip
        names = [*inputs, *(name for layer in network.layers for name in layer.outputs)]
        declarations = [inputs[name] for name in self.part.inputs]
        graph = network.name or "network"
        super().__init__(model, graph, declarations, names, self.part.outputs, bindings, limits)

    def run(self) -> tuple[Graph | None, Report]:
        self.bind_inputs()
        self.read(self.part.nodes, self.scope, Place(self.emitter))
        return self.finish({})

    def heading_of(self, node: Layer, place: Place) -> Heading:
        return Heading(node.name, node.type, node.inputs, node.outputs)

    def conversion_of(self, node: Layer, heading: Heading) -> Conversion:
        require_bottoms(node)
        if not self.has_weights:
            require_none(node)
        if node.type in CONVERTERS:
            return partial(self._convert, node)
        operator = custom_operator(self.known, custom_type_of(node), "caffe")
        if operator is None:
            raise refusal_of(node.type)
        return partial(self._custom, node, operator)

    def _custom(self, layer: Layer, operator: type[Operator], call: Call) -> Results:
        return converted_custom(CaffeNode(call, layer, {}, self.weights.get(layer.name, ())), operator)

    def _convert(self, layer: Layer, call: Call) -> Results:
        parameters = parameters_of(layer.message, layer.type)
        return converted(CaffeNode(call, layer, parameters, self.weights.get(layer.name, ())), CONVERTERS[layer.type])

    def declaration(self, name: str) -> Declaration | None:
        """Every blob holds floats; the file declares the shapes of inputs only."""
        return Declaration(name, FLOAT, None)
