"""Elements that are there several times: expanded, repeated, in meshes."""

from __future__ import annotations

from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.graph_ir import ops
from sateen.runtime.errors import FrontendError
from sateen.topi.computations.broadcast import broadcast_shape
from sateen.topi.dimensions import listed, product


def _expand(node: TorchNode) -> Operand:
    """-1 keeps an extent; further axes come in front."""
    shape, wanted = node.type("self").shape, node.dims("size")
    missing = len(wanted) - len(shape)
    if missing < 0:
        raise FrontendError(f"expected at least {len(shape)} extents, found {listed(wanted)}")
    kept = tuple(shape[i - missing] if i >= missing and extent == -1 else extent for i, extent in enumerate(wanted))
    return node.result(ops.BroadcastTo(shape=kept), node.tensor("self"))


def _expand_as(node: TorchNode) -> Operand:
    return node.result(ops.BroadcastTo(shape=node.type("other").shape), node.tensor("self"))


def _broadcast_tensors(node: TorchNode) -> list[Operand]:
    values = node.tensors("tensors")
    shape = broadcast_shape(*(v.type.shape for v in values))
    return [node.result(ops.BroadcastTo(shape=shape), v, output=i) for i, v in enumerate(values)]


def _repeat(node: TorchNode) -> Operand:
    """`repeats` for all axes; further ones are new and come in front."""
    data, repeats = node.tensor("self"), node.dims("repeats")
    shape = (*(1,) * (len(repeats) - data.type.rank), *data.type.shape)
    return node.result(ops.Tile(repeats=repeats), node.reshaped(data, shape))


def _tile(node: TorchNode) -> Operand:
    data, repeats = node.tensor("self"), node.dims("dims")
    repeats = (*(1,) * (data.type.rank - len(repeats)), *repeats)
    shape = (*(1,) * (len(repeats) - data.type.rank), *data.type.shape)
    return node.result(ops.Tile(repeats=repeats), node.reshaped(data, shape))


def _repeat_interleave(node: TorchNode) -> Operand:
    """Each element so many times in a row; all axes count as one if none is given."""
    if node.is_tensor("repeats") and not node.is_number("repeats"):
        raise UnsupportedError("repeats that are a tensor are not supported")
    data, count = node.tensor("self"), node.integer("repeats")
    node.ignore("output_size")
    if not node.gives("dim"):
        data = node.reshaped(data, (product(data.type.shape),))
    axis = node.one_axis(data.type.rank) if node.gives("dim") else 0
    shape = data.type.shape
    apart = node.reshaped(data, (*shape[: axis + 1], 1, *shape[axis + 1 :]))
    spread = node.broadcast(apart, (*shape[: axis + 1], count, *shape[axis + 1 :]))
    return node.result(ops.Reshape(shape=(*shape[:axis], shape[axis] * count, *shape[axis + 1 :])), spread)


def _mesh(node: TorchNode) -> list[Operand]:
    """Each vector along an axis of its own; `xy` swaps the first two."""
    values = node.tensors("tensors")
    extents = [product(v.type.shape) for v in values]
    order = list(range(len(values)))
    if node.argument("indexing", "ij") == "xy" and len(values) > 1:
        order[:2] = [1, 0]
    shape = tuple(extents[i] for i in order)
    results: list[Operand] = []
    for index, value in enumerate(values):
        along = [1 if i != index else extents[i] for i in order]
        results.append(node.result(ops.BroadcastTo(shape=shape), node.reshaped(value, along), output=index))
    return results


REPETITION: dict[str, Converter] = {
    "broadcast_tensors": _broadcast_tensors,
    "broadcast_to": _expand,
    "expand": _expand,
    "expand_as": _expand_as,
    "expand_copy": _expand,
    "meshgrid": _mesh,
    "repeat": _repeat,
    "repeat_interleave": _repeat_interleave,
    "tile": _tile,
}
