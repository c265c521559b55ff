"""Join reshapes and transposes that follow each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import prod

from sateen.graph_ir.ir import Graph, GraphRewriter, Node
from sateen.graph_ir.ops import Reshape, Transpose
from sateen.topi.operators import Operator

Piece = tuple[int, int]
"""An extent, and how far apart its elements are in the source."""
MOST_MOVES = 8
"""The most moves that are looked at together: longer chains are rare, and are joined bit by bit."""


def join_moves(graph: Graph) -> Graph:
    """Reshapes and transposes that follow each other become one transpose at most, with few reshapes around it.

        %a = reshape(%x) {shape=(8, 128, 64)}; %b = transpose(%a) {permutation=(0, 2, 1)}
        %y = reshape(%b) {shape=(1, 8, 64, 128)}
        =>  %y = transpose(%x) {permutation=(0, 1, 3, 2)}

    A reshape is put in front of the transpose where that is enough, since a transpose is free where its reader takes
    its layout. Values that something else reads stay as they are. Requires: inferred types.
    """
    rewriter = GraphRewriter(graph)
    for node in graph.nodes:
        chain, joined = _chain(rewriter, node), None
        while len(chain) > 1 and joined is None:
            joined = _joined(chain)
            chain = chain[1:] if joined is None else chain
        if joined is None:
            rewriter.keep(node)
            continue
        (value,) = chain[0].inputs
        spans = tuple(dict.fromkeys(span for n in chain for span in n.spans))
        assert value is not None
        for op in joined:
            value = rewriter.insert(op, value, name=node.outputs[0].name, spans=spans)
        rewriter.replace(node, value)
    return rewriter.finish()


def _chain(rewriter: GraphRewriter, node: Node) -> list[Node]:
    """The moves of known sizes that end with a node, first to last; what is between them has no other reader."""
    chain: list[Node] = []
    last: Node | None = replace(node, inputs=rewriter.values(node.inputs)) if _is_move(node) else None
    while last is not None and _is_move(last) and len(chain) < MOST_MOVES:
        (data,) = last.inputs
        if data is None or not data.type.is_static or 0 in data.type.shape:
            break
        chain.insert(0, last)
        last = None if rewriter.is_shared(data) else rewriter.producer(data)
    return chain


def _is_move(node: Node) -> bool:
    return isinstance(node.op, (Reshape, Transpose))


def _joined(chain: Sequence[Node]) -> list[Operator] | None:
    """Fewer moves in place of those of a chain; None if there are none."""
    (data,) = chain[0].inputs
    assert data is not None
    source, result = data.type.static_shape, chain[-1].outputs[0].type.static_shape
    axes = _axes_after(chain, source)
    if axes is None:
        return None
    found = min((_moves(source, *moved, result) for moved in _transposes(source, axes, result)), key=_cost)
    return found if _cost(found) < _cost([node.op for node in chain]) else None


def _cost(moves: Sequence[Operator]) -> tuple[int, int]:
    """Transposes may be copies, reshapes rarely are."""
    return sum(isinstance(op, Transpose) for op in moves), len(moves)


def _axes_after(chain: Sequence[Node], source: Sequence[int]) -> list[list[Piece]] | None:
    """The pieces of the source that make each axis of the result; None if an axis divides a piece unevenly."""
    axes = [[piece] for piece in _pieces_of(source)]
    for node in chain:
        if isinstance(node.op, Transpose):
            axes = [axes[d] for d in node.op.permutation]
        else:
            pieces = [piece for axis in axes for piece in axis]
            divided = _divided(pieces, node.outputs[0].type.static_shape)
            if divided is None:
                return None
            axes = divided
    return axes


def _pieces_of(shape: Sequence[int]) -> list[Piece]:
    """The axes of a row-major tensor."""
    return [(extent, prod(shape[d + 1 :])) for d, extent in enumerate(shape)]


def _divided(pieces: Sequence[Piece], shape: Sequence[int]) -> list[list[Piece]] | None:
    """Pieces by the axes of a shape which they make, in order; None if one would be divided unevenly."""
    left = _merged(pieces)[::-1]
    axes: list[list[Piece]] = []
    for extent in shape:
        axis: list[Piece] = []
        needed = extent
        while needed > 1:
            own, stride = left.pop()
            taken = min(own, needed)
            if own % taken or needed % taken:
                return None
            axis.append((taken, stride * (own // taken)))
            if own > taken:
                left.append((own // taken, stride))
            needed //= taken
        axes.append(axis)
    return axes


def _merged(pieces: Iterable[Piece]) -> list[Piece]:
    """Pieces without those of one element; neighbours that are neighbours in the source, too, are one."""
    merged: list[Piece] = []
    for extent, stride in pieces:
        if extent == 1:
            continue
        if merged and merged[-1][1] == extent * stride:
            merged[-1] = merged[-1][0] * extent, stride
        else:
            merged.append((extent, stride))
    return merged


def _transposes(
    source: Sequence[int], axes: Sequence[Sequence[Piece]], result: Sequence[int]
) -> Iterator[tuple[list[int], list[int]]]:
    """The shapes and permutations of transposes that put elements in the order of the result: if they exist, one of
    its axes and one of the source's; and one of as few axes as possible."""
    single = [_merged(axis) for axis in axes]
    if all(len(axis) <= 1 for axis in single):
        order = _with_ones(sorted((d for d, axis in enumerate(single) if axis), key=lambda d: -single[d][0][1]), result)
        yield [result[d] for d in order], [order.index(d) for d in range(len(order))]
    runs = _merged(piece for axis in axes for piece in axis)
    whole = _pieces_of(source)
    inside = [
        [d for d, (own, step) in enumerate(whole) if own > 1 and stride <= step < extent * stride]
        for extent, stride in runs
    ]
    if all(_merged(whole[d] for d in own) == [run] for own, run in zip(inside, runs, strict=True)):
        yield [*source], _with_ones([d for own in inside for d in own], source)
    order = sorted(range(len(runs)), key=lambda i: -runs[i][1])
    yield [runs[i][0] for i in order], [order.index(i) for i in range(len(runs))]


def _with_ones(order: Sequence[int], shape: Sequence[int]) -> list[int]:
    """An order of the axes of a shape, those of one element at the places that they have there."""
    rest = iter(order)
    return [d if extent == 1 else next(rest) for d, extent in enumerate(shape)]


def _moves(
    source: Sequence[int], shape: Sequence[int], permutation: Sequence[int], result: Sequence[int]
) -> list[Operator]:
    """What gives the result by a transpose of the source in another shape; a transpose that changes nothing is none."""
    moved = [d for d in permutation if shape[d] != 1]
    if moved == sorted(moved):
        return [] if [*source] == [*result] else [Reshape((*result,))]
    before = [] if [*source] == [*shape] else [Reshape((*shape,))]
    after = [] if [shape[d] for d in permutation] == [*result] else [Reshape((*result,))]
    return [*before, Transpose((*permutation,)), *after]
