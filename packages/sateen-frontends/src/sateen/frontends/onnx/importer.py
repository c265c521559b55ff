"""Makes a Graph and its parameters of an ONNX file, or a report of all gaps.

If the model has a function of a node's name, it is called. Otherwise the node is evaluated or converted, or else
replaced by the standard's function body.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from functools import partial

import onnx
from onnx import TensorProto
from onnx.defs import OpSchema

from sateen.frontends.core.bodies import Bodies, present
from sateen.frontends.core.custom import convert_custom
from sateen.frontends.core.cut import part_of
from sateen.frontends.core.folding import converted
from sateen.frontends.core.importer import Conversion, Importer, Results
from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.node import MOST_NAMED
from sateen.frontends.core.operands import Operand
from sateen.frontends.core.place import UNKNOWN, Call, Heading, Place, Scope, Unknown
from sateen.frontends.core.report import Report, UnsupportedError, in_model
from sateen.frontends.onnx import ml
from sateen.frontends.onnx.control_flow import CONTROL_FLOW, GraphReader
from sateen.frontends.onnx.converters import CONVERTERS
from sateen.frontends.onnx.custom import operator_named, schema_of_operator
from sateen.frontends.onnx.declarations import declaration_of, shape_of
from sateen.frontends.onnx.functions import call_attributes, has_standard_body, instantiated, standard_body
from sateen.frontends.onnx.loading import OnnxFile, text
from sateen.frontends.onnx.microsoft import DESCRIPTIONS, DOMAIN, Description, contrib_function
from sateen.frontends.onnx.node import Converter, OnnxNode
from sateen.frontends.onnx.refusals import REFUSALS
from sateen.frontends.onnx.schemas import likely_meant, schema_of
from sateen.frontends.onnx.strings import Vocabularies, is_strings, strings_of
from sateen.frontends.onnx.structure import (
    check_function_calls,
    check_structure,
    inputs_of,
    nodes_in_order,
    opsets_of,
    plain_domain,
    reads,
)
from sateen.frontends.onnx.tensors import tensor_bytes, to_array
from sateen.graph_ir.ir import Array, Graph, OpSet
from sateen.runtime.display import shortened
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import symbols_of
from sateen.topi.operators import Operator

_ENCODED = "a network computes with numbers: encode them outside of it, and begin behind its encoders (inputs=, --from)"


def import_onnx(file: OnnxFile, bindings: Bindings, operators: OpSet) -> tuple[Graph | None, Report]:
    """The graph of a model, None if it has gaps, and the report of these. Raises FrontendError if it is malformed.
    `operators` may contain operators of other packages, for nodes of their domain and type that are not ours."""
    with in_model(file.name):
        return OnnxImporter(file, bindings, operators).run()


class OnnxImporter(Importer[onnx.NodeProto]):
    def __init__(self, file: OnnxFile, bindings: Bindings, operators: OpSet) -> None:
        self.file = file
        self.known = operators
        self.graph = file.proto.graph
        self.opsets = check_structure(file)
        self.functions = {
            (plain_domain(function.domain), function.name, function.overload): function
            for function in file.proto.functions
        }
        check_function_calls(self.functions)
        self.declared = {value.name: value for value in (*self.graph.value_info, *self.graph.output)}
        self.vocabularies = Vocabularies()
        self.maps = {node.output[0] for node in self.graph.node if node.op_type == "ZipMap" and node.output}
        """Values that the file declares as sequences of maps, which are tensors for us."""
        names = [
            *(value.name for value in (*self.graph.input, *self.graph.initializer)),
            *(name for node in self.graph.node for name in node.output),
        ]
        inputs = {value.name: value for value in inputs_of(self.graph)}
        outputs = [output.name for output in self.graph.output]
        nodes = nodes_in_order(self.graph.node, file.name)
        self.part = part_of(nodes, list(inputs), outputs, reads, lambda node: node.output, bindings)
        self.of_strings = [name for name in self.part.inputs if is_strings(inputs[name])]
        declarations = [declaration_of(inputs[name]) for name in self.part.inputs if name not in self.of_strings]
        self._require_numbers([inputs[name] for name in self.of_strings], declarations, bindings)
        graph = self.graph.name or "graph"
        super().__init__(file.name, graph, declarations, names, self.part.outputs, bindings, file.limits)

    def _require_numbers(
        self, texts: Sequence[onnx.ValueInfoProto], declarations: Sequence[Declaration], bindings: Bindings
    ) -> None:
        """Raises FrontendError if the user gives a size to an input of strings; a size does not make it one of
        numbers."""
        of_numbers = {symbol for given in declarations if given.type is not None for symbol in given.type.symbols}
        for value in texts:
            dims = set(symbols_of(*(shape_of(value.type.tensor_type, value.name) or ())))
            sized = value.name in bindings.shapes or value.name in bindings.constants
            if sized or not (dims - of_numbers).isdisjoint(bindings.dims):
                readers = [repr(shortened(_name_of(node))) for node in self.part.nodes if value.name in node.input]
                more = " and others" if len(readers) > MOST_NAMED else ""
                read_by = f" for {' and '.join(readers[:MOST_NAMED])}{more}" if readers else ""
                raise FrontendError(f"input {value.name!r} holds strings{read_by}; {_ENCODED}")

    def run(self) -> tuple[Graph | None, Report]:
        self.bind_inputs()
        self.scope.update((name, Unknown(f"input {name!r} holds strings; {_ENCODED}")) for name in self.of_strings)
        for name, data in self._data(self.graph, self.file.weights).items():
            self.define(self.scope, name, data)
        self.read(self.part.nodes, self.scope, Place(self.emitter, self.opsets))
        self._label_strings()
        return self.finish(self.opsets)

    def _label_strings(self) -> None:
        """Label outputs of strings, whose elements are positions. Raises FrontendError for an output that is declared
        otherwise than computed."""
        for name in self.outputs:
            found, declared = self.scope[name], self.declared.get(name)
            vocabulary = self.vocabularies.of(found)
            if vocabulary is not None:
                self.emitter.label(name, vocabulary)
            if declared is None or isinstance(found, Unknown) or not declared.type.HasField("tensor_type"):
                continue
            if is_strings(declared) != (vocabulary is not None):
                kinds = ("numbers", "strings") if vocabulary is not None else ("strings", "numbers")
                raise FrontendError(f"output {name!r} is declared as {kinds[0]}, but computed as {kinds[1]}")

    def _data(self, graph: onnx.GraphProto, weights: Mapping[int, memoryview] = {}) -> dict[str, Array]:
        """Data of a graph, in the file or by position in `weights`; an input with data is a constant."""
        remaining = self.limits.tensor_bytes
        found = {}
        for index, tensor in enumerate(graph.initializer):
            what = f"initialiser {tensor.name!r}"
            if tensor.data_type == TensorProto.STRING and graph is self.graph:
                found[tensor.name], vocabulary = strings_of(tensor, what)
                self.vocabularies.note(found[tensor.name], vocabulary)
                continue
            found[tensor.name] = to_array(tensor, self.file.beside, what, remaining, weights.get(index))
            remaining -= tensor_bytes(tensor, what)
        return found

    def _decode(self, tensor: onnx.TensorProto) -> Array:
        return to_array(tensor, self.file.beside, f"tensor {tensor.name!r}", self.limits.tensor_bytes)

    def declaration(self, name: str) -> Declaration | None:
        value = self.declared.get(name)
        if value is None or value.type.WhichOneof("value") is None or name in self.maps or is_strings(value):
            return None
        return declaration_of(value)

    def heading_of(self, node: onnx.NodeProto, place: Place) -> Heading:
        domain = plain_domain(node.domain)
        opset = place.opsets.get(domain, 0)
        return Heading(_name_of(node), node.op_type, tuple(node.input), tuple(node.output), domain, opset)

    def conversion_of(self, node: onnx.NodeProto, heading: Heading) -> Conversion:
        domain = heading.domain
        function = self.functions.get((domain, node.op_type, node.overload))
        description = DESCRIPTIONS.get((domain, node.op_type))
        if function is None and description is None and domain == DOMAIN and heading.opset:
            function = contrib_function(node)
        if function is not None:
            return partial(self._called, node, function)
        if description is not None and heading.opset:
            return partial(self._described, node, description)
        try:
            schema = _schema_of(heading)
        except UnsupportedError:
            custom = operator_named(self.known, domain, node.op_type)
            if custom is None or not heading.opset:
                raise
            return partial(self._custom, node, schema_of_operator(custom), custom)
        if node.op_type in CONTROL_FLOW and not domain:
            return partial(self._control_flow, node, schema)
        return partial(self._standard, node, schema)

    def _node(self, node: onnx.NodeProto, schema: OpSchema, call: Call) -> OnnxNode:
        return OnnxNode(node, schema, call, self._decode, self.vocabularies.of_inputs(call))

    def _custom(self, proto: onnx.NodeProto, schema: OpSchema, operator: type[Operator], call: Call) -> Results:
        node = self._node(proto, schema, call)
        return convert_custom(node, operator, {a.name: node.attribute(a.name) for a in proto.attribute})

    def _described(self, proto: onnx.NodeProto, description: Description, call: Call) -> Results:
        schema = description.schema(proto.op_type, call.heading.domain)
        return converted(self._node(proto, schema, call), description.convert)

    def _control_flow(self, node: onnx.NodeProto, schema: OpSchema, call: Call) -> Results | None:
        if any(self.vocabularies.of(call.scope.get(name)) is not None for name in reads(node)):
            raise UnsupportedError("strings in branches and loops are not supported", _ENCODED)
        return CONTROL_FLOW[node.op_type](self._node(node, schema, call), GraphReader(Bodies(self, call), self._data))

    def _standard(self, proto: onnx.NodeProto, schema: OpSchema, call: Call) -> Results:
        """Evaluated or converted, otherwise expanded to the standard's body."""
        node = self._node(proto, schema, call)
        refusal = None
        converter = _converter_of(node.domain, node.operator)
        if converter is not None:
            try:
                return self._noted(node, converted(node, converter))
            except UnsupportedError as error:
                refusal = error
        body = standard_body(node)
        if body is None:
            raise refusal or UnsupportedError("the standard gives no body for inputs of these types")
        opsets = {**call.place.opsets, **opsets_of(body.opset_import, f"the body of {node.operator}")}
        try:
            return self._expanded(body, call_attributes(proto, schema), call, self.inside(call, body.output, opsets))
        except UnsupportedError as error:
            raise refusal or error from None

    def _noted(self, node: OnnxNode, results: Sequence[Operand]) -> Sequence[Operand]:
        """The results of a node; those that hold strings are noted. Raises UnsupportedError for strings that appear
        within a branch or a loop, outside of which they would be numbers."""
        moved = self.vocabularies.moved(node.call)
        given = node.given_vocabularies if moved is None else dict.fromkeys(range(len(results)), moved)
        if given and node.call.place.emitter is not self.emitter:
            raise UnsupportedError("strings in branches and loops are not supported", _ENCODED)
        for output, vocabulary in given.items():
            self.vocabularies.note(results[output], vocabulary)
        return results

    def _called(self, node: onnx.NodeProto, function: onnx.FunctionProto, call: Call) -> Results:
        opsets = opsets_of(function.opset_import, f"function {function.name!r}")
        return self._expanded(function, call_attributes(node, None), call, self.inside(call, function.output, opsets))

    def _expanded(
        self,
        function: onnx.FunctionProto,
        attributes: Mapping[str, onnx.AttributeProto],
        call: Call,
        inner: Place,
    ) -> Results:
        """The outputs of a function body over the inputs of its call; those that the call leaves out are unknown."""
        inputs, names = call.inputs, call.outputs
        if len(inputs) > len(function.input) or len(names) > len(function.output):
            raise FrontendError(
                f"function {function.name!r} has {len(function.input)} inputs and {len(function.output)} outputs, "
                f"its call {len(inputs)} and {len(names)}"
            )
        given = [*inputs, *[None] * (len(function.input) - len(inputs))]
        scope: Scope = ChainMap(dict(zip(function.input, given, strict=True)))
        self.read(nodes_in_order(instantiated(function, attributes), inner.prefix), scope, inner)
        outputs = zip(function.output, names, strict=False)
        return [present(scope, name) if wanted else UNKNOWN for name, wanted in outputs]


