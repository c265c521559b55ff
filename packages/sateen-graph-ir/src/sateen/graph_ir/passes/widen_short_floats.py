"""Compute with float32 where a network has float16 or bfloat16."""

from __future__ import annotations

from dataclasses import replace
from math import isinf

from sateen.graph_ir.ir import Graph, GraphRewriter, Node, TensorType, Value
from sateen.graph_ir.ops import (
    BroadcastTo,
    Cast,
    Concat,
    Control,
    DepthToSpace,
    Gather,
    GatherElements,
    GatherND,
    Identity,
    Reshape,
    Slice,
    SpaceToDepth,
    Split,
    TensorScatter,
    Tile,
    Transpose,
)
from sateen.runtime import DeviceKind, InferenceError
from sateen.tensor_ir import Machine
from sateen.topi.operators import types_of
from sateen.topi.types import FLOAT32

_MOVES = (
    BroadcastTo, Concat, DepthToSpace, Gather, GatherElements, GatherND, Identity, Reshape, Slice, SpaceToDepth, Split,
    TensorScatter, Tile, Transpose,
)  # fmt: skip
"""The operators that compute nothing: half as many bytes take half the time."""


def widen_short_floats(graph: Graph, machine: Machine) -> Graph:
    """Keep the values between operators on a processor in float32 where they are float16 or bfloat16.

        input %x: float16[4, 8]; parameter %w: float16[8, 8]; %a = mat_mul(%x, %w); %y = relu(%a)
        =>  input %x: float16[4, 8]; parameter %w: float16[8, 8]
            %x.1 = cast(%x) {dtype=float32}; %w.1 = cast(%w) {dtype=float32}
            %a = mat_mul(%x.1, %w.1); %y.1 = relu(%a); %y = cast(%y.1) {dtype=float16}

    Arithmetic is in float32 anyway (semantics 1.2), so only the rounding of each result is left out. Inputs, outputs
    and parameters keep their types. So do nodes that say a type, such as a cast to float16, which rounds as before;
    operators of users; control flow, whose bodies are graphs of their own; nodes that only move what is still short,
    such as a row of an embedding; and what is on a device. Machines whose memory holds no larger parameters keep all
    types. Requires: static types. Runs before choose_methods.
    """
    if isinf(machine.enlargement_cycles) or not any(_is_short(v) for node in graph.nodes for v in node.inputs):
        return graph
    return _Widening(graph).run()


def _is_short(value: Value | None) -> bool:
    return value is not None and value.type.dtype.is_float and value.type.dtype.bits == 16


def _widened(given: TensorType) -> TensorType:
    return replace(given, dtype=FLOAT32) if given.dtype.is_float and given.dtype.bits == 16 else given


class _Widening:
    """Puts the nodes into a new graph, with casts where types differ."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.rewriter = GraphRewriter(graph)
        self.casts: dict[tuple[Value, TensorType], Value] = {}

    def run(self) -> Graph:
        for node in self.graph.nodes:
            self.place(node)
        for v in self.graph.outputs:
            value = self.rewriter.value(v)
            if value.type != v.type:
                self.rewriter.stand_for(v, self.as_type(value, v.type))
        return self.rewriter.finish()

    def place(self, node: Node) -> None:
        if not any(map(_is_short, (*node.inputs, *node.outputs))):
            self.rewriter.keep(node)
            return
        wide = self.can_be_wide(node)
        inputs = tuple(
            None if v is None else self.as_type(self.rewriter.value(v), _widened(v.type) if wide else v.type)
            for v in node.inputs
        )
        match node.op, inputs:
            case Cast(), (Value() as data,) if wide and data.type == node.outputs[0].type:
                self.rewriter.replace(node, data)
            case _:
                self.rewriter.put(node, inputs, tuple(map(self.wide_output, node.outputs)) if wide else node.outputs)

    def can_be_wide(self, node: Node) -> bool:
        """Whether a node gives in float32 the same, unrounded, and has a reason to do so."""
        present = [v for v in node.inputs if v is not None]
        if node.op.name is not None or isinstance(node.op, Control):
            return False
        if isinstance(node.op, _MOVES) and _is_short(self.rewriter.value(present[0])):
            return False
        if any(v.device.kind is not DeviceKind.CPU for v in (*present, *node.outputs)):
            return False
        try:
            types = types_of(node.op, [None if v is None else _widened(v.type) for v in node.inputs])
        except InferenceError:  # bit_cast, for one
            return False
        return types == tuple(_widened(v.type) for v in node.outputs)

    def wide_output(self, value: Value) -> Value:
        """The value in float32. The name of a graph's output is left for the value of its own type."""
        if not _is_short(value):
            return value
        name = self.rewriter.builder.unique(value.name) if value in self.graph.outputs else value.name
        return Value(name, _widened(value.type), value.device)

    def as_type(self, value: Value, needed: TensorType) -> Value:
        """A value of the new graph, converted if it has another type."""
        if value.type == needed:
            return value
        key = value, needed
        if key not in self.casts:
            producer = self.rewriter.producer(value)
            spans = () if producer is None else producer.spans
            self.casts[key] = self.rewriter.insert(Cast(needed.dtype), value, name=value.name, spans=spans)
        return self.casts[key]
