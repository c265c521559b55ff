"""Makes a Graph and its parameters of a TensorFlow Lite model, or a report of all gaps."""

from __future__ import annotations

from functools import partial

from sateen.frontends.core.bodies import Bodies
from sateen.frontends.core.custom import custom_operator
from sateen.frontends.core.cut import part_of
from sateen.frontends.core.folding import converted
from sateen.frontends.core.importer import Conversion, Importer, Results
from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.operands import Operand
from sateen.frontends.core.place import Call, Heading, Place
from sateen.frontends.core.report import Report, UnsupportedError, in_model
from sateen.frontends.tflite.control_flow import CONTROL_FLOW
from sateen.frontends.tflite.converters import CONVERTERS, CUSTOM
from sateen.frontends.tflite.custom import converted_custom
from sateen.frontends.tflite.loading import TfliteFile
from sateen.frontends.tflite.model import DTYPES, Operation, Tensor
from sateen.frontends.tflite.node import Converter, TfliteNode
from sateen.frontends.tflite.refusals import CUT, REFUSALS, refusal_of
from sateen.graph_ir.ir import Graph, OpSet, Symbol, Value
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator

CUSTOM_DOMAIN = "custom"
"""The set of operators that the format does not define."""


def import_tflite(file: TfliteFile, bindings: Bindings, operators: OpSet) -> tuple[Graph | None, Report]:
    """The graph of a model, None if it has gaps, and the report of these. Raises FrontendError if it is malformed."""
    with in_model(file.name):
        return TfliteImporter(file, bindings, operators).run()


class TfliteImporter(Importer[Operation]):
    def __init__(self, file: TfliteFile, bindings: Bindings, operators: OpSet) -> None:
        self.file = file
        self.known = operators
        main = file.main
        self.tensors = {tensor.name: tensor for tensor in main.tensors}
        inputs = list(dict.fromkeys(tensor.name for tensor in main.inputs))
        outputs = list(dict.fromkeys(tensor.name for tensor in main.outputs))
        self.part = part_of(main.operations, inputs, outputs, Operation.reads, Operation.gives, bindings)
        declarations = [declaration_of(self.tensors[name]) for name in self.part.inputs]
        names = list(self.tensors)
        super().__init__(file.name, main.name or "graph", declarations, names, self.part.outputs, bindings, file.limits)

    def run(self) -> tuple[Graph | None, Report]:
        self.bind_inputs()
        for name, data in self.file.main.data.items():
            self.define(self.scope, name, data)
        self.read(self.part.nodes, self.scope, Place(self.emitter))
        return self.finish({})

    def declaration(self, name: str) -> Declaration | None:
        tensor = self.tensors.get(name)
        return None if tensor is None else declaration_of(tensor)

    def heading_of(self, node: Operation, place: Place) -> Heading:
        names = tuple("" if tensor is None else tensor.name for tensor in node.inputs)
        given = tuple(node.gives())
        domain = "" if node.custom is None else CUSTOM_DOMAIN
        return Heading(given[0] if given else node.operator, node.operator, names, given, domain)

    def conversion_of(self, node: Operation, heading: Heading) -> Conversion:
        is_builtin = node.custom is None
        if is_builtin and node.operator in REFUSALS:
            raise refusal_of(node)
        for tensor in (*node.inputs, *node.outputs):
            if tensor is not None and tensor.gap:
                raise UnsupportedError(f"tensor {tensor.name!r} can't be read: {tensor.gap}", CUT)
        if is_builtin and node.operator in CONTROL_FLOW:
            return partial(self._control_flow, node)
        converter = (CONVERTERS if is_builtin else CUSTOM).get(node.operator)
        if converter is not None:
            return partial(self._converted_by, converter, node)
        operator = None if is_builtin else custom_operator(self.known, node.operator, "tflite")
        if operator is None:
            raise refusal_of(node)
        return partial(self._custom, operator, node)

    def _custom(self, operator: type[Operator], node: Operation, call: Call) -> Results:
        return converted_custom(TfliteNode(call, node), operator)

    def _converted_by(self, converter: Converter, node: Operation, call: Call) -> Results:
        results = converted(TfliteNode(call, node), converter)
        return [_as_declared(result, tensor) for result, tensor in zip(results, node.outputs, strict=False)]

    def _control_flow(self, node: Operation, call: Call) -> Results | None:
        return CONTROL_FLOW[node.operator](TfliteNode(call, node), Bodies(self, call), self.file.networks)


def _as_declared(result: Operand, tensor: Tensor) -> Operand:
    """Known integers in the type that the file gives them: dimensions are int64 while they are open."""
    dtype = DTYPES[tensor.type]
    if isinstance(result, Value) or result.dtype.kind != "i" or not dtype.is_int:
        return result
    return result.astype(dtype.numpy)


def declaration_of(tensor: Tensor) -> Declaration:
    """The type of a tensor; unknown dimensions are Symbols called `tensor.axis`. Raises FrontendError for elements that
    are no numbers."""
    if tensor.gap:
        raise FrontendError(f"{tensor.name!r}: expected a tensor of numbers, but {tensor.gap}")
    dtype = DTYPES[tensor.type]
    if tensor.shape is None:
        return Declaration(tensor.name, dtype, None)
    extents = enumerate(tensor.shape)
    return Declaration(
        tensor.name, dtype, tuple(Symbol(f"{tensor.name}.{axis}") if extent < 0 else extent for axis, extent in extents)
    )
