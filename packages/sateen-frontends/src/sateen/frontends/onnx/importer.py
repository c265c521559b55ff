"""Reads ONNX models: a Graph and its parameters out of a file's data, or a report of all that stands in the way.

A node whose inputs are known and small is evaluated (folding), else converted, else replaced by its function body. What
can't be is a gap; the nodes behind it are looked up by name, so that one run reports all gaps.
"""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import onnx

from sateen.frontends.onnx import contrib
from sateen.frontends.onnx.control_flow import Body, choose, loop, require_branch, scan
from sateen.frontends.onnx.converters import CONVERTERS
from sateen.frontends.onnx.custom import convert_custom, operator_named, schema_of_operator
from sateen.frontends.onnx.emitter import Allowance, Emitter, Operand, type_of
from sateen.frontends.onnx.folding import evaluated, outputs_of
from sateen.frontends.onnx.functions import call_attributes, has_standard_body, instantiated, standard_body
from sateen.frontends.onnx.loading import Model, load, text
from sateen.frontends.onnx.node import Converter, ImportedNode, UnsupportedError
from sateen.frontends.onnx.refusals import REFUSALS
from sateen.frontends.onnx.report import Gap, Report
from sateen.frontends.onnx.schemas import likely_meant, schema_of
from sateen.frontends.onnx.signature import bound, declared_type, input_types, require_known
from sateen.frontends.onnx.structure import (
    check_function_calls,
    check_structure,
    in_order,
    opsets_of,
    plain_domain,
    reads,
)
from sateen.frontends.onnx.tensors import Array, tensor_bytes, to_array
from sateen.graph_ir.graph import Graph, NodeSpan, Value
from sateen.graph_ir.op_set import OpSet
from sateen.graph_ir.ops import OPS
from sateen.graph_ir.ops.element_wise import Identity
from sateen.graph_ir.types import Symbol, TensorType
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError, SateenError
from sateen.tensor_ir.ir.expr import int_range

Source = str | Path | bytes | onnx.ModelProto | Model


def from_onnx(
    source: Source,
    *,
    shapes: Mapping[str, Sequence[int]] = {},  # never written to
    dims: Mapping[str, int] = {},
    constants: Mapping[str, Array | float] = {},
    operators: OpSet = OPS,
) -> tuple[Graph, dict[str, Array]]:
    """Read an ONNX model: a path, its bytes or its message.

    `shapes` gives inputs their shapes, `dims` gives dimensions that the model names their extents, `constants` makes
    inputs constant, by an array or, for a scalar, a number; dimensions that stay unknown are Symbols. `operators` may
    have some of other packages, for nodes of their domain and type that are not ours. The second result holds the data
    of the graph's parameters by name. Raises FrontendError where the model is malformed or has nodes that can't be
    compiled, naming all of them.
    """
    graph, report = import_onnx(source, shapes, dims, constants, operators)
    if graph is None:
        raise FrontendError(str(report))
    return graph, {value.name: data for value, data in graph.parameters.items()}


def check_onnx(
    source: Source,
    *,
    shapes: Mapping[str, Sequence[int]] = {},
    dims: Mapping[str, int] = {},
    constants: Mapping[str, Array | float] = {},
    operators: OpSet = OPS,
) -> Report:
    """What of a model can't be read as a graph, all at once. Raises FrontendError where it is malformed."""
    return import_onnx(source, shapes, dims, constants, operators)[1]


def import_onnx(
    source: Source,
    shapes: Mapping[str, Sequence[int]],
    dims: Mapping[str, int],
    constants: Mapping[str, Array | float],
    operators: OpSet,
) -> tuple[Graph | None, Report]:
    """The graph of a model, None where it has gaps, and the report of these."""
    model = source if isinstance(source, Model) else load(source)
    try:
        return _Importer(model, shapes, dims, constants, operators).run()
    except FrontendError as error:
        error.add_note(f"in model {model.name!r}")
        raise


@dataclass(frozen=True, slots=True)
class _Unknown:
    """What a gap, or a node behind one, would compute."""


UNKNOWN = _Unknown()
CONTROL_FLOW = frozenset({"If", "Loop", "Scan"})
Scope = ChainMap[str, Operand | _Unknown | None]
"""What names stand for; None: an optional input of a function that its call leaves out."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where nodes stand: the operator sets there, the graph that they become part of, and what holds them if not the
    main graph itself.

    `names` are what a branch or function calls its results and what the node that holds it calls them. `spans` are of
    the node that they stand for where that is another one. A trial raises a gap, which is reported elsewhere. `remedy`
    is what helps with all gaps there.
    """

    opsets: Mapping[str, int]
    emitter: Emitter
    prefix: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    spans: tuple[NodeSpan, ...] = ()
    depth: int = 0
    is_trial: bool = False
    remedy: str = ""

    @property
    def is_inner(self) -> bool:
        return bool(self.spans)


