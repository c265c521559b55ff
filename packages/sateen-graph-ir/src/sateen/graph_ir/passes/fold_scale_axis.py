"""Move per-channel factors and terms into the weights and biases of the operators around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sateen.graph_ir.ir import Array, Graph, GraphRewriter, Node, NodeSpan, Value
from sateen.graph_ir.ops import Add, Conv, ConvTranspose, Divide, MatMul, Multiply, Relu, Subtract
from sateen.topi.operators import Operator


def fold_scale_axis(graph: Graph) -> Graph:
    """Fold constants that multiply or are added per channel into the constant weights of convolutions and products.

        %c = conv(%x, %w, %b); %m = multiply(%c, %scale); %y = add(%m, %shift)
        =>  %y = conv(%x, %w_scaled, %b_scaled)

        %m = multiply(%x, %scale); %y = conv(%m, %w)
        =>  %y = conv(%x, %w_scaled)

    A factor also moves up through a relu if it is positive, and through an addition of a constant; a term before a
    convolution folds into its bias if there is no padding. A value that has other readers stays as it is. Computed in
    float64, rounded once; if a folded weight would overflow, nothing is folded. Nodes and weights that are no longer
    read stay until remove_dead_nodes.
    """
    return _Folder(graph).run()


@dataclass(frozen=True, slots=True)
class _Affine:
    """data * factor + term, by float64 constants that broadcast to the data; None: no factor, no term."""

    data: Value
    factor: Array | None = None
    term: Array | None = None


class _Folder:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.rewriter = GraphRewriter(graph)

    def run(self) -> Graph:
        for node in self.graph.nodes:
            value = self.folded(node)
            if value is None:
                self.rewriter.keep(node)
            else:
                self.rewriter.replace(node, value)
        return self.rewriter.finish()

    def folded(self, node: Node) -> Value | None:
        """The value that stands for the only output of a node, if something folds."""
        here = replace(node, inputs=self.rewriter.values(node.inputs))
        match node.op:
            case Conv() | ConvTranspose() | MatMul():
                return self.fold_before(here)
            case Multiply() | Divide() | Add() | Subtract():
                affine = self.affine_of(here)
                return None if affine is None else self.fold_behind(affine, node.spans)
        return None

    def affine_of(self, node: Node | None) -> _Affine | None:
        """The node, on values of the new graph, as data with one constant factor or term."""
        if node is None or not isinstance(node.op, (Multiply, Divide, Add, Subtract)):
            return None
        a, b = node.inputs
        data, constant = a, self.rewriter.constant(b)
        if constant is None and isinstance(node.op, (Multiply, Add)):
            data, constant = b, self.rewriter.constant(a)
        if data is None or constant is None or self.rewriter.constant(data) is not None:
            return None
        if not data.type.dtype.is_float or node.outputs[0].type.shape != data.type.shape:
            return None
        c = constant.astype(np.float64)
        match node.op:
            case Multiply():
                return _Affine(data, factor=c)
            case Divide():
                return _Affine(data, factor=1 / c) if c.all() else None
            case Add():
                return _Affine(data, term=c)
        return _Affine(data, term=-c)

    # Constants behind an operator.

    def fold_behind(self, affine: _Affine, spans: tuple[NodeSpan, ...]) -> Value | None:
        """`affine` as one value, by changing the node that computes its data."""
        node = self.rewriter.producer(affine.data)
        if node is None or self.rewriter.is_shared(affine.data):
            return None
        spans = tuple(dict.fromkeys((*node.spans, *spans)))
        match node.op:
            case Conv() | ConvTranspose() | MatMul():
                return self.scale_outputs(node, affine, spans)
            case Relu() if affine.term is None and affine.factor is not None and (affine.factor > 0).all():
                (data,) = node.inputs
                assert data is not None
                scaled = self.fold_behind(_Affine(data, affine.factor), spans)
                return None if scaled is None else self.insert(node, (scaled,), spans)
            case Add() | Subtract() if affine.factor is not None:
                inner = self.affine_of(node)
                if inner is None or inner.term is None:
                    return None
                scaled = self.fold_behind(_Affine(inner.data, affine.factor), spans)
                term = None if scaled is None else self.parameter(node, 1, inner.term * affine.factor)
                if scaled is None or term is None:
                    return None
                return self.rewriter.insert(Add(), scaled, term, name=node.outputs[0].name, spans=spans)
        return None

    def scale_outputs(self, node: Node, affine: _Affine, spans: tuple[NodeSpan, ...]) -> Value | None:
        """The node with scaled weight and changed bias."""
        weight = self.rewriter.constant(node.inputs[1])
        bias_value = node.inputs[2] if len(node.inputs) > 2 else None
        bias = self.rewriter.constant(bias_value)
        if weight is None or (bias_value is not None and bias is None):
            return None
        rank = affine.data.type.rank
        axis = rank - 1 if isinstance(node.op, MatMul) else 1
        channels = affine.data.type.shape[axis]
        factor = _per_channel(affine.factor, rank, axis, channels)
        term = _per_channel(affine.term, rank, axis, channels)
        if (factor is None) != (affine.factor is None) or (term is None) != (affine.term is None):
            return None
        if isinstance(node.op, MatMul) and (term is not None or weight.ndim != 2):
            return None
        new_weight, new_bias = node.inputs[1], bias_value
        if factor is not None:
            new_weight = self.parameter(node, 1, _scale_outputs(node.op, weight, factor))
            if bias is not None:
                new_bias = self.parameter(node, 2, bias * factor)
        if term is not None:
            new_bias = self.parameter(node, 2, term if bias is None else bias + term)
        if new_weight is None or (new_bias is None and (bias is not None or term is not None)):
            return None
        return self.insert(node, (node.inputs[0], new_weight, *([] if new_bias is None else [new_bias])), spans)

    # Constants in front of an operator.

    def fold_before(self, node: Node) -> Value | None:
        """The node on the data of an affine node, with changed weight and bias."""
        result = None
        while (folded := self.scale_inputs(node)) is not None:
            result = folded
            producer = self.rewriter.producer(result)
            assert producer is not None
            node = producer
        return result

    def scale_inputs(self, node: Node) -> Value | None:
        data, weight = node.inputs[0], self.rewriter.constant(node.inputs[1])
        before = self.rewriter.producer(data)
        affine = self.affine_of(before)
        if data is None or before is None or affine is None or weight is None or self.rewriter.is_shared(data):
            return None
        rank = data.type.rank
        axis = rank - 1 if isinstance(node.op, MatMul) else 1
        constant = affine.term if affine.factor is None else affine.factor
        channel = _per_channel(constant, rank, axis, data.type.shape[axis])
        bias_value = node.inputs[2] if len(node.inputs) > 2 else None
        if channel is None or (isinstance(node.op, MatMul) and weight.ndim != 2):
            return None
        spans = tuple(dict.fromkeys((*before.spans, *node.spans)))
        if affine.factor is not None:
            scaled = self.parameter(node, 1, _scale_inputs(node.op, weight, channel))
            return None if scaled is None else self.insert(node, (affine.data, scaled, *node.inputs[2:]), spans)
        bias = self.rewriter.constant(bias_value)
        if not isinstance(node.op, Conv) or any(node.op.pads) or (bias_value is not None and bias is None):
            return None
        term = _response(node.op, weight, channel)
        new_bias = self.parameter(node, 2, term if bias is None else bias + term)
        return None if new_bias is None else self.insert(node, (affine.data, node.inputs[1], new_bias), spans)

    # New nodes and parameters.

    def insert(self, node: Node, inputs: Sequence[Value | None], spans: tuple[NodeSpan, ...]) -> Value:
        return self.rewriter.insert(node.op, *inputs, name=node.outputs[0].name, spans=spans)

    def parameter(self, node: Node, position: int, data: Array) -> Value | None:
        """A parameter in place of an input of a node, in its element type; None if that type can't represent it."""
        old = node.inputs[position] if position < len(node.inputs) else None
        with np.errstate(over="ignore"):
            array = data.astype(node.outputs[0].type.dtype.numpy, copy=False)
        if not np.isfinite(array).all():
            return None
        output = node.outputs[0]
        return self.rewriter.parameter(f"{output.name}_bias" if old is None else old.name, array, output.device)


