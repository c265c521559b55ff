"""A program as steps: the operations of its function, and its constants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from sateen.frontends.core.bodies import Subgraph
from sateen.frontends.core.folding import converted
from sateen.frontends.core.importer import Conversion, Results
from sateen.frontends.core.inputs import Declaration
from sateen.frontends.core.operands import Operand
from sateen.frontends.core.order import in_order
from sateen.frontends.core.place import Call
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.coreml.loading import CoremlFile, Message
from sateen.frontends.coreml.program.compression import COMPRESSION
from sateen.frontends.coreml.program.control_flow import CONTROL_FLOW
from sateen.frontends.coreml.program.converters import CONVERTERS
from sateen.frontends.coreml.program.custom import custom_of
from sateen.frontends.coreml.program.node import OperationNode, Slots
from sateen.frontends.coreml.program.refusals import refusal_of
from sateen.frontends.coreml.program.values import (
    Storage,
    array_of,
    is_list,
    is_tensor_value,
    is_text,
    text_of,
    texts_of,
    type_of_proto,
)
from sateen.frontends.coreml.steps import Step, Steps
from sateen.graph_ir.ir import TensorType
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

_MAIN = "main"
Expanded = dict[tuple[object, ...], tuple[Sequence[Operand | None], Results]]
"""Results by the operation and the identity of its operands, which are kept alive."""


def steps_of_program(program: Message, description: Message, file: CoremlFile) -> Steps:
    """The steps of a program's function. Raises FrontendError if it is malformed."""
    function = _function_of(program, description.defaultFunctionName or _MAIN)
    block = _block_of(function)
    declared = [_declaration(given) for given in function.inputs]
    states = {given.name: given.name for given in function.inputs if _is_state(given)}
    return _Reading(Storage(file.beside, file.limits.tensor_bytes), states=states).steps(block, declared)


def _function_of(program: Message, name: str) -> Message:
    functions = program.functions
    if name in functions:
        return functions[name]
    if len(functions) != 1:
        raise FrontendError(f"expected a function {name!r}, found {', '.join(map(repr, sorted(functions))) or 'none'}")
    return next(iter(functions.values()))


def _block_of(function: Message) -> Message:
    blocks = function.block_specializations
    if function.opset in blocks:
        return blocks[function.opset]
    raise FrontendError(
        f"expected a block for operator set {function.opset!r}, found {', '.join(sorted(blocks)) or 'none'}"
    )


def _declaration(given: Message) -> Declaration:
    type_ = type_of_proto(given.type.stateType.wrappedType if _is_state(given) else given.type, given.name)
    if type_ is None:
        kind = given.type.WhichOneof("type") or "none"
        raise FrontendError(f"input {given.name!r}: expected a tensor of known rank, found {kind.removesuffix('Type')}")
    return Declaration(given.name, type_.dtype, type_.shape)


def _is_state(given: Message) -> bool:
    return bool(given.type.WhichOneof("type") == "stateType")