class _Importer:
    def __init__(
        self,
        model: Model,
        shapes: Mapping[str, Sequence[int]],
        dims: Mapping[str, int],
        constants: Mapping[str, Array | float],
        known: OpSet,
    ) -> None:
        self.model = model
        self.known = known
        self.graph = model.proto.graph
        self.opsets = check_structure(model)
        self.functions = {
            (plain_domain(function.domain), function.name, function.overload): function
            for function in model.proto.functions
        }
        check_function_calls(self.functions)
        self.initializers = {tensor.name: tensor for tensor in self.graph.initializer}
        self.constants = constants
        inputs = [value for value in self.graph.input if value.name not in self.initializers]
        self.inputs, self.dims = input_types(inputs, shapes, dims)
        self.open_dimensions = {symbol for type_ in self.inputs.values() for symbol in _symbols(type_)}
        self.allowance = Allowance()
        outputs = [output.name for output in self.graph.output]
        self.emitter = self.emitter_of(self.graph.name or "graph", self._names(), outputs)
        self.scope: Scope = ChainMap({})
        self.declared = {value.name: value for value in (*self.graph.value_info, *self.graph.output)}
        self.gaps: list[Gap] = []
        self.operators: Counter[str] = Counter()
        self.unchecked = 0
        self.expanded = 0

    def emitter_of(self, name: str, reserved: Sequence[str], outputs: Sequence[str]) -> Emitter:
        """An emitter of a graph whose own values have the reserved names."""
        return Emitter(name, reserved, outputs, self.model.limits.tensor_bytes, self.allowance)

    def _names(self) -> list[str]:
        """All names that values of the main graph have."""
        inputs = [value.name for value in self.graph.input]
        return [*inputs, *self.initializers, *(name for node in self.graph.node for name in node.output)]

    def run(self) -> tuple[Graph | None, Report]:
        self._bind_inputs()
        self._read_initializers(self.graph, self.scope, self.constants, self.model.weights)
        self._import_nodes(self.graph.node, self.scope, _Place(self.opsets, self.emitter))
        report = Report(self.model.name, self.opsets, dict(self.operators), tuple(self.gaps), self.unchecked)
        if self.gaps:
            return None, report
        for value in self.graph.output:
            self.emitter.output(self._output(value))
        return self.emitter.finish(), report

    def _bind_inputs(self) -> None:
        for name, type_ in self.inputs.items():
            if name not in self.constants:
                self.scope[name] = self.emitter.input(name, type_)
        require_known(self.constants, self.inputs, "constants (--bind)", "inputs")
        for name, given in self.constants.items():
            type_ = self.inputs[name]
            data = _data_of(name, given, type_.dtype)
            fits = len(data.shape) == type_.rank and all(
                not isinstance(d, int) or d == extent for d, extent in zip(type_.shape, data.shape, strict=True)
            )
            if DType.of(data.dtype) != type_.dtype or not fits:
                raise FrontendError(
                    f"constant {name!r}: expected {type_}, found {DType.of(data.dtype)}{list(data.shape)}"
                )
            self.scope[name] = data

    def _read_initializers(
        self,
        graph: onnx.GraphProto,
        scope: Scope,
        outer_names: Mapping[str, object] = {},
        weights: Mapping[int, memoryview] = {},
    ) -> None:
        """Data with the graph, or by position in `weights`; an input that has some is a constant."""
        remaining = self.model.limits.tensor_bytes
        for index, tensor in enumerate(graph.initializer):
            if tensor.name in outer_names:
                raise FrontendError(f"constant {tensor.name!r} is an initialiser of the model already")
            what = f"initialiser {tensor.name!r}"
            scope[tensor.name] = to_array(tensor, self.model.folder, what, remaining, weights.get(index))
            remaining -= tensor_bytes(tensor, what)

    def _decode(self, tensor: onnx.TensorProto) -> Array:
        return to_array(tensor, self.model.folder, f"tensor {tensor.name!r}", self.model.limits.tensor_bytes)

    def _output(self, declared: onnx.ValueInfoProto) -> Value:
        """An output of the graph under its own name."""
        name = declared.name
        operand = self.scope[name]
        assert isinstance(operand, (Value, np.ndarray)), name
        value = self.emitter.value(operand, f"{name}.data")
        if declared.type.WhichOneof("value") is not None:
            type_ = declared_type(declared)
            if type_ is not None and type_.dtype != value.type.dtype:
                raise FrontendError(f"output {name!r} is declared {type_.dtype}, but computed as {value.type.dtype}")
        if value.name == name:
            return value
        return self.emitter.add(Identity(), (value,), (name,), (NodeSpan(self.model.name, name, "Identity"),))[0]

    def _import_nodes(self, nodes: Sequence[onnx.NodeProto], scope: Scope, place: _Place) -> None:
        for proto in in_order(nodes, place.prefix or self.model.name):
            if place.depth:
                self._count_expanded()
            else:
                self.operators[_qualified(proto)] += 1
            scope.update(zip(proto.output, self._import_node(proto, scope, place), strict=False))

    def _count_expanded(self) -> None:
        self.expanded += 1
        if self.expanded > self.model.limits.expanded:
            raise FrontendError(f"expected at most {self.model.limits.expanded} nodes from functions, found more")

    def _import_node(self, proto: onnx.NodeProto, scope: Scope, place: _Place) -> Sequence[Operand | _Unknown]:
        """The outputs of a node; of a gap, what the model declares of them."""
        try:
            return self._outputs_of(proto, scope, place)
        except SateenError as error:
            if place.is_inner or place.is_trial:
                remedy = error.help if isinstance(error, UnsupportedError) else ""
                raise UnsupportedError(
                    f"inside it, node {_name_of(proto)!r} ({proto.op_type}): {error}", remedy
                ) from error
            self._report(proto, scope, place, error)
        return [self._declared(name) for name in proto.output]

    def _outputs_of(self, proto: onnx.NodeProto, scope: Scope, place: _Place) -> Sequence[Operand | _Unknown]:
        domain = plain_domain(proto.domain)
        inputs = [scope[name] if name else None for name in proto.input]
        known = [operand for operand in inputs if not isinstance(operand, _Unknown)]
        function = self.functions.get((domain, proto.op_type, proto.overload))
        spans = place.spans or (NodeSpan(self.model.name, _name_of(proto), proto.op_type),)
        opset = place.opsets.get(domain)
        if function is None and domain == contrib.DOMAIN and opset is not None:
            function = contrib.contrib_function(proto)
        schema = None if opset is None else schema_of(proto.op_type, domain, opset)
        custom = None
        if function is None and (refusal := self._refusal(proto, domain, opset)) is not None:
            custom = operator_named(self.known, domain, proto.op_type)
            if custom is None or opset is None:
                raise refusal
            schema = schema_of_operator(custom)
        if len(known) < len(inputs):
            self.unchecked += 1
            return [self._declared(name) for name in proto.output]
        names = [place.names.get(name) or self._inner_name(name, place) for name in proto.output]
        if function is not None:
            opsets = opsets_of(function.opset_import, f"function {function.name!r}")
            inner = self._inside(place, opsets, names, function.output, spans)
            return self._expand(function, call_attributes(proto, None), known, names, inner)
        assert schema is not None
        assert opset is not None
        node = ImportedNode(proto, schema, opset, known, names, place.is_inner, spans, place.emitter, self._decode)
        if custom is not None:
            return convert_custom(node, custom)
        if proto.op_type in CONTROL_FLOW and not domain:
            results = self._control_flow(node, _Bodies(self, scope, names, spans, place))
            return [self._declared(name) for name in proto.output] if results is None else results
        return self._converted(node, known, names, spans, place)

    def _refusal(self, proto: onnx.NodeProto, domain: str, opset: int | None) -> UnsupportedError | None:
        """Why an operator can't be converted whatever its inputs are; None where it may be."""
        if opset is None:
            return UnsupportedError(
                f"the model imports no operator set {domain or 'ai.onnx'!r}", "export the model anew"
            )
        schema = schema_of(proto.op_type, domain, opset)
        if schema is None:
            known = f"{domain or 'ai.onnx'} {opset}"
            meant = likely_meant(proto.op_type, domain, opset)
            reason = f"ONNX has no operator of this name in {known}" + f"; {meant}" * bool(meant)
            return UnsupportedError(reason, "export in standard ONNX, or bring the operator (docs/operators.md)")
        is_control_flow = proto.op_type in CONTROL_FLOW and not domain
        if _converter_of(proto, domain) is None and not is_control_flow and not has_standard_body(schema):
            unknown = ("sateen has no such operator", "")
            return UnsupportedError(*(unknown if domain else REFUSALS.get(proto.op_type, unknown)))
        return None

    def _converted(
        self,
        node: ImportedNode,
        inputs: Sequence[Operand | None],
        names: Sequence[str],
        spans: tuple[NodeSpan, ...],
        place: _Place,
    ) -> Sequence[Operand | _Unknown]:
        """Evaluated, else converted, else expanded to its function body."""
        converter = _converter_of(node.proto, node.domain)
        refusal = None
        try:
            folded = evaluated(node, converter)
            if folded is not None:
                return folded
            if converter is not None:
                return outputs_of(converter(node))
        except UnsupportedError as error:
            refusal = error
        body = standard_body(node)
        if body is None:
            raise refusal or UnsupportedError("the standard gives no body for inputs of these types")
        opsets = {**place.opsets, **opsets_of(body.opset_import, f"the body of {node.operator}")}
        inner = self._inside(place, opsets, names, body.output, spans)
        try:
            return self._expand(body, call_attributes(node.proto, node.schema), inputs, names, inner)
        except UnsupportedError as error:
            raise refusal or error from None

    def _inner_name(self, name: str, place: _Place) -> str:
        return place.emitter.beside(f"{place.prefix}/{name}") if name and place.is_inner else name

    def _expand(
        self,
        function: onnx.FunctionProto,
        attributes: Mapping[str, onnx.AttributeProto],
        inputs: Sequence[Operand | None],
        names: Sequence[str],
        inner: _Place,
    ) -> Sequence[Operand | _Unknown]:
        """The outputs of a function body over the inputs of its call; those that the call leaves out are unknown."""
        if len(inputs) > len(function.input) or len(names) > len(function.output):
            raise FrontendError(
                f"function {function.name!r} has {len(function.input)} inputs and {len(function.output)} outputs, "
                f"its call {len(inputs)} and {len(names)}"
            )
        given = [*inputs, *[None] * (len(function.input) - len(inputs))]
        scope: Scope = ChainMap(dict(zip(function.input, given, strict=True)))
        self._import_nodes(instantiated(function, attributes), scope, inner)
        outputs = zip(function.output, names, strict=False)
        return [_present(scope, name) if wanted else UNKNOWN for name, wanted in outputs]

    def _control_flow(self, node: ImportedNode, bodies: _Bodies) -> Sequence[Operand | _Unknown] | None:
        """The outputs of an If, a Loop or a Scan; None behind a gap."""
        match node.operator:
            case "Loop":
                return loop(node, bodies)
            case "Scan":
                return scan(node, bodies)
            case _ if node.is_value(0):
                return choose(node, bodies)
        graph = node.attribute("then_branch" if node.scalar(0) else "else_branch")
        require_branch(node, graph)
        return bodies.take(graph)

    def _inside(
        self,
        place: _Place,
        opsets: Mapping[str, int],
        names: Sequence[str],
        results: Sequence[str],
        spans: tuple[NodeSpan, ...],
    ) -> _Place:
        """The place inside a node whose outputs are called `names` outside and `results` inside."""
        first = next((name for name in names if name), "body")
        named = {inner: name for inner, name in zip(results, names, strict=False) if name}
        return replace(place, opsets=opsets, prefix=first, names=named, spans=spans, depth=self._deeper(place))

    def _deeper(self, place: _Place) -> int:
        """The depth inside a node."""
        if place.depth >= self.model.limits.nesting:
            raise FrontendError(f"expected functions and branches nested at most {self.model.limits.nesting} deep")
        return place.depth + 1

    def _report(self, proto: onnx.NodeProto, scope: Scope, place: _Place, error: SateenError) -> None:
        domain = plain_domain(proto.domain)
        remedies = [error.help if isinstance(error, UnsupportedError) else "", place.remedy]
        self.gaps.append(
            Gap(
                _name_of(proto),
                proto.op_type,
                domain,
                place.opsets.get(domain, 0),
                tuple(_type_text(name, scope) for name in proto.input),
                str(error),
                "; or ".join(filter(None, remedies)),
            )
        )

    def _declared(self, name: str) -> Operand | _Unknown:
        """A stand-in of the type that the model declares for a value, so that what follows a gap can be checked. A type
        of dimensions that are none of the inputs' would mean gaps of its own."""
        value = self.declared.get(name)
        if value is None or value.type.WhichOneof("value") is None:
            return UNKNOWN
        try:
            type_ = declared_type(value)
        except FrontendError:
            return UNKNOWN
        if type_ is None:
            return UNKNOWN
        known = bound(type_, self.dims)
        return Value(name, known) if self.open_dimensions.issuperset(_symbols(known)) else UNKNOWN


