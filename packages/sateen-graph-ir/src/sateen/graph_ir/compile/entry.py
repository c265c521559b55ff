"""The entry of a network: a host function that runs its kernels in order over planned memory.

Control nodes become its branches and loops. A value that decides is copied into a variable of the entry first. Values
that iterations hand on are in the node's outputs: each iteration computes the next ones separately, then copies them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sateen.graph_ir import ops
from sateen.graph_ir.compile.packing import ParameterBlocks
from sateen.graph_ir.ir import HOST, Graph, Node, TensorType, Value
from sateen.graph_ir.memory import Location, MemoryPlan
from sateen.runtime.dtype import DType
from sateen.runtime.signature import ENTRY, PACK
from sateen.tensor_ir.ir import (
    INT64,
    Allocate,
    Buffer,
    Expr,
    For,
    Function,
    If,
    Load,
    LoopKind,
    Stmt,
    Store,
    Timestamp,
    Var,
    While,
    cast,
    const,
    invoke,
    sequence,
)

UINT8 = DType.of("uint8")

Place = tuple[Buffer, Expr | int]
"""A buffer, and the byte offset of a value in it."""


def build_entry(
    graph: Graph,
    kernels: Mapping[Node, str],
    copies: Mapping[TensorType, str],
    plan: MemoryPlan,
    blocks: ParameterBlocks,
    *,
    timed: bool = False,
    denormals: str = "keep",
    alignment: int = 64,
) -> Function:
    """`run`(inputs…, outputs…, parameters, workspace): the last two are blocks of bytes, at multiples of `alignment`. A
    network with a packing has the block that this fills between them; the values in it are the graph's last inputs.

    `kernels` names the kernel of each node, including those in bodies of control nodes, and `copies` the kernel that
    copies a value. With `timed`, a vector of int64 comes before the parameters: the processor's
    clock at the start and after each step. The kernels run in the entry's mode: with `denormals`
    flush they may treat subnormal numbers as zeros. Outputs and inputs of `graph.aliases` may share memory.
    """
    outside: dict[Value, Buffer] = {}
    for v in (*graph.inputs, *graph.outputs):
        if v not in outside and v not in blocks.packed:
            outside[v] = Buffer(
                v.name, tuple(map(const, v.type.physical_shape)), v.type.dtype, alignment=v.type.dtype.bytes
            )
    parameters, packed = _parameter_blocks(blocks, alignment)
    workspace = _block("workspace", plan.workspaces.get(HOST, 0), alignment)
    given: dict[Value, Place] = {v: (buffer, 0) for v, buffer in outside.items()}
    given |= _parameter_places(blocks, parameters, packed)
    steps = _Writer(kernels, copies).steps(graph, plan, given, (workspace, 0))
    held = [parameters, packed] if blocks.packed else [parameters]
    arguments = [*outside.values(), *held, workspace]
    written = {*(outside[v] for v in graph.outputs), workspace}
    if timed:
        clock = Buffer("clock", (const(len(steps) + 1),), INT64, alignment=INT64.bytes)
        steps = [Timestamp(clock, 0), *(s for i, step in enumerate(steps, 1) for s in (step, Timestamp(clock, i)))]
        arguments.insert(arguments.index(parameters), clock)
        written.add(clock)
    shared = frozenset(outside[v] for pair in graph.aliases.items() for v in pair)
    return Function(ENTRY, tuple(arguments), frozenset(written), sequence(*steps), shared, denormals)


def build_pack_entry(
    graph: Graph, kernels: Mapping[Node, str], plan: MemoryPlan, blocks: ParameterBlocks, *, alignment: int = 64
) -> Function:
    """`pack`(parameters, packed, workspace): fills a block with what the packing of a network, `graph`, gives."""
    parameters, packed = _parameter_blocks(blocks, alignment)
    workspace = _block("workspace", plan.workspaces.get(HOST, 0), alignment)
    given = _parameter_places(blocks, parameters, packed)
    steps = _Writer(kernels, {}).steps(graph, plan, given, (workspace, 0))
    return Function(PACK, (parameters, packed, workspace), frozenset({packed, workspace}), sequence(*steps))


def _parameter_blocks(blocks: ParameterBlocks, alignment: int) -> tuple[Buffer, Buffer]:
    """The block of the file, and the one that the packing fills."""
    stored, packed = blocks.stored_bytes, blocks.packed_bytes
    return _block("parameters", stored, alignment), _block("packed", packed, alignment)


def _parameter_places(blocks: ParameterBlocks, parameters: Buffer, packed: Buffer) -> dict[Value, Place]:
    stored: dict[Value, Place] = {v: (parameters, offset) for v, offset in blocks.stored.items()}
    return stored | {v: (packed, offset) for v, offset in blocks.packed.items()}


def _block(name: str, size: int, alignment: int) -> Buffer:
    return Buffer(name, (const(max(size, 64)),), UINT8, alignment=alignment)


def _variable(name: str, type_: TensorType) -> Buffer:
    return Buffer(name, (), type_.dtype, alignment=type_.dtype.bytes)


def _load(variable: Buffer) -> Expr:
    return Load(variable, (), variable.dtype)


@dataclass(frozen=True, slots=True)
class _Writer:
    kernels: Mapping[Node, str]
    copies: Mapping[TensorType, str]

    def steps(self, graph: Graph, plan: MemoryPlan, given: Mapping[Value, Place], workspace: Place) -> list[Stmt]:
        """A statement for each node of a graph that has something to do. `given` holds the places of inputs, parameters
        and outputs."""

        def place(v: Value) -> Place:
            view = plan.views.get(v, Location(v, 0))
            offset = view.offset if view.source in given else view.offset + plan.workspace[view.source]
            buffer, start = given.get(view.source, workspace)
            return buffer, start + offset

        steps = []
        for node in graph.nodes:
            if node in plan.free:
                continue
            inputs = [place(v) for v in node.inputs if v is not None]
            outputs = [place(v) for v in node.outputs]
            scratch = [(workspace[0], workspace[1] + offset) for offset in plan.scratch.get(node, ())]
            inside = workspace[0], workspace[1] + plan.body_workspaces.get(node, {}).get(HOST, 0)
            match node.op:
                case ops.If() as op:
                    steps.append(self._choice(op, plan, inputs, outputs, inside))
                case ops.Loop() as op:
                    steps.append(self._counted(op, plan, inputs, outputs, scratch, inside))
                case ops.While() as op:
                    steps.append(self._conditional(op, plan, inputs, outputs, scratch, inside))
                case _:
                    steps.append(invoke(self.kernels[node], *inputs, *outputs, *scratch))
        return steps

    def _choice(
        self, op: ops.If, plan: MemoryPlan, inputs: Sequence[Place], outputs: Sequence[Place], workspace: Place
    ) -> Stmt:
        condition = _variable("condition", ops.CONDITION)
        then, otherwise = (
            sequence(*self.steps(body, plan.bodies[body], _places(body, inputs[1:], outputs), workspace))
            for body in op.bodies
        )
        chosen = If(_load(condition), then, otherwise)
        return Allocate(condition, sequence(self._copy(ops.CONDITION, inputs[0], (condition, 0)), chosen))

    def _counted(
        self,
        op: ops.Loop,
        plan: MemoryPlan,
        inputs: Sequence[Place],
        outputs: Sequence[Place],
        following: Sequence[Place],
        workspace: Place,
    ) -> Stmt:
        number, i = _variable("number", ops.NUMBER), Var("i")
        state, captured = outputs[: op.carried], inputs[op.carried :]
        sizes = [v.type.bytes for v in op.body.outputs[op.carried :]]
        slices = [(b, start + i * size) for (b, start), size in zip(outputs[op.carried :], sizes, strict=True)]
        places = _places(op.body, [(number, 0), *state, *captured], [*following, *slices])
        steps = self.steps(op.body, plan.bodies[op.body], places, workspace)
        iteration = sequence(Store(number, (), cast(INT64, i)), *steps, *self._hand_on(op, following, state))
        loop = For(i, const(0), const(op.count), LoopKind.SERIAL, iteration)
        return Allocate(number, sequence(*self._hand_on(op, inputs, state), loop))

    def _conditional(
        self,
        op: ops.While,
        plan: MemoryPlan,
        inputs: Sequence[Place],
        outputs: Sequence[Place],
        following: Sequence[Place],
        workspace: Place,
    ) -> Stmt:
        number, most = _variable("number", ops.NUMBER), _variable("most", ops.NUMBER)
        goes_on = _variable("goes_on", ops.CONDITION)
        captured = inputs[op.deciding + len(outputs) :]
        places = _places(op.body, [(number, 0), *outputs, *captured], [(goes_on, 0), *following])
        steps = self.steps(op.body, plan.bodies[op.body], places, workspace)
        count = Store(number, (), _load(number) + 1)
        iteration = sequence(*steps, *self._hand_on(op, following, outputs), count)
        body = sequence(
            self._copy(ops.NUMBER, inputs[0], (most, 0)),
            self._copy(ops.CONDITION, inputs[1], (goes_on, 0)),
            *self._hand_on(op, inputs[op.deciding :], outputs),
            Store(number, (), const(0, INT64)),
            While(_load(goes_on) & (_load(number) < _load(most)), iteration),
        )
        return Allocate(number, Allocate(most, Allocate(goes_on, body)))

    def _hand_on(self, op: ops.Control, sources: Iterable[Place], targets: Sequence[Place]) -> list[Stmt]:
        """Copies of the values that iterations hand on."""
        return [self._copy(v.type, a, b) for v, a, b in zip(op.state, sources, targets, strict=False)]

    def _copy(self, type_: TensorType, source: Place, target: Place) -> Stmt:
        return invoke(self.copies[type_], source, target)


def _places(body: Graph, inputs: Sequence[Place], outputs: Sequence[Place]) -> dict[Value, Place]:
    return dict(zip((*body.inputs, *body.outputs), (*inputs, *outputs), strict=True))
