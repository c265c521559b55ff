"""Evaluation of nodes while compiling: constants that passes fold.

Operators that only move elements of large parameters give views of them, so that these are copied only once, into their
place in the artifact. Small work is done by the definition of its operator, large work by a kernel that is compiled for
this machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from math import prod

import numpy as np

from sateen.graph_ir.evaluate.by_definition import evaluate_op
from sateen.graph_ir.ir import Array, Graph, GraphBuilder, Node, note_node
from sateen.graph_ir.kernels import GroupKey, group_key, lower_group
from sateen.graph_ir.ops import ConvertLayout, Fused, PreparedWeight, Transpose
from sateen.runtime.errors import SateenError
from sateen.tensor_ir import CompiledModule, Machine, build_functions
from sateen.tensor_ir.ir import Const
from sateen.tensor_ir.te import Tensor
from sateen.topi.types import rearranged, unpack

MOST_POINTS = 1 << 17
"""The most evaluations of an expression for which evaluating a definition is faster than compiling a kernel: these take
3 to 17 ms on Zen 5, a kernel 15 to 24, and the first one of a process 50."""
LOOP_POINTS = 32
"""The evaluations of an expression that take as long as to compute an element by a definition that is written as loops,
or less: such an element takes 2 to 4 us."""


class NativeEvaluator:
    """Evaluates nodes of static types. Nodes of equal operators and types share a kernel, which is compiled when they
    have become many."""

    def __init__(self) -> None:
        self._machine = Machine.of("llvm")
        self._kernels: dict[GroupKey, CompiledModule] = {}
        self._work: dict[Hashable, int] = {}
        """That of one node of a kind."""
        self._done: Counter[Hashable] = Counter()
        """That of all nodes of a kind so far."""

    def evaluate(self, node: Node, inputs: Sequence[Array | None]) -> list[Array]:
        """The outputs of a node in the memory order of their layouts, for inputs in the order of theirs. They may be
        views."""
        if isinstance(node.op, ConvertLayout | Transpose):
            (data,) = inputs
            (source,), (target,) = node.input_types, node.outputs
            assert data is not None
            if source.layout is not None:
                data = unpack(data, source.static_shape, source.layout)
            if isinstance(node.op, Transpose):
                data = data.transpose(node.op.permutation)
            return [rearranged(data, target.type.memory_layout)]
        if isinstance(node.op, PreparedWeight) and _is_row_major(node):
            (data,) = inputs
            assert data is not None
            return [node.op.prepared(data)]
        if _is_row_major(node) and self._count_work(node) <= MOST_POINTS:
            return evaluate_op(node, inputs)
        body = _body(node)
        key = group_key(body)
        if key not in self._kernels:
            group = Node(Fused(body), body.inputs, body.outputs, node.spans)
            self._kernels[key] = build_functions([lower_group(group, "evaluate", self._machine)])
        arrays = {
            v: np.require(a, requirements=("C", "A"))  # a file may have it at any byte
            for v, a in zip(node.inputs, inputs, strict=True)
            if v is not None and a is not None
        }
        outputs = [np.empty(v.type.physical_shape, v.type.dtype.numpy) for v in node.outputs]
        try:
            self._kernels[key](*arrays.values(), *outputs)
        except SateenError as error:
            note_node(error, node.inputs, node.spans)
            raise
        return outputs

    def _count_work(self, node: Node) -> int:
        """Add the work of a node to that of its kind, and give the sum."""
        key = node.computation_key
        if key not in self._work:
            self._work[key] = _definition_work(node)
        self._done[key] += self._work[key]
        return self._done[key]


def work_of(node: Node) -> int:
    """The number of evaluations of an expression that evaluating a node by its definition takes."""
    return sum(map(_points, _computed(node)))


def _definition_work(node: Node) -> int:
    """As `work_of`, with elements that loops compute weighed by the time that they take."""
    return sum(_points(tensor) * (1 if tensor.op.body else LOOP_POINTS) for tensor in _computed(node))


def _computed(node: Node) -> Iterator[Tensor]:
    """The tensors of which the computation of a node consists."""
    computation, _ = node.computed()
    stack = [v.tensor for v in computation.outputs]
    done: set[Tensor] = set()
    while stack:
        tensor = stack.pop()
        if tensor not in done:
            done.add(tensor)
            stack += tensor.op.inputs
            yield tensor


def _points(tensor: Tensor) -> int:
    op = tensor.op
    if op.is_given:
        return 0
    extents = [a.extent for a in (*op.axis, *op.reduce_axis)] if op.body else tensor.shape
    return prod(int(e.value) for e in extents if isinstance(e, Const))


def _is_row_major(node: Node) -> bool:
    return all(v is None or v.type.layout is None for v in (*node.inputs, *node.outputs))


def _body(node: Node) -> Graph:
    """The graph of the node alone."""
    builder = GraphBuilder(node.op.op_name())
    for v in dict.fromkeys(v for v in node.inputs if v is not None):
        builder.declare(v)
    builder.append(node)
    builder.output(*node.outputs)
    return builder.finish()