@dataclass(frozen=True, slots=True)
class _Bodies:
    """Reads the graphs within a node: `scope` is what they see, `names` are those of the node's outputs."""

    importer: _Importer
    scope: Scope
    names: Sequence[str]
    spans: tuple[NodeSpan, ...]
    place: _Place

    def open(self, graph: onnx.GraphProto) -> Body:
        """A body of which nothing is read yet."""
        names = [
            *(value.name for value in (*graph.input, *graph.initializer)),
            *(name for node in graph.node for name in node.output),
        ]
        outputs = [output.name for output in graph.output]
        emitter = self.importer.emitter_of(text(graph.name, "a graph") or "body", names, outputs)
        return Body(graph, emitter, self.place.emitter, self.spans)

    def read(
        self, body: Body, given: Mapping[str, Operand], *, is_trial: bool = False, remedy: str = ""
    ) -> list[Operand] | None:
        """The outputs of a body whose inputs are `given`; None behind a gap. A trial raises a gap instead. `remedy` is
        what else would help with a gap."""
        graph = body.proto
        inside: Scope = ChainMap({})
        for name in dict.fromkeys((*(n for node in graph.node for n in reads(node)), *(o.name for o in graph.output))):
            if name in self.scope:
                operand = self.scope[name]
                inside[name] = body.capture(operand) if isinstance(operand, Value) else operand
        inside.update(given)
        depth = self.importer._deeper(self.place)
        place = replace(
            self.place,
            emitter=body.emitter,
            names={},
            depth=depth,
            is_trial=is_trial or self.place.is_trial,
            remedy=remedy or self.place.remedy,
        )
        return self._import(graph, inside, place)

    def take(self, graph: onnx.GraphProto) -> list[Operand] | None:
        """The outputs of a branch whose nodes take the place of the node; None behind a gap."""
        results = [output.name for output in graph.output]
        place = self.importer._inside(self.place, self.place.opsets, self.names, results, self.spans)
        return self._import(graph, self.scope.new_child(), place)

    def inline(self, graph: onnx.GraphProto, given: Mapping[str, Operand], name: str) -> list[Operand] | None:
        """The outputs of a graph whose nodes stand beside the node, below `name`; None behind a gap."""
        prefix = f"{next((n for n in self.names if n), 'body')}/{name}"
        place = self.importer._inside(self.place, self.place.opsets, [prefix], [], self.spans)
        return self._import(graph, self.scope.new_child(dict(given)), place)

    def _import(self, graph: onnx.GraphProto, scope: Scope, place: _Place) -> list[Operand] | None:
        self.importer._read_initializers(graph, scope)
        self.importer._import_nodes(graph.node, scope, place)
        results = [_present(scope, output.name) for output in graph.output]
        known = [result for result in results if not isinstance(result, _Unknown)]
        return known if len(known) == len(results) else None


