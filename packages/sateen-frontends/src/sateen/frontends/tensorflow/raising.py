"""Makes loops and choices of TensorFlow 1 operations with bodies, as those of TensorFlow 2 are.

There they are patterns of nodes (tensorflow/core/graph/control_flow.cc and while_v2's predecessor control_flow_ops.py):

choice   Merge(what the nodes behind Switch(x, p):0 give, what those behind Switch(x, p):1 give)
loop     Merge(Enter(x), NextIteration(what the nodes behind Switch(merge, LoopCond):1 give)), and Exit(switch:0)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sateen.frontends.core.source import Limits
from sateen.frontends.tensorflow.operation import Operation, Region, owner_of, read_as, reads, tensor_name
from sateen.runtime.errors import FrontendError

_FLOW = frozenset({"Enter", "Exit", "LoopCond", "Merge", "NextIteration", "Switch"})
_KINDS = {f"{prefix}{kind}": kind for kind in _FLOW for prefix in ("", "Ref")}


_MOST_VISITS = 1 << 24
"""The most nodes to look at on the way from results to what they depend on: some seconds."""


def raised(operations: Sequence[Operation], limits: Limits) -> list[Operation]:
    """The operations with loops and choices as While and If, innermost ones first; nodes of other patterns stay. Raises
    FrontendError if they are nested too deep, or too many."""
    if not any(operation.type in _KINDS for operation in operations):
        return list(operations)
    graph = _Graph(operations)
    depth = 0
    while found := graph.innermost():
        graph.put(found)
        depth += 1
        if depth > limits.nesting:
            raise FrontendError(f"expected loops and choices nested at most {limits.nesting} deep, found more")
    return list(graph.operations.values())


@dataclass(frozen=True, slots=True)
class _Found:
    """An operation in place of nodes of these names."""

    operation: Operation
    replaced: frozenset[str]


@dataclass(slots=True)
class _Walk:
    """The nodes that results need, back to where the walk stops. `names` are the new names of tensors at its ends."""

    nodes: dict[str, Operation] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    is_plain: bool = True
    """Whether there are no other loops and choices among them."""


@dataclass(slots=True)
class _Flow:
    """The nodes of all loops and choices: `enters` by their frame, `merges` in order, those of loops by the Enter and
    `switches` by the Merge that they read first, `sides` by what decides a Switch, `exits` by the Switch."""

    enters: dict[str, list[Operation]] = field(default_factory=dict)
    merges: list[Operation] = field(default_factory=list)
    merges_of: dict[str, list[Operation]] = field(default_factory=dict)
    switches: dict[str, Operation] = field(default_factory=dict)
    sides: dict[str, list[Operation]] = field(default_factory=dict)
    exits: dict[str, Operation] = field(default_factory=dict)

    def add(self, operation: Operation) -> None:
        first = operation.inputs[0] if operation.inputs else ""
        match _KINDS.get(operation.type):
            case "Enter":
                frame = operation.attributes.get("frame_name")
                name = "" if frame is None else frame.s.decode("utf-8", "replace")
                self.enters.setdefault(name, []).append(operation)
            case "Merge":
                self.merges.append(operation)
                self.merges_of.setdefault(first, []).append(operation)
            case "Switch":
                self.switches[first] = operation
                if len(operation.inputs) == 2:
                    self.sides.setdefault(operation.inputs[1], []).append(operation)
            case "Exit":
                self.exits[first] = operation


class _Graph:
    def __init__(self, operations: Sequence[Operation]) -> None:
        self.operations = {operation.name: operation for operation in operations}
        self.makers = {tensor: operation.name for operation in operations for tensor in operation.outputs}
        self.remaining = _MOST_VISITS

    def put(self, found: Sequence[_Found]) -> None:
        """Replace nodes by operations, and leave out those that read what is gone: the bodies hold what they need."""
        readers: dict[str, list[str]] = {}
        for operation in self.operations.values():
            for tensor in reads(operation):
                readers.setdefault(tensor, []).append(operation.name)
        kept = {tensor for one in found for tensor in one.operation.outputs}
        pending = [name for one in found for name in one.replaced]
        while pending:
            gone = self.operations.pop(pending.pop(), None)
            for tensor in () if gone is None else gone.outputs:
                pending += () if tensor in kept else readers.get(tensor, ())
        for one in found:
            self.operations[one.operation.name] = one.operation
            self.makers.update(dict.fromkeys(one.operation.outputs, one.operation.name))

    def innermost(self) -> list[_Found]:
        """Loops, or else choices, with no other ones inside."""
        flow = _Flow()
        for operation in self.operations.values():
            flow.add(operation)
        loops = [self.loop(name, enters, flow) for name, enters in flow.enters.items()]
        if any(loops):
            return [found for found in loops if found is not None]
        choices: dict[str, list[Operation]] = {}
        for merge in flow.merges:
            predicate = self.predicate(merge)
            if predicate is not None:
                choices.setdefault(predicate, []).append(merge)
        readers = self.readers() if any(len(merges) > 1 for merges in choices.values()) else {}
        found = [self.choices(name, merges, flow.sides.get(name, ()), readers) for name, merges in choices.items()]
        return [one for several in found for one in several]

    def choices(
        self,
        predicate: str,
        merges: Sequence[Operation],
        switches: Sequence[Operation],
        readers: Mapping[str, Sequence[str]],
    ) -> list[_Found]:
        """The choices that a tensor decides, one or several in a row; none if another one is inside."""
        found: list[_Found] = []
        while merges:
            behind = self.behind(merges, readers) if len(merges) > 1 else frozenset()
            choice = self.choice(predicate, [merge for merge in merges if merge.name not in behind], switches)
            if choice is None:
                return []
            found.append(choice)
            merges = [merge for merge in merges if merge.name in behind]
        return found

    def readers(self) -> Mapping[str, Sequence[str]]:
        """The operations that read the results of each."""
        found: dict[str, list[str]] = {}
        for operation in self.operations.values():
            for tensor in reads(operation):
                found.setdefault(self.makers.get(tensor, owner_of(tensor)), []).append(operation.name)
        return found

    def behind(self, merges: Sequence[Operation], readers: Mapping[str, Sequence[str]]) -> frozenset[str]:
        """The names of the nodes that depend on these."""
        pending, behind = [merge.name for merge in merges], set[str]()
        while pending:
            for name in readers.get(pending.pop(), ()):
                self.visit()
                if name not in behind:
                    behind.add(name)
                    pending.append(name)
        return frozenset(behind)

    def visit(self) -> None:
        """Count a node that is looked at. Raises FrontendError beyond the limit."""
        self.remaining -= 1
        if self.remaining < 0:
            raise FrontendError("expected loops and choices of fewer nodes; export the model by TensorFlow 2")

    def maker(self, tensor: str) -> Operation | None:
        return self.operations.get(self.makers.get(tensor, owner_of(tensor)))

    def is_a(self, kind: str, tensor: str) -> bool:
        maker = self.maker(tensor)
        return maker is not None and _KINDS.get(maker.type) == kind

    def walk(self, results: Iterable[str], ends: Mapping[str, str]) -> _Walk:
        """The nodes that results need, up to tensors among `ends`, and up to Switch and Enter."""
        walk, pending = _Walk(), list(results)
        while pending:
            tensor = pending.pop()
            maker = self.maker(tensor)
            self.visit()
            if tensor in ends:
                walk.names[tensor] = ends[tensor]
            elif maker is None or maker.name in walk.nodes:
                continue
            elif maker.type in _KINDS:
                walk.is_plain = False
            else:
                walk.nodes[maker.name] = maker
                pending += reads(maker)
        return walk

    def loop(self, frame: str, enters: Sequence[Operation], flow: _Flow) -> _Found | None:
        """A loop as While; None if another one is inside, or if it has another pattern."""
        entered = {enter.name: enter.inputs[0] for enter in enters if enter.inputs}
        merges = [
            merge
            for name in entered
            for merge in flow.merges_of.get(name, ())
            if len(merge.inputs) == 2 and self.is_a("NextIteration", merge.inputs[1])
        ]
        states = [flow.switches.get(merge.name) for merge in merges]
        nexts = [self.maker(merge.inputs[1]) for merge in merges]
        conditions = {switch.inputs[1] for switch in states if switch is not None and len(switch.inputs) == 2}
        if len(conditions) != 1 or not all(one is not None and one.inputs for one in nexts):
            return None
        condition = self.maker(conditions.pop())
        if condition is None or condition.type != "LoopCond" or not condition.inputs:
            return None
        starts = {merge.name: merge.name for merge in merges}
        inside = {name: name for name in map(_state_inside, merges, states)}
        results = [one.inputs[0] for one in nexts if one is not None]
        tested = self.walk(condition.inputs, {**starts, **entered})
        run = self.walk(results, {**inside, **entered})
        if not tested.is_plain or not run.is_plain:
            return None
        left = [None if one is None else flow.exits.get(one.name) for one in states]
        name = condition.name
        outputs = tuple(tensor_name(name, index) if one is None else one.name for index, one in enumerate(left))
        bodies = (
            _region(f"{frame} condition", tuple(starts), condition.inputs, tested, entered),
            _region(f"{frame} body", tuple(inside), results, run, entered),
        )
        initial = tuple(entered[merge.inputs[0]] for merge in merges)
        operation = Operation(name, "While", initial, outputs, call=condition.call, bodies=bodies)
        gone = [*enters, *merges, *states, *nexts, *left, condition]
        return _Found(operation, frozenset(one.name for one in gone if one is not None))

    def predicate(self, merge: Operation) -> str | None:
        """What decides a Merge: the second input of the Switch nodes behind it, by data; behind constants, by order of
        running."""
        return self.decided_by(merge.inputs, False) or self.decided_by([*merge.inputs, *merge.controls], True)

    def decided_by(self, tensors: Sequence[str], by_order: bool) -> str | None:
        pending, seen = list(tensors), set[str]()
        while pending:
            maker = self.maker(pending.pop())
            if maker is None or maker.name in seen:
                continue
            seen.add(maker.name)
            self.visit()
            kind = _KINDS.get(maker.type)
            if kind == "Switch" and len(maker.inputs) == 2:
                return None if self.is_a("LoopCond", maker.inputs[1]) else maker.inputs[1]
            if kind is not None:
                return None
            pending += reads(maker)
            pending += maker.controls if by_order else ()
        return None

    def choice(self, predicate: str, merges: Sequence[Operation], switches: Sequence[Operation]) -> _Found | None:
        """A choice as If; None if another one is inside, or if there are no merges."""
        if not merges:
            return None
        bodies: list[Region] = []
        gone = {one.name for one in (*merges, *switches)}
        for side, label in ((1, "true"), (0, "false")):
            ends = {tensor_name(one.name, side): one.inputs[0] for one in switches}
            results = [self.side_of(merge, side, predicate) for merge in merges]
            if None in results:
                return None
            wanted = [result for result in results if result is not None]
            walk = self.walk(wanted, ends)
            if not walk.is_plain:
                return None
            bodies.append(_region(f"{predicate} {label}", (), wanted, walk, ends))
        name = merges[0].name
        outputs = tuple(merge.name for merge in merges)
        operation = Operation(name, "If", (predicate,), outputs, call=merges[0].call, bodies=tuple(bodies))
        return _Found(operation, frozenset(gone))

    def side_of(self, merge: Operation, side: int, predicate: str) -> str | None:
        """The input of a Merge that the nodes behind one side of Switch give; TensorFlow writes the false one first."""
        if len(merge.inputs) != 2:
            return None
        for tensor in merge.inputs:
            found = self.decided_side(tensor, predicate)
            if found is not None:
                other = merge.inputs[merge.inputs[0] == tensor]
                return tensor if found == side else other
        return None

    def decided_side(self, tensor: str, predicate: str) -> int | None:
        """The output of a Switch that a tensor depends on, by data or by order of running."""
        pending, seen = [tensor], set[str]()
        while pending:
            name = pending.pop()
            maker = self.maker(name)
            self.visit()
            if maker is None:
                continue
            if _KINDS.get(maker.type) == "Switch" and maker.inputs[1:] == (predicate,):
                return 1 if name.endswith(":1") else 0
            if maker.name not in seen:
                seen.add(maker.name)
                pending += [*reads(maker), *maker.controls]
        return None


def _state_inside(merge: Operation, switch: Operation | None) -> str:
    """The name of a state in the body of a loop. If only the condition reads it, freezing leaves its Switch out."""
    return f"{merge.name}/unread" if switch is None else tensor_name(switch.name, 1)


def _region(name: str, inputs: tuple[str, ...], results: Iterable[str], walk: _Walk, ends: Mapping[str, str]) -> Region:
    """The graph of the nodes of a walk; tensors at its ends are inputs, or those around it that they stand for."""
    names = {tensor: outer for tensor, outer in ends.items() if tensor not in inputs}
    operations = [read_as(operation, names) for operation in walk.nodes.values()]
    outputs = tuple(names.get(result, result) for result in results)
    captures = {outer for tensor, outer in walk.names.items() if tensor not in inputs}
    captures.update(outer for result in results if (outer := names.get(result)) is not None)
    return Region(name, inputs, outputs, operations, tuple(sorted(captures)))
