"""Views of another shape. A view is a tensor of its own here."""

from __future__ import annotations

from collections.abc import Sequence

from sateen.frontends.core.operands import Operand, normal_axes, require_bound
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.shapes import filled_shape, with_axes
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim
from sateen.topi.dimensions import product, symbols_of


def _reshape_to(node: TorchNode, shape: Sequence[Dim]) -> Operand:
    return node.result(ops.Reshape(shape=tuple(shape)), node.tensor("self"))


def _view(node: TorchNode) -> Operand:
    """A shape (`size`, or `shape` of reshape); torch requires that a view needs no copy, which concerns memory only."""
    name = "shape" if node.gives("shape") else "size"
    if not node.gives(name):  # as another element type
        return _view_as_type(node)
    return _reshape_to(node, filled_shape(node.dims(name), node.type("self").shape))


def _view_as_type(node: TorchNode) -> Operand:
    dtype = node.element_type()
    if dtype is None or dtype.bits != node.type("self").dtype.bits:
        raise UnsupportedError("a view as elements of another width is not supported")
    return node.result(ops.BitCast(dtype=dtype), node.tensor("self"))


def _like(node: TorchNode) -> Operand:
    return _reshape_to(node, node.type("other").shape)


def _flatten(node: TorchNode) -> Operand:
    shape = node.type("self").shape or (1,)
    first, last = (node.one_axis(len(shape), name, d) for name, d in (("start_dim", 0), ("end_dim", -1)))
    return _reshape_to(node, (*shape[:first], product(shape[first : last + 1]), *shape[last + 1 :]))


def _unflatten(node: TorchNode) -> Operand:
    shape = node.type("self").shape
    axis = node.one_axis(len(shape))
    node.ignore("names")
    return _reshape_to(
        node, (*shape[:axis], *filled_shape(node.dims("sizes"), shape[axis : axis + 1]), *shape[axis + 1 :])
    )


def _squeeze(node: TorchNode) -> Operand:
    """Only the given axes that have an extent of 1."""
    shape = node.type("self").shape
    axes = normal_axes(node.integers("dim"), max(len(shape), 1)) if node.gives("dim") else range(len(shape))
    asked = [shape[axis] for axis in axes if axis < len(shape)]
    require_bound(
        symbols_of(*(d for d in asked if not isinstance(d, int))) if not node.gives("dim") else (), "the rank"
    )
    return _reshape_to(node, [d for axis, d in enumerate(shape) if axis not in axes or d != 1])


def _unsqueeze(node: TorchNode) -> Operand:
    return _reshape_to(node, with_axes(node.type("self").shape, (node.integer("dim"),)))


def _at_least(rank: int) -> Converter:
    """atleast_1d, _2d and _3d of one tensor."""

    def convert(node: TorchNode) -> Operand:
        shape = node.type("self").shape
        if len(shape) >= rank:
            return _reshape_to(node, shape)
        shape = (1,) * (min(rank, 2) - len(shape)) + shape
        return _reshape_to(node, shape + (1,) * (rank - len(shape)))

    return convert


def _ravel(node: TorchNode) -> Operand:
    return _reshape_to(node, (product(node.type("self").shape),))


SHAPE: dict[str, Converter] = {
    "_unsafe_view": _view,
    "atleast_1d": _at_least(1),
    "atleast_2d": _at_least(2),
    "atleast_3d": _at_least(3),
    "flatten": _flatten,
    "ravel": _ravel,
    "reshape": _view,
    "reshape_as": _like,
    "squeeze": _squeeze,
    "squeeze_copy": _squeeze,
    "unflatten": _unflatten,
    "unsqueeze": _unsqueeze,
    "unsqueeze_copy": _unsqueeze,
    "view": _view,
    "view_as": _like,
    "view_copy": _view,
}