@dataclass(slots=True)
class _Reading:
    """The constants so far: texts and lists of them by name, and steps for those that are written where they are
    used. `states` are the names of what each state holds now, its own at first. `expanded` are the data of compressed
    constants, once for all operations that expand the same ones."""

    storage: Storage
    texts: dict[str, str] = field(default_factory=dict)
    lists: dict[str, tuple[str, ...]] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    expanded: Expanded = field(default_factory=dict)
    depth: int = 0
    names: set[str] = field(default_factory=set)

    def steps(self, block: Message, inputs: Sequence[Declaration]) -> Steps:
        operations = list(block.operations)
        self.names.update(declared.name for declared in inputs)
        self._claim(operations)
        steps = [step for operation in operations for step in self._steps_of(operation)]
        written = {self._fresh(f"{state}.next"): state for state, held in self.states.items() if held != state}
        steps += [_copy("write_state", state, self.states[state], [name]) for name, state in written.items()]
        ordered = in_order(steps, lambda s: s.inputs, lambda s: s.outputs, lambda s: f"operation {s.name!r}")
        results = {name for step in steps for name in step.outputs} | {declared.name for declared in inputs}
        classifiers = [operation for operation in operations if operation.type == "classify"]
        best = {output for operation in classifiers for output in _names(operation)[:1]}
        for name in block.outputs:
            if name not in results and name not in best:
                raise FrontendError(f"output {name!r}: expected an operation that gives it, found none")
        outputs = [*(name for name in block.outputs if name in results), *written]
        labels = {name: classes for o in classifiers for name in _names(o)[1:2] if (classes := self._classes(o))}
        return Steps(list(inputs), ordered, outputs, self._declared(operations), labels, written)

    def _claim(self, operations: Sequence[Message]) -> None:
        """Take the names of results. Raises FrontendError for one that is taken."""
        for operation in operations:
            for output in operation.outputs:
                if output.name in self.names:
                    raise FrontendError(
                        f"{_place(operation)}: expected a new name of its result, found {output.name!r}"
                    )
                self.names.add(output.name)

    def _inner(self, block: Message, name: str) -> Subgraph[Step]:
        """A block within an operation; its inputs are names of its own."""
        operations, inputs = list(block.operations), tuple(given.name for given in block.inputs)
        self.names.update(inputs)
        self._claim(operations)
        self.depth += 1
        steps = [step for operation in operations for step in self._steps_of(operation)]
        self.depth -= 1
        ordered = in_order(steps, lambda s: s.inputs, lambda s: s.outputs, lambda s: f"operation {s.name!r}")
        own = [*inputs, *(output for step in steps for output in step.outputs)]
        used = dict.fromkeys([*(read for step in steps for read in step.inputs if read), *block.outputs])
        reads = [read for read in used if read not in set(own)]
        return Subgraph(name, inputs, tuple(block.outputs), ordered, own, reads, dict)

    def _control_step(self, operation: Message, slots: Slots, inputs: Sequence[str]) -> Step:
        """Its blocks read values around it, which are inputs of the step, too."""
        if len(operation.blocks) != 2:
            raise FrontendError(f"{_place(operation)}: expected two blocks, found {len(operation.blocks)}")
        blocks = [self._inner(block, f"block {index}") for index, block in enumerate(operation.blocks)]
        around = dict.fromkeys(read for block in blocks for read in block.reads)
        control = partial(CONTROL_FLOW[operation.type], blocks, slots)
        reads = (*inputs, *(read for read in around if read not in inputs))
        conversion = partial(_conversion_of, operation.type, slots, {}, ())
        return Step(_name_of(operation), operation.type, reads, tuple(_names(operation)), conversion, control)

    def _declared(self, operations: Sequence[Message]) -> list[Declaration]:
        found = []
        for operation in operations:
            for output in operation.outputs:
                type_ = _type_of(output)
                if type_ is not None:
                    found.append(Declaration(output.name, type_.dtype, type_.shape))
        return found

    def _steps_of(self, operation: Message) -> Iterator[Step]:
        kind, names = operation.type, _names(operation)
        if kind == "const":
            yield from self._constant(operation)
            return
        inputs: list[str] = []
        slots: dict[str, tuple[int, ...]] = {}
        texts: dict[str, str] = {}
        lists: dict[str, tuple[str, ...]] = {}
        for argument, bindings in _arguments(operation):
            places = []
            for binding in bindings:
                if isinstance(binding, str):
                    if binding in self.texts:
                        texts[argument] = self.texts[binding]
                        continue
                    if binding in self.lists:
                        lists[argument] = self.lists[binding]
                        continue
                    name = binding
                elif is_text(binding):
                    texts[argument] = text_of(binding, f"{_place(operation)}: {argument}")
                    continue
                elif is_tensor_value(binding):
                    name = self._fresh(f"{names[0] if names else kind}.{argument}")
                    yield self._data(name, binding)
                elif is_list(binding):
                    lists[argument] = texts_of(binding, f"{_place(operation)}: {argument}")
                    continue
                else:
                    raise FrontendError(f"{_place(operation)}: expected numbers or text as {argument!r}, found neither")
                places.append(len(inputs))
                inputs.append(name)
            slots[argument] = tuple(places)
        if kind == "classify":
            names = names[1:2]
        if kind in ("read_state", "write_state"):
            yield from self._state_steps(operation, dict(zip(slots, inputs, strict=True)))
            return
        if kind in CONTROL_FLOW:
            yield self._control_step(operation, slots, inputs)
            return
        if kind in COMPRESSION:
            expansion = partial(_expansion_of, kind, slots, texts, self.expanded)
            yield Step(_name_of(operation), kind, tuple(inputs), tuple(names), expansion)
            return
        dtypes = [None if (type_ := _type_of(output)) is None else type_.dtype for output in operation.outputs]
        conversion = partial(_conversion_of, kind, slots, texts, dtypes)
        custom = None if kind in CONVERTERS else custom_of(kind, slots, {**texts, **lists}, dtypes)
        yield Step(_name_of(operation), kind, tuple(inputs), tuple(names), conversion, custom=custom)

    def _state_steps(self, operation: Message, given: Mapping[str, str]) -> Iterator[Step]:
        """A state is read as what was written last, in the order of the file. Raises FrontendError for another one."""
        state = given.get("input")
        if self.depth:
            raise UnsupportedError(f"{_place(operation)}: state in branches and loops is not supported")
        if state not in self.states or (operation.type == "write_state" and "data" not in given):
            raise FrontendError(f"{_place(operation)}: expected a state and its data, found {sorted(given.values())}")
        if operation.type == "write_state":
            self.states[state] = given["data"]
        else:
            yield _copy("read_state", _name_of(operation), self.states[state], _names(operation))

    def _constant(self, operation: Message) -> Iterator[Step]:
        value, names = operation.attributes.get("val"), _names(operation)
        if value is None or len(names) != 1:
            raise FrontendError(f"{_place(operation)}: expected a value with a name, found none")
        if is_text(value):
            self.texts[names[0]] = text_of(value, _place(operation))
        elif is_list(value):
            self.lists[names[0]] = texts_of(value, _place(operation))
        elif is_tensor_value(value):
            yield self._data(names[0], value)

    def _classes(self, operation: Message) -> tuple[str, ...]:
        """What a classifier calls its classes; () if it does not say."""
        given = operation.inputs["classes"].arguments if "classes" in operation.inputs else ()
        for binding in given:
            if binding.WhichOneof("binding") == "value" and is_list(binding.value):
                return texts_of(binding.value, _place(operation))
            if binding.name in self.lists:
                return self.lists[binding.name]
        return ()

    def _data(self, name: str, value: Message) -> Step:
        read = partial(array_of, value, self.storage, "the constant")  # the node's name tells which
        return Step(name, "const", (), (name,), lambda: lambda call: [read()])

    def _fresh(self, name: str) -> str:
        while name in self.names:
            name += "_"
        self.names.add(name)
        return name