def _data_of(name: str, given: Array | float, dtype: DType) -> Array:
    """What is given, as an array: a number of Python, which has no width, in the wanted type where that holds it."""
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        return np.asarray(given)
    try:
        wide = np.array(float(given))
    except OverflowError:
        raise FrontendError(f"constant {name!r}: expected {dtype}, found an integer beyond float64") from None
    if dtype.is_float:
        with np.errstate(over="ignore"):
            data = wide.astype(dtype.numpy)
        return data if np.isinf(data) == np.isinf(wide) else wide
    least, most = int_range(dtype) if dtype.is_int else (0, -1)
    is_held = isinstance(given, int) and least <= given <= most
    return np.array(given, dtype.numpy if is_held else None)


def _symbols(type_: TensorType) -> set[Symbol]:
    return set(map(Symbol, type_.symbols))


def _converter_of(proto: onnx.NodeProto, domain: str) -> Converter | None:
    return None if domain else CONVERTERS.get(proto.op_type)


def _present(scope: Scope, name: str) -> Operand | _Unknown:
    operand = scope.get(name)
    if operand is None:
        raise FrontendError(f"the body computes no {name!r}")
    return operand


def _name_of(proto: onnx.NodeProto) -> str:
    return text(proto.name, "a node") or next((name for name in proto.output if name), "")


def _qualified(proto: onnx.NodeProto) -> str:
    domain = plain_domain(proto.domain)
    return f"{domain}.{proto.op_type}" if domain else proto.op_type


def _type_text(name: str, scope: Scope) -> str:
    operand = scope.get(name) if name else None
    if operand is None:
        return "none"
    return "?" if isinstance(operand, _Unknown) else str(type_of(operand))