def _per_channel(constant: Array | None, rank: int, axis: int, channels: object) -> Array | None:
    """A constant that varies along at most one axis, as a vector of that axis; None if it varies along others."""
    if constant is None or not isinstance(channels, int):
        return None
    shape = (1,) * (rank - constant.ndim) + constant.shape
    if any(extent != 1 for d, extent in enumerate(shape) if d != axis):
        return None
    return np.broadcast_to(constant.reshape(-1), (channels,))


def _scale_outputs(op: Operator, weight: Array, factor: Array) -> Array:
    """The weight whose results are `factor`, per output channel, times those of `weight`."""
    match op:
        case Conv():
            return _product(weight, factor.reshape(-1, *[1] * (weight.ndim - 1)))
        case ConvTranspose(groups=groups):
            split = weight.reshape(groups, -1, *weight.shape[1:])
            return _product(split, factor.reshape(groups, 1, -1, *[1] * (weight.ndim - 2))).reshape(weight.shape)
    return _product(weight, factor)


def _scale_inputs(op: Operator, weight: Array, factor: Array) -> Array:
    """The weight that gives, for data divided by `factor` per input channel, the results of `weight`."""
    match op:
        case Conv(groups=groups):
            split = weight.reshape(groups, -1, *weight.shape[1:])
            return _product(split, factor.reshape(groups, 1, -1, *[1] * (weight.ndim - 2))).reshape(weight.shape)
    return _product(weight, factor.reshape(-1, *[1] * (weight.ndim - 1)))


def _product(weight: Array, factor: Array) -> Array:
    """A product in float64, rounded to the type of the weight as it is made: large weights have no copy in float64."""
    product = np.empty(weight.shape, weight.dtype)
    with np.errstate(over="ignore"):
        return np.multiply(weight, factor, out=product, dtype=np.float64, casting="unsafe")


def _response(op: Conv, weight: Array, data: Array) -> Array:
    """The result of a convolution without padding for data that is constant per channel: one value per output
    channel."""
    sums = weight.astype(np.float64).sum(axis=tuple(range(2, weight.ndim)))
    split = sums.reshape(op.groups, -1, sums.shape[1])
    response: Array = np.einsum("goi,gi->go", split, data.reshape(op.groups, -1))
    return response.reshape(-1)