def _name_of(node: onnx.NodeProto) -> str:
    return text(node.name, "a node") or next((name for name in node.output if name), "")


def _schema_of(heading: Heading) -> OpSchema:
    """The description of an operator. Raises UnsupportedError if there is none, or no conversion."""
    domain, opset, operator = heading.domain, heading.opset, heading.operator
    if not opset:
        raise UnsupportedError(f"the model imports no operator set {domain or 'ai.onnx'!r}", "export the model anew")
    schema = schema_of(operator, domain, opset)
    if schema is None:
        known = f"{domain or 'ai.onnx'} {opset}"
        meant = likely_meant(operator, domain, opset)
        reason = f"ONNX has no operator of this name in {known}" + f"; {meant}" * bool(meant)
        raise UnsupportedError(reason, "export in standard ONNX, or bring the operator (docs/operators.md)")
    is_known = _converter_of(domain, operator) is not None or (not domain and operator in CONTROL_FLOW)
    if not is_known and not has_standard_body(schema):
        refusals = {"": REFUSALS, ml.DOMAIN: ml.REFUSALS}.get(domain, {})
        raise UnsupportedError(*refusals.get(operator, ("sateen has no such operator", "")))
    return schema


def _converter_of(domain: str, operator: str) -> Converter | None:
    """The converter of a standard operator."""
    return {"": CONVERTERS, ml.DOMAIN: ml.CLASSIC}.get(domain, {}).get(operator)
