"""Makes one list of operations of a graph: calls of functions are replaced by the nodes of their bodies.

TensorFlow 2 keeps everything in functions; a graph only calls them. Nodes of a body are named below the call,
`call/node`, as by TensorFlow's own inlining. Loops and choices keep their functions as regions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sateen.frontends.core.source import Limits
from sateen.frontends.tensorflow.operation import Operation, Region, needed, owner_of, plain_tensor, tensor_name
from sateen.frontends.tensorflow.output_arguments import OUTPUT_ARGUMENTS
from sateen.frontends.tensorflow.schemas.tensorflow_pb2 import AttrValue, FunctionDef, GraphDef, NameAttrList, NodeDef
from sateen.runtime.errors import FrontendError, printable

CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
"""Operators that call the function in their attribute `f`."""
BODIES: Mapping[str, tuple[str, ...]] = {
    "Case": ("branches",),
    "If": ("then_branch", "else_branch"),
    "StatelessCase": ("branches",),
    "StatelessIf": ("then_branch", "else_branch"),
    "StatelessWhile": ("cond", "body"),
    "While": ("cond", "body"),
}
"""Operators that run functions: the attributes that name these."""
_MOST_INDEX = 1 << 16
"""The largest number of an output."""
_MOST_REFERENCES = 32
"""The most inputs, outputs and attributes of nodes from functions, for each node that may come from them: few have
more than 8."""


@dataclass(slots=True)
class _Part:
    """A list of operations that is being made. `same` maps results of calls to the tensors that they are."""

    operations: list[Operation] = field(default_factory=list)
    same: dict[str, str] = field(default_factory=dict)

    def resolved(self, tensor: str) -> str:
        """The tensor behind results of calls. Raises FrontendError if calls give each other's results."""
        seen: set[str] = set()
        while tensor in self.same:
            if tensor in seen:
                raise FrontendError(f"tensor {printable(tensor)!r} is its own result")
            seen.add(tensor)
            tensor = self.same[tensor]
        self.same.update(dict.fromkeys(seen, tensor))  # calls of calls may be a long row
        return tensor


@dataclass(frozen=True, slots=True)
class _Place:
    """Where nodes come from: how they refer to tensors, the beginning of their names, the attributes of the call."""

    tensor: Callable[[str], str]
    prefix: str = ""
    call: str = ""
    depth: int = 0
    attributes: Mapping[str, AttrValue] = field(default_factory=dict)


def inlined(graph: GraphDef, kept: Iterable[str], limits: Limits) -> tuple[list[Operation], Callable[[str], str]]:
    """The operations of a graph without calls, and the tensor that each of its tensors is then.

    `kept` are tensors that are read from outside. Raises FrontendError for names that are given twice, functions that
    do not exist or call themselves without end, and more nodes than the limits allow.
    """
    inliner = _Inliner(graph, limits)
    part = _Part()
    inliner.add(part, graph.node, _Place(plain_tensor))
    return inliner.finished(part, [part.resolved(tensor) for tensor in kept]), part.resolved