def _arguments(operation: Message) -> Iterator[tuple[str, Sequence[str | Message]]]:
    """The names and values of each argument, in order of their names. Compressed data has them among attributes."""
    for name in sorted(operation.inputs):
        found = []
        for binding in operation.inputs[name].arguments:
            match binding.WhichOneof("binding"):
                case "name":
                    found.append(binding.name)
                case "value":
                    found.append(binding.value)
                case _:
                    raise FrontendError(f"{_place(operation)}: expected a name or a value as {name!r}, found none")
        yield name, found
    for name in sorted(operation.attributes):
        if name != "name" and name not in operation.inputs:
            yield name, [operation.attributes[name]]


def _copy(kind: str, name: str, held: str, gives: Sequence[str]) -> Step:
    return Step(name, kind, (held,), tuple(gives), partial(_conversion_of, kind, {"input": (0,)}, {}, [None]))


def _names(operation: Message) -> list[str]:
    return [output.name for output in operation.outputs]


def _name_of(operation: Message) -> str:
    """The operation's own name, which is an attribute, or that of its result."""
    given = operation.attributes.get("name") if "name" in operation.attributes else None
    own = text_of(given, "the name of an operation") if given is not None and is_text(given) else ""
    return own or next(iter(_names(operation)), operation.type)


def _place(operation: Message) -> str:
    return f"operation {next(iter(_names(operation)), '')!r} ({operation.type})"


def _type_of(output: Message) -> TensorType | None:
    """The declared type of a result; None if it is none that the graph has."""
    try:
        return type_of_proto(output.type, output.name)
    except UnsupportedError:
        return None


def _conversion_of(kind: str, slots: Slots, texts: Mapping[str, str], dtypes: Sequence[DType | None]) -> Conversion:
    """The conversion of an operation. Raises UnsupportedError for kinds that can't be compiled."""
    converter = CONVERTERS.get(kind)
    if converter is None:
        raise refusal_of(kind)

    def convert(call: Call) -> Results:
        return converted(OperationNode(call, slots, texts, dtypes), converter)

    return convert


def _expansion_of(kind: str, slots: Slots, texts: Mapping[str, str], expanded: Expanded) -> Conversion:
    """The conversion of compressed data: the same data for the same operands."""

    def convert(call: Call) -> Results:
        key = (kind, *slots.items(), *texts.items(), *map(id, call.inputs))
        if key not in expanded:
            expanded[key] = (call.inputs, converted(OperationNode(call, slots, texts, ()), COMPRESSION[kind]))
        return expanded[key][1]

    return convert
