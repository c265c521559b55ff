"""Makes a Graph and its parameters of a TensorFlow network, or a report of all gaps."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from sateen.frontends.core.bodies import Bodies
from sateen.frontends.core.custom import custom_operator
from sateen.frontends.core.cut import part_of
from sateen.frontends.core.folding import converted
from sateen.frontends.core.importer import Conversion, Importer, Results
from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.place import Call, Heading, Place
from sateen.frontends.core.report import Report, UnsupportedError, in_model
from sateen.frontends.tensorflow.checkpoint import Checkpoint
from sateen.frontends.tensorflow.control_flow import CONTROL_FLOW
from sateen.frontends.tensorflow.converters import CONVERTERS
from sateen.frontends.tensorflow.converters.spectra import GIVES_COMPLEX
from sateen.frontends.tensorflow.custom import converted_custom
from sateen.frontends.tensorflow.declarations import declaration_of, declared_input, is_text
from sateen.frontends.tensorflow.dilation import with_dilations
from sateen.frontends.tensorflow.loading import TensorflowFile
from sateen.frontends.tensorflow.network import SAME, Network, named_as_results, regions_of, trimmed
from sateen.frontends.tensorflow.node import Converter, TensorflowNode
from sateen.frontends.tensorflow.objects import keys_of_objects
from sateen.frontends.tensorflow.operation import Operation, gives, reads
from sateen.frontends.tensorflow.refusals import refusal_of
from sateen.frontends.tensorflow.schemas.tensorflow_pb2 import TensorProto
from sateen.frontends.tensorflow.tensors import to_array
from sateen.frontends.tensorflow.variables import VARIABLES, keys_of, written_by
from sateen.graph_ir.ir import Array, Graph, OpSet, Value
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator

MOST_NAMED = 5
"""The most values that a message names."""


def import_tensorflow(
    file: TensorflowFile, network: Network, bindings: Bindings, operators: OpSet
) -> tuple[Graph | None, Report]:
    """The graph of a model, None if it has gaps, and the report of these. Raises FrontendError if it is malformed."""
    with in_model(file.name):
        return TensorflowImporter(file, network, bindings, operators).run()


class TensorflowImporter(Importer[Operation]):
    def __init__(self, file: TensorflowFile, network: Network, bindings: Bindings, operators: OpSet) -> None:
        self.file = file
        self.known = operators
        self.network = network
        self.begun = frozenset(bindings.inputs)
        wanted = replace(bindings, outputs=bindings.outputs or network.outputs)
        if not wanted.outputs:
            raise FrontendError("expected results that nothing reads, found none; name outputs: outputs=, or --to NAME")
        nodes = [one for one in network.operations if one.name not in network.inputs]
        self.part = part_of(nodes, list(network.inputs), network.outputs, reads, gives, wanted)
        self.operations = {name: one for one in network.operations for name in one.outputs}
        self.keys = {} if file.checkpoint is None else self._keys(file.checkpoint)
        inner = [one for region in regions_of(network.operations) for one in region.operations]
        names = [name for one in (*network.operations, *inner) for name in one.outputs]
        self._require_no_text()
        declarations = [
            declared_input(network.inputs[name], file.graph, network.shapes.get(name)) for name in self.part.inputs
        ]
        self.written = written_by(network.operations, self.part.outputs)
        super().__init__(file.name, "graph", declarations, names, self.part.outputs, bindings, file.limits)

    def _require_no_text(self) -> None:
        """Raises FrontendError for an input that is text, naming the values behind it that others read."""
        for name in self.part.inputs:
            if is_text(self.network.inputs[name]):
                wanted = {*self.part.outputs, *(read for one in self.part.nodes for read in reads(one))} - self.begun
                readers = [one for one in self.part.nodes if name in reads(one)]
                behind = [value for one in readers for value in gives(one) if value in wanted][:MOST_NAMED]
                listed = " ".join(f"--from {value}" for value in behind) or "--from NAME"
                raise FrontendError(
                    f"input {name!r} is text; begin the network behind it: inputs={behind or [...]}, or {listed}"
                )

    def _keys(self, checkpoint: Checkpoint) -> dict[str, str]:
        """The name in the checkpoint of each variable."""
        return {
            **keys_of(self.network.operations, checkpoint),
            **keys_of_objects(self.file.graph, self.file.objects, checkpoint),
        }

    def run(self) -> tuple[Graph | None, Report]:
        self.bind_inputs()
        nodes = trimmed(self.part.nodes, self.part.outputs)
        nodes = with_dilations(nodes, [*self.part.outputs, *self.begun])
        nodes = nodes if self.begun else named_as_results(nodes, self.part.outputs)
        self.read(nodes, self.scope, Place(self.emitter))
        return self.finish({})

    def declaration(self, name: str) -> Declaration | None:
        """Outputs have no declared type; what they are computed as is right."""
        if name in self.outputs and name not in self.begun:
            return None
        operation = self.operations.get(name)
        return None if operation is None else declaration_of(name, operation)

    def heading_of(self, node: Operation, place: Place) -> Heading:
        return Heading(node.name, node.type, node.inputs, node.outputs)

    def conversion_of(self, node: Operation, heading: Heading) -> Conversion:
        if node.type in VARIABLES:
            return partial(self._variable, node)
        if node.type in CONTROL_FLOW:
            return partial(self._control_flow, node)
        if node.type in CONVERTERS:
            return partial(self._convert, node, CONVERTERS[node.type])
        operator = custom_operator(self.known, node.type, "tensorflow")
        if operator is None:
            raise refusal_of(node.type)
        return partial(self._custom, node, operator)

    def _complete(self, operation: Operation, results: Results) -> Results:
        """The results. Raises FrontendError if others read more than there are."""
        if len(results) < len(operation.outputs):
            raise FrontendError(f"{operation.type} gives {len(results)} tensors, but {operation.outputs[-1]!r} is read")
        return results

    def _decode(self, tensor: TensorProto, what: str) -> Array:
        return to_array(tensor, what, self.limits.tensor_bytes)

    def _node(self, operation: Operation, call: Call) -> TensorflowNode:
        return TensorflowNode(operation, call, self._decode)

    def _output(self, name: str) -> Value:
        maker = self.operations.get(name)
        while maker is not None and maker.type in SAME and maker.inputs:
            maker = self.operations.get(maker.inputs[0])
        if maker is not None and maker.type in GIVES_COMPLEX:
            raise FrontendError(f"output {name!r} is complex; end the network at its Real, Imag or ComplexAbs")
        return super()._output(name)

    def _convert(self, operation: Operation, converter: Converter, call: Call) -> Results:
        return self._complete(operation, converted(self._node(operation, call), converter))

    def _custom(self, operation: Operation, operator: type[Operator], call: Call) -> Results:
        return self._complete(operation, converted_custom(self._node(operation, call), operator))

    def _control_flow(self, operation: Operation, call: Call) -> Results | None:
        results = CONTROL_FLOW[operation.type](self._node(operation, call), Bodies(self, call))
        return None if results is None else self._complete(operation, results)

    def _variable(self, operation: Operation, call: Call) -> Results:
        """The data of a variable, from the checkpoint."""
        if operation.name in self.written:
            raise UnsupportedError(
                "the network writes this variable while it runs",
                "save a function that takes the state as an argument and returns the next one",
            )
        if self.file.checkpoint is None:
            raise UnsupportedError(
                "its data is in a checkpoint, and none was found",
                "give the index of the checkpoint as weights=, or --weights FILE; or freeze the graph",
            )
        if operation.name not in self.keys:
            raise UnsupportedError(f"checkpoint {self.file.checkpoint.prefix!r} does not have it")
        data = self.file.checkpoint.read(self.keys[operation.name], self.limits.tensor_bytes)
        return self._complete(operation, [data])