class _Inliner:
    def __init__(self, graph: GraphDef, limits: Limits) -> None:
        self.limits = limits
        self.functions: dict[str, FunctionDef] = {}
        self.remaining = limits.expanded
        self.references = limits.expanded * _MOST_REFERENCES
        for function in graph.library.function:
            if function.signature.name in self.functions:
                raise FrontendError(f"function {printable(function.signature.name)!r} is defined twice")
            self.functions[function.signature.name] = function

    def add(self, part: _Part, nodes: Iterable[NodeDef], place: _Place) -> None:
        """Add nodes, with the bodies of functions in place of their calls."""
        for node in nodes:
            name = place.prefix + node.name
            attributes = {key: _given(value, place.attributes) for key, value in node.attr.items()}
            inputs = tuple(place.tensor(reference) for reference in node.input if not reference.startswith("^"))
            if node.op in CALLS or node.op in self.functions:
                called = attributes["f"].func if "f" in attributes and node.op in CALLS else NameAttrList(name=node.op)
                self._call(part, name, called, inputs, replace(place, attributes=attributes))
                continue
            controls = tuple(place.prefix + reference[1:] for reference in node.input if reference.startswith("^"))
            bodies = tuple(self._region(name, function, place) for function in _bodies(node.op, attributes))
            part.operations.append(Operation(name, node.op, inputs, (), attributes, controls, place.call, bodies))

    def _call(self, part: _Part, name: str, called: NameAttrList, inputs: Sequence[str], place: _Place) -> None:
        function, inner = self._entered(called, name, place)
        outputs = self._body(part, function, inputs, inner)
        part.same.update((tensor_name(name, index), tensor) for index, tensor in enumerate(outputs))

    def _region(self, name: str, called: NameAttrList, place: _Place) -> Region:
        """The graph of a function that a loop or a choice runs."""
        function, inner = self._entered(called, f"{name}/{called.name}", place)
        part = _Part()
        inputs = tuple(inner.prefix + argument.name for argument in function.signature.input_arg)
        outputs = self._body(part, function, inputs, inner)
        results = tuple(part.resolved(tensor) for tensor in outputs)
        return Region(called.name, inputs, results, needed(self.finished(part, results), results))

    def _entered(self, called: NameAttrList, name: str, place: _Place) -> tuple[FunctionDef, _Place]:
        """A function, and the place inside it."""
        function = self.functions.get(called.name)
        if function is None:
            raise FrontendError(f"node {printable(name)!r} calls function {printable(called.name)!r}, which is missing")
        if place.depth >= self.limits.nesting:
            raise FrontendError(f"expected functions nested at most {self.limits.nesting} deep")
        self.remaining -= len(function.node_def)
        self.references -= len(function.signature.input_arg) + len(function.signature.output_arg)
        self.references -= sum(len(node.input) + len(node.attr) for node in function.node_def)
        if self.remaining < 0:
            raise FrontendError(f"expected at most {self.limits.expanded} nodes from functions, found more")
        if self.references < 0:
            most = self.limits.expanded * _MOST_REFERENCES
            raise FrontendError(f"expected at most {most} inputs, outputs and attributes in functions, found more")
        attributes = dict(called.attr) or place.attributes
        inner = _Place(str, f"{name}/", place.call or name, place.depth + 1, attributes)
        return function, inner

    def _body(self, part: _Part, function: FunctionDef, inputs: Sequence[str], place: _Place) -> list[str]:
        """Add the nodes of a function; its results."""
        signature = function.signature
        if len(inputs) < len(signature.input_arg):
            raise FrontendError(
                f"function {printable(signature.name)!r} takes {len(signature.input_arg)} tensors, found {len(inputs)}"
            )
        references = _References(function, self.functions, inputs, place.prefix)
        self.add(part, function.node_def, replace(place, tensor=references.tensor))
        missing = [output.name for output in signature.output_arg if output.name not in function.ret]
        if missing:
            raise FrontendError(f"function {printable(signature.name)!r} does not compute {printable(missing[0])!r}")
        return [references.tensor(function.ret[output.name]) for output in signature.output_arg]

    def finished(self, part: _Part, kept: Sequence[str]) -> list[Operation]:
        """The operations, with resolved inputs, and the outputs that are read or kept."""
        resolved = [
            replace(operation, inputs=tuple(map(part.resolved, operation.inputs))) for operation in part.operations
        ]
        read = [*kept, *(tensor for operation in resolved for tensor in operation.inputs)]
        most = {operation.name: 0 for operation in resolved}
        if len(most) < len(resolved):
            raise FrontendError(f"node {printable(_repeated(resolved))!r} is defined twice")
        for tensor in read:
            owner, index = owner_of(tensor), _index(tensor)
            if owner in most:
                most[owner] = max(most[owner], index)
        return [
            replace(operation, outputs=tuple(tensor_name(operation.name, i) for i in range(most[operation.name] + 1)))
            for operation in resolved
        ]


def _given(value: AttrValue, call: Mapping[str, AttrValue]) -> AttrValue:
    """An attribute; in a function it may stand for one of the call."""
    return call.get(value.placeholder, value) if value.WhichOneof("value") == "placeholder" else value


def _bodies(operator: str, attributes: Mapping[str, AttrValue]) -> list[NameAttrList]:
    """The functions that an operator runs."""
    found: list[NameAttrList] = []
    for name in BODIES.get(operator, ()):
        if name not in attributes:
            raise FrontendError(f"expected attribute {name!r} of {operator}, found none")
        found += attributes[name].list.func if operator.endswith("Case") else [attributes[name].func]
    return found


def _index(tensor: str) -> int:
    """The number of an output."""
    _, colon, number = tensor.partition(":")
    if not colon:
        return 0
    if not (number.isascii() and number.isdigit() and len(number) < 6 and int(number) < _MOST_INDEX):
        raise FrontendError(f"expected tensors called NODE or NODE:NUMBER, found {printable(tensor)!r}")
    return int(number)


def _repeated(operations: Sequence[Operation]) -> str:
    counts = Counter(operation.name for operation in operations)
    return next(name for name, count in counts.items() if count > 1)


class _References:
    """How the nodes of a function refer to tensors: `argument`, or `node:output:number`, the number being that within
    a list (tensorflow/core/framework/function.proto)."""

    def __init__(
        self, function: FunctionDef, functions: Mapping[str, FunctionDef], inputs: Sequence[str], prefix: str
    ) -> None:
        self.name = function.signature.name
        self.functions = functions
        self.prefix = prefix
        names = [argument.name for argument in function.signature.input_arg]
        self.arguments: dict[str, str] = dict(zip(names, inputs, strict=False))
        self.operators = {node.name: node.op for node in function.node_def}

    def tensor(self, reference: str) -> str:
        node, *rest = reference.split(":")
        if not rest and node in self.arguments:
            return self.arguments[node]
        if node not in self.operators or len(rest) > 2:
            where = f"function {printable(self.name)!r}"
            raise FrontendError(f"{where} reads {printable(reference)!r}, which nothing in it gives")
        number = _index(f"{node}:{rest[1]}") if len(rest) == 2 else 0
        return tensor_name(self.prefix + node, self._first(self.operators[node], rest[0] if rest else "") + number)

    def _first(self, operator: str, output: str) -> int:
        """The number of the first tensor of an output."""
        if operator in self.functions:
            names = tuple(argument.name for argument in self.functions[operator].signature.output_arg)
        else:
            names = OUTPUT_ARGUMENTS.get(operator, ())
        if not names or not output:
            return 0
        if output not in names:
            raise FrontendError(f"{operator} has outputs {', '.join(names)}, found {printable(output)!r}")
        return names.index(output)
