"""Tensors as their pieces along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.frontends.torch.program import Argument, Reference
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import rounded_up


def _split(node: TorchNode) -> Sequence[Operand]:
    """Pieces of `split_size` (one number: the last piece has the rest), or of these sizes."""
    shape = node.type("self").shape
    axis = node.one_axis(len(shape), default=0)
    name = next((n for n in ("split_sizes", "split_size") if node.gives(n)), "split_size")
    sizes = node.dims(name)
    if not isinstance(node.argument(name), tuple):
        return _split_evenly(node, axis, sizes[0])
    return node.results(ops.Split(axis=axis, sizes=sizes), node.tensor("self"), count=len(sizes))


def _split_evenly(node: TorchNode, axis: int, part: Dim) -> Sequence[Operand]:
    extent, count = node.type("self").shape[axis], len(node.outputs)
    sizes: list[Dim] = [part] * (count - 1)
    sizes.append(extent - part * (count - 1))
    return node.results(ops.Split(axis=axis, sizes=tuple(sizes)), node.tensor("self"), count=count)


def _chunk(node: TorchNode) -> Sequence[Operand]:
    """At most so many pieces of equal extent, rounded up."""
    shape = node.type("self").shape
    axis, count = node.one_axis(len(shape), default=0), node.integer("chunks")
    return _split_evenly(node, axis, rounded_up(shape[axis], count))


def _tensor_split(node: TorchNode) -> Sequence[Operand]:
    """So many pieces, the first ones one larger where they don't fit, or pieces between indices."""
    return _split_between(node, node.one_axis(node.type("self").rank, default=0))


def _split_between(node: TorchNode, axis: int) -> Sequence[Operand]:
    (extent,) = static_extents(node.type("self").shape[axis : axis + 1], "the axis that is split")
    tensor = "tensor_indices_or_sections"
    if node.gives(tensor):
        found = node.constant(node.position(_named(node.argument(tensor))))
        given = found.reshape(-1).tolist()
        cuts, count = (None, given[0]) if found.ndim == 0 else (given, 0)
    else:
        cuts = list(node.integers("indices")) if node.gives("indices") else None
        count = 0 if cuts is not None else node.integer("sections")
    if cuts is None and count != len(node.outputs):
        raise FrontendError(f"expected {count} results, found {len(node.outputs)}")
    if cuts is not None:
        ends = [0, *(min(max(i + extent if i < 0 else i, 0), extent) for i in cuts), extent]
        if ends != sorted(ends):
            raise UnsupportedError("pieces between indices that don't rise are not supported")
        sizes = [b - a for a, b in pairwise(ends)]
    else:
        sizes = [extent // count + (i < extent % count) for i in range(count)]
    return node.results(ops.Split(axis=axis, sizes=tuple(sizes)), node.tensor("self"), count=len(sizes))


def _named(argument: Argument) -> str:
    if not isinstance(argument, Reference):
        raise FrontendError("expected a tensor of indices")
    return argument.name


def _split_along(axis: int) -> Converter:
    """hsplit (axis 1, or 0 of vectors), vsplit and dsplit: so many equal pieces, or pieces between indices."""

    def convert(node: TorchNode) -> Sequence[Operand]:
        rank = node.type("self").rank
        place = 0 if axis == 1 and rank == 1 else axis
        return _split_between(node, place)

    return convert


def _unbind(node: TorchNode) -> list[Operand]:
    """The slices along an axis, each without it."""
    data = node.tensor("self")
    axis, count = node.one_axis(data.type.rank, default=0), len(node.outputs)
    kept = (*data.type.shape[:axis], *data.type.shape[axis + 1 :])
    pieces = node.steps(ops.Split(axis=axis, sizes=(1,) * count), data, count=count)
    return [node.result(ops.Reshape(shape=kept), piece, output=i) for i, piece in enumerate(pieces)]


SPLITS: dict[str, Converter] = {
    "chunk": _chunk,
    "dsplit": _split_along(2),
    "hsplit": _split_along(1),
    "split": _split,
    "split_copy": _split,
    "split_with_sizes": _split,
    "split_with_sizes_copy": _split,
    "tensor_split": _tensor_split,
    "unbind": _unbind,
    "unbind_copy": _unbind,
    "unsafe_chunk": _chunk,
    "unsafe_split": _split,
    "unsafe_split_with_sizes": _split,
    "vsplit": _split_along(0),
}
