"""Makes a Graph and its parameters of a Keras model, or a report of all gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from sateen.frontends.core.bodies import Bodies
from sateen.frontends.core.custom import custom_operator
from sateen.frontends.core.cut import part_of
from sateen.frontends.core.folding import converted
from sateen.frontends.core.importer import Conversion, Importer, Results
from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.node import Converter
from sateen.frontends.core.place import Call, Heading, Place
from sateen.frontends.core.report import Report, UnsupportedError, in_model
from sateen.frontends.core.source import Limits
from sateen.frontends.keras.converters import CONVERTERS
from sateen.frontends.keras.custom import converted_custom
from sateen.frontends.keras.layers import Layer
from sateen.frontends.keras.masks import MIXED, gives_mask, mask_name, with_masks
from sateen.frontends.keras.networks import shape_of_input
from sateen.frontends.keras.node import KerasNode, result_dtype
from sateen.frontends.keras.refusals import refusal_of
from sateen.frontends.keras.steps import Step, steps_of
from sateen.frontends.keras.training import require_inference
from sateen.frontends.keras.version import Version
from sateen.frontends.keras.weights import Weights
from sateen.graph_ir.ir import Array, Graph, OpSet, Symbol
from sateen.runtime.dtype import DType
from sateen.runtime.errors import ArgumentError, FrontendError
from sateen.topi.operators import Operator


@dataclass(frozen=True, slots=True)
class KerasFile:
    """A model that is read and checked as a file: its network, the data of its variables, and the Keras that wrote
    it."""

    name: str
    network: Layer
    weights: Weights
    version: Version
    limits: Limits


def declarations_of(file: KerasFile) -> list[Declaration]:
    """The inputs of a model."""
    inputs = steps_of(file.network, file.limits).inputs
    return [_declaration(layer, inputs[0]) for layer in inputs]


def _declaration(layer: Layer, first: Layer) -> Declaration:
    """An InputLayer; dimensions that its shape leaves open are Symbols, `input.axis`. The batch is that of the first
    input: a model has one."""
    shape, dtype = shape_of_input(layer.config), layer.config.get("dtype") or "float32"
    where = f"input {layer.name!r}"
    if layer.config.get("sparse") or layer.config.get("ragged"):
        raise FrontendError(f"{where}: sparse and ragged tensors are not supported; save the model with dense inputs")
    if isinstance(dtype, dict):
        inner = dtype.get("config")
        dtype = inner.get("name") if isinstance(inner, dict) else None
    try:
        type_ = DType.of(str(dtype))
    except ArgumentError:
        remedy = "begin the network behind what reads it: inputs=[...], or --from NAME"
        raise FrontendError(f"{where}: expected a type of numbers, found {dtype!r}; {remedy}") from None
    if shape is None:
        return Declaration(layer.name, type_, None)
    fits = isinstance(shape, list) and all(d is None or (type(d) is int and d > 0) for d in shape)
    if not fits:
        raise FrontendError(f"{where}: expected a shape, found {shape!r}")
    named = [f"{layer.name if axis else first.name}.{axis}" for axis in range(len(shape))]
    dims = tuple(Symbol(name) if d is None else d for name, d in zip(named, shape, strict=True))
    return Declaration(layer.name, type_, dims)


def import_keras(file: KerasFile, bindings: Bindings, operators: OpSet) -> tuple[Graph | None, Report]:
    """The graph of a model, None if it has gaps, and the report of these. Raises FrontendError if it is malformed."""
    with in_model(file.name):
        return KerasImporter(file, bindings, operators).run()


class KerasImporter(Importer[Step]):
    def __init__(self, file: KerasFile, bindings: Bindings, operators: OpSet) -> None:
        self.file = file
        self.known = operators
        whole = steps_of(file.network, file.limits)
        inputs = {layer.name: layer for layer in whole.inputs}
        steps = with_masks(whole.steps, file.version)
        self.part = part_of(steps, list(inputs), whole.outputs, _reads, _gives, bindings)
        declarations = [_declaration(inputs[name], whole.inputs[0]) for name in self.part.inputs]
        names = [*inputs, *(name for step in steps for name in _gives(step))]
        self.begun = {name: self._declared_inside(name, steps) for name in bindings.inputs if name not in inputs}
        graph = file.network.name
        super().__init__(file.name, graph, declarations, names, self.part.outputs, bindings, file.limits)

    def _declared_inside(self, name: str, steps: Sequence[Step]) -> Declaration:
        """A value at which the network begins, of the type that the network before it gives, if that can be compiled;
        extents that are computed there are open. Otherwise the layer tells its type, and its shape is unknown."""
        try:
            before, _ = KerasImporter(self.file, Bindings(outputs=[name]), self.known).run()
        except FrontendError:
            before = None
        if before is None:
            step = next(step for step in steps if name in _gives(step))
            return Declaration(name, result_dtype(step.layer), None)
        (found,) = (value.type for value in before.outputs)
        dims = (d if isinstance(d, (int, Symbol)) else Symbol(f"{name}.{axis}") for axis, d in enumerate(found.shape))
        return Declaration(name, found.dtype, tuple(dims))

    def run(self) -> tuple[Graph | None, Report]:
        self.bind_inputs()
        self.read(self.part.nodes, self.scope, Place(self.emitter))
        return self.finish({})

    def heading_of(self, node: Step, place: Place) -> Heading:
        kind = node.layer.kind
        domain = "keras.ops" if kind.startswith("ops.") else ""
        term = kind.removeprefix("?") if kind.startswith("?") else node.layer.term  # a user's, as it is registered
        return Heading(node.name, term, tuple(_read_or_absent(node)), tuple(_gives(node)), domain)

    def conversion_of(self, node: Step, heading: Heading) -> Conversion:
        require_inference(node.layer, node.arguments, self.file.version)
        kind = _kind_of(node)
        if kind in CONVERTERS:
            return partial(self._convert, node, CONVERTERS[kind])
        operator = custom_operator(self.known, kind.removeprefix("?"), "keras")
        if operator is None:
            raise refusal_of(node.layer)
        return partial(self._custom, node, operator)

    def _custom(self, step: Step, operator: type[Operator], call: Call) -> Results:
        node = KerasNode(call, step, self._weights_of(step.layer), self.file.version, Bodies(self, call))
        return converted_custom(node, operator)

    def _convert(self, step: Step, converter: Converter[KerasNode], call: Call) -> Results:
        if MIXED in step.masks:
            remedy = "give the layers one mask, or leave out mask_zero and Masking"
            raise UnsupportedError("masks of several tensors meet in its input", remedy)
        node = KerasNode(call, step, self._weights_of(step.layer), self.file.version, Bodies(self, call))
        return converted(node, converter)

    def _weights_of(self, layer: Layer) -> Mapping[str, Array]:
        """The variables of a layer, or of the cell that it runs."""
        cells = [part.layer for part in layer.parts if part.group == "cell"]
        return {name: data for one in (layer, *cells) for name, data in self.file.weights.get(one, {}).items()}

    def declaration(self, name: str) -> Declaration | None:
        """Files do not say the types of inner tensors; those at which the network begins are found out."""
        return self.begun.get(name)


def _kind_of(step: Step) -> str:
    """The kind of a step's layer. An .h5 file of Keras 3 does not tell functions of keras.ops from layers: Add with two
    arguments, not a list, is the function."""
    kind = step.layer.kind
    function = f"ops.{kind}"
    is_function = kind not in CONVERTERS or len(step.arguments.positional) > 1
    return function if is_function and function in CONVERTERS else kind


def _reads(step: Step) -> Sequence[str]:
    return [name for name in (*step.inputs, *step.masks) if name and name != MIXED]


def _read_or_absent(step: Step) -> Sequence[str]:
    return [*step.inputs, *("" if name == MIXED else name for name in step.masks)]


def _gives(step: Step) -> Sequence[str]:
    return [*step.outputs, mask_name(step.outputs[0])] if gives_mask(step) else step.outputs
