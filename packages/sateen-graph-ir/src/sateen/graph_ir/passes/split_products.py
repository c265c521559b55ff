"""Compute the parts of a product apart where only parts of it are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from sateen.graph_ir.ir import Array, Graph, GraphRewriter, Node, Value
from sateen.graph_ir.ops import Broadcast, MatMul, Reshape, Slice, Split, Transpose, Unary
from sateen.runtime import DeviceKind
from sateen.topi.dimensions import numbers


def split_products(graph: Graph) -> Graph:
    """A product with a constant matrix that is read by columns in parts becomes products with parts of the matrix.

        %a = mat_mul(%x, %w); %q, %k, %v = split(%a) {axis=2, sizes=(768, 768, 768)}
        =>  %q = mat_mul(%x, %w.1); %k = mat_mul(%x, %w.2); %v = mat_mul(%x, %w.3)

    So no part is copied. The parts are those of one split, or slices that have no element in common. Between them and
    the product there may be reshapes that divide the columns, transposes, and element-wise operators with constants, of
    which each part gets its own: so [batch, tokens, 3, heads, depth] is split, the 3 being first by then. Only if
    nothing else reads what is between, and not on devices, where it would be more launches. Requires: static types.
    """
    consumers = graph.consumers()
    rewriter = GraphRewriter(graph)
    found: dict[Node, Sequence[Value]] = {}
    for node in graph.nodes:
        if isinstance(node.op, (Split, Slice)) and node not in found:
            found.update(_parts(rewriter, graph, consumers, node))
        if node in found:
            rewriter.replace(node, *found[node])
        else:
            rewriter.keep(node)
    return rewriter.finish()


@dataclass(slots=True)
class _Columns:
    """How parts of a value come from columns of a product: what is between them, and places along one axis."""

    axis: int
    places: list[Array]
    """Of each part."""
    between: list[tuple[Node, int, list[Array]]] = field(default_factory=list)
    """Operators from the last to the first, and the axis and places of parts of their results."""

    def step_over(self, node: Node, data: Value) -> bool:
        """Go to the data of a node; False if its parts are no parts of those along one axis."""
        match node.op:
            case Transpose(permutation):
                above = permutation[self.axis], self.places
            case Reshape():
                divided = self._before_reshape(data.type.static_shape, node.outputs[0].type.static_shape)
                if divided is None:
                    return False
                above = divided
            case _ if data.type.shape == node.outputs[0].type.shape:
                above = self.axis, self.places
            case _:
                return False
        self.between.append((node, self.axis, self.places))
        self.axis, self.places = above
        return True

    def _before_reshape(self, before: Sequence[int], after: Sequence[int]) -> tuple[int, list[Array]] | None:
        """The axis of which a reshape makes ours, perhaps among others, and the places there."""
        for axis, extent in enumerate(before):
            inner = prod(before[axis + 1 :])
            first = [d for d in range(self.axis + 1) if prod(after[d:]) == extent * inner]
            end = [d for d in range(self.axis + 1, len(after) + 1) if prod(after[d:]) == inner]
            if first and end:
                grid = np.arange(extent).reshape(after[first[-1] : end[0]])
                return axis, [grid.take(places, self.axis - first[-1]).ravel() for places in self.places]
        return None


def _parts(
    rewriter: GraphRewriter, graph: Graph, consumers: Mapping[Value, Sequence[Node]], node: Node
) -> dict[Node, list[Value]]:
    """What stands for the outputs of the nodes that take parts of a product, `node` among them; none of others."""
    (data,) = node.inputs
    assert data is not None
    if data in graph.outputs or data.device.kind is not DeviceKind.CPU or 0 in data.type.shape:
        return {}
    readers = consumers[data]
    columns = _columns_read(readers, data.type.static_shape)
    product = None if columns is None else _product_above(rewriter, rewriter.value(data), columns)
    if columns is None or product is None:
        return {}
    outputs = [(reader, output) for reader in readers for output in reader.outputs]
    found: dict[Node, list[Value]] = {reader: [] for reader in readers}
    for part, (reader, output) in enumerate(outputs):
        found[reader].append(_part(rewriter, product, columns, part, output.name))
    return found


def _columns_read(readers: Sequence[Node], shape: Sequence[int]) -> _Columns | None:
    """The places of all that the readers take, if these are along one axis and all different."""
    taken = [part for reader in readers for part in _taken(reader, shape)]
    places = [own for _, own in taken]
    if len(taken) != sum(len(r.outputs) for r in readers) or len({axis for axis, _ in taken}) != 1:
        return None
    are_different = np.unique(np.concatenate(places)).size == sum(own.size for own in places)
    return _Columns(taken[0][0], places) if are_different and all(own.size for own in places) else None


def _taken(node: Node, shape: Sequence[int]) -> list[tuple[int, Array]]:
    """The axis and the places along it that each output of a node takes; none if there is no such axis."""
    match node.op:
        case Split(axis):
            ends = np.cumsum([output.type.static_shape[axis] for output in node.outputs])
            return [(axis, own) for own in np.split(np.arange(shape[axis]), ends[:-1])]
        case Slice(starts, _, steps):
            sizes = node.outputs[0].type.static_shape
            cut = [d for d, extent in enumerate(shape) if sizes[d] != extent or steps[d] != 1]
            begin = numbers(starts)
            return [(d, begin[d] + steps[d] * np.arange(sizes[d])) for d in cut] if len(cut) == 1 else []
    return []


def _product_above(rewriter: GraphRewriter, value: Value, columns: _Columns) -> Node | None:
    """The product with a constant matrix whose columns become those of a value; `columns` has its own then."""
    while (node := rewriter.producer(value)) is not None:
        match node.op:
            case MatMul() if not node.method:
                matrix = rewriter.constant(node.inputs[1])
                is_split = matrix is not None and matrix.ndim == 2 and columns.axis == value.type.rank - 1
                return node if is_split else None
            case Reshape() | Transpose() | Broadcast() | Unary():
                above = [v for v in node.inputs if v is not None and rewriter.constant(v) is None]
            case _:
                return None
        if len(above) != 1 or rewriter.is_shared(above[0]) or not columns.step_over(node, above[0]):
            return None
        (value,) = above
    return None


def _part(rewriter: GraphRewriter, product: Node, columns: _Columns, part: int, name: str) -> Value:
    """A part of what comes from a product, of its own columns."""
    rows, weight = product.inputs
    assert weight is not None
    own = _elements(rewriter, weight, 1, columns.places[part])
    value = rewriter.insert(product.op, rows, own, name=name, spans=product.spans)
    for node, axis, places in reversed(columns.between):
        op, rank = node.op, node.outputs[0].type.rank
        if isinstance(op, Reshape):
            op = Reshape((*op.shape[:axis], places[part].size, *op.shape[axis + 1 :]))
        operands = [
            value if rewriter.constant(v) is None else _elements(rewriter, v, axis - rank + v.type.rank, places[part])
            for v in node.inputs
            if v is not None
        ]
        value = rewriter.insert(op, *operands, name=name, spans=node.spans)
    return value


def _elements(rewriter: GraphRewriter, constant: Value, axis: int, places: Array) -> Value:
    """The elements of a constant at places along an axis; the constant itself if it is the same everywhere there."""
    data = rewriter.constant(constant)
    assert data is not None
    if axis < 0 or data.shape[axis] == 1:
        return constant
    return rewriter.parameter(constant.name, data.take(places, axis), constant.device)
