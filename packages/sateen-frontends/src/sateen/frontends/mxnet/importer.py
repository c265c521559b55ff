"""One reading of an MXNet model: its variables become inputs or parameters, its nodes operators of the graph."""

from __future__ import annotations

from functools import partial

from sateen.frontends.core.custom import attribute_kinds, convert_custom, custom_operator
from sateen.frontends.core.cut import part_of
from sateen.frontends.core.folding import outputs_of
from sateen.frontends.core.importer import Conversion, Importer, Results
from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.node import ModelNode
from sateen.frontends.core.place import Call, Heading, Place
from sateen.frontends.core.refusals import END
from sateen.frontends.core.report import Report, UnsupportedError
from sateen.frontends.mxnet.attributes import attribute_of_kind
from sateen.frontends.mxnet.converters import OPERATORS, OWN_NAMES
from sateen.frontends.mxnet.declarations import declarations_of
from sateen.frontends.mxnet.description import OperatorDescription
from sateen.frontends.mxnet.loading import MxnetFile
from sateen.frontends.mxnet.network import NetworkNode
from sateen.frontends.mxnet.node import MxnetNode
from sateen.frontends.mxnet.refusals import refusal_of
from sateen.graph_ir.ir import Graph, OpSet
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator


class MxnetImporter(Importer[NetworkNode]):
    def __init__(self, file: MxnetFile, bindings: Bindings, operators: OpSet) -> None:
        self.file = file
        self.known = operators
        network = file.network
        inputs = declarations_of(file)
        self._begins = frozenset(bindings.inputs)
        self.part = part_of(network.nodes, list(inputs), network.outputs, _reads, _gives, bindings)
        declarations = [inputs[name] for name in self.part.inputs]
        names = [*network.variables, *(name for node in network.nodes for name in node.outputs)]
        self._require_weights(bindings)
        graph = file.name.removesuffix(".json").removesuffix("-symbol") or "mxnet"
        super().__init__(file.name, graph, declarations, names, self.part.outputs, bindings, file.limits)

    def _require_weights(self, bindings: Bindings) -> None:
        """Raises FrontendError for a weight without data that the user did not make an input either."""
        for name in self.part.inputs:
            is_given = name in bindings.shapes or name in bindings.constants
            if name in self.file.network.weights and not is_given:
                node, argument = self.file.network.weights[name]
                raise FrontendError(
                    f"{self.file.place}: node {node!r}: expected data of its {argument} {name!r}, found none in "
                    f"{self.file.arrays_place}; give the file of these weights (weights=, or --weights FILE)"
                )

    def run(self) -> tuple[Graph | None, Report]:
        self.bind_inputs()
        for name in self.file.network.variables:
            if name in self.file.arrays:
                self.define(self.scope, name, self.file.arrays[name])
        self.read(self.part.nodes, self.scope, Place(self.emitter))
        return self.finish({})

    def heading_of(self, node: NetworkNode, place: Place) -> Heading:
        return Heading(node.name, node.operator, node.inputs, node.outputs)

    def declaration(self, name: str) -> Declaration | None:
        """The file has no types of inner values. Where the user begins the network, they are float32."""
        return Declaration(name, DType.of("float32"), None) if name in self._begins else None

    def conversion_of(self, node: NetworkNode, heading: Heading) -> Conversion:
        described = OPERATORS.get(heading.operator)
        if described is not None:
            return partial(_converted, node, described)
        type_ = node.attributes.get("op_type", "") if node.operator == "Custom" else node.operator
        operator = custom_operator(self.known, type_, "mxnet")
        if operator is None:
            raise refusal_of(heading.operator)
        return partial(_custom, node, operator)


def _custom(node: NetworkNode, operator: type[Operator], call: Call) -> Results:
    """An operator that MXNet does not have, or one in Python, whose type is an attribute of Custom (custom.cc)."""
    texts = {name: text for name, text in node.attributes.items() if (node.operator, name) != ("Custom", "op_type")}
    kinds = attribute_kinds(operator)
    attributes = {name: attribute_of_kind(text, kinds.get(name)) for name, text in texts.items()}
    return convert_custom(ModelNode(call, attributes), operator, attributes)


def _converted(node: NetworkNode, described: OperatorDescription, call: Call) -> Results:
    own = OWN_NAMES.get(node.operator, node.operator)
    view = MxnetNode(call, own, described.arguments, described.defaults, node.attributes)
    found = outputs_of(described.convert(view))
    if len(found) < len(node.outputs):
        name = node.outputs[len(found)]
        raise UnsupportedError(f"output {name!r} is not supported", END)
    return found


def _reads(node: NetworkNode) -> tuple[str, ...]:
    return node.inputs


def _gives(node: NetworkNode) -> tuple[str, ...]:
    return node.outputs
