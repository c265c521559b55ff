"""Makes a Graph and its parameters of two nets, or a report of all gaps."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from sateen.frontends.caffe2.converters import CONVERTERS
from sateen.frontends.caffe2.network import FLOAT, Network, Operation
from sateen.frontends.caffe2.node import Caffe2Node
from sateen.frontends.caffe2.refusals import refusal_of, require_weights
from sateen.frontends.core.custom import convert_custom, custom_operator
from sateen.frontends.core.cut import part_of
from sateen.frontends.core.folding import converted
from sateen.frontends.core.importer import Conversion, Importer, Results
from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.place import Call, Heading, Place
from sateen.frontends.core.report import Report
from sateen.frontends.core.source import Limits
from sateen.graph_ir.ir import Graph, OpSet
from sateen.topi.operators import Operator


class Caffe2Importer(Importer[Operation]):
    """One reading. A shape that the user gives replaces that of a placeholder."""

    def __init__(self, model: str, network: Network, bindings: Bindings, limits: Limits, operators: OpSet) -> None:
        self.known = operators
        self.begun = frozenset(bindings.inputs)
        inputs = {given.name: given for given in network.inputs}
        self.part = part_of(
            network.operations, list(inputs), network.outputs, lambda node: node.inputs, lambda node: node.outputs,
            bindings if bindings.outputs or bindings.inputs else replace(bindings, outputs=network.outputs),
        )  # fmt: skip
        require_weights(self.part.nodes, inputs.keys() - {*bindings.shapes, *bindings.constants, *bindings.inputs})
        self.used = frozenset(self.part.outputs).union(*(node.inputs for node in self.part.nodes))
        names = [*inputs, *(name for node in network.operations for name in node.outputs)]
        declarations = [
            replace(inputs[name], shape=None) if name in bindings.shapes else inputs[name] for name in self.part.inputs
        ]
        super().__init__(model, network.name, declarations, names, self.part.outputs, bindings, limits)

    def run(self) -> tuple[Graph | None, Report]:
        self.bind_inputs()
        self.read(self.part.nodes, self.scope, Place(self.emitter))
        return self.finish({})

    def heading_of(self, node: Operation, place: Place) -> Heading:
        return Heading(node.name, node.type, node.inputs, node.outputs)

    def conversion_of(self, node: Operation, heading: Heading) -> Conversion:
        if node.type in CONVERTERS:
            return partial(self._convert, node)
        operator = custom_operator(self.known, node.type, "caffe2")
        if operator is None:
            raise refusal_of(node.type)
        return partial(self._custom, node, operator)

    def _custom(self, operation: Operation, operator: type[Operator], call: Call) -> Results:
        node = Caffe2Node(call, operation, self.used)
        return convert_custom(node, operator, {name: node.plain(name) for name in operation.arguments})

    def _convert(self, operation: Operation, call: Call) -> Results:
        return converted(Caffe2Node(call, operation, self.used), CONVERTERS[operation.type])

    def declaration(self, name: str) -> Declaration | None:
        """Nets declare no types; a value at which the network begins is taken for floats."""
        return Declaration(name, FLOAT, None) if name in self.begun else None
