"""Convolutions, transposed or not."""

from __future__ import annotations

from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.windows import limited_strides, shared_pads
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError


def _operands(node: TorchNode) -> tuple[Value, Value, Value | None, int]:
    """Data with a batch, weight, bias, and the number of spatial axes."""
    data, weight, bias = node.tensor("input"), node.tensor("weight"), node.optional("bias")
    rank = weight.type.rank - 2
    if data.type.rank == rank + 1:
        data = node.reshaped(data, (1, *data.type.shape))
    return data, weight, bias, rank


def _unbatched(node: TorchNode, op: ops.Conv | ops.ConvTranspose, *operands: Value | None) -> Operand:
    """The result without a batch where the input has none."""
    given = tuple(v for v in operands if v is not None)
    if node.type("input").rank == given[1].type.rank:
        return node.result(op, *given)
    found = node.step(op, *given)
    return node.result(ops.Reshape(shape=found.type.shape[1:]), found)


def _conv(node: TorchNode) -> Operand:
    """conv1d, conv2d, conv3d; padding is numbers, `valid`, or `same`, whose odd element is at the end."""
    data, weight, bias, rank = _operands(node)
    stride, dilation = node.per_axis("stride", rank, 1), node.per_axis("dilation", rank, 1)
    kernel = weight.type.static_shape[2:]
    if isinstance(node.argument("padding"), str):
        mode = node.text("padding")
        if mode not in {"same", "valid"}:
            raise FrontendError(f"expected padding same or valid, found {mode!r}")
        totals = [(k - 1) * d * (mode == "same") for k, d in zip(kernel, dilation, strict=True)]
        pads = shared_pads(totals, odd_at_end=True)
    else:
        padding = node.per_axis("padding", rank, 0)
        pads = (*padding, *padding)
    return _unbatched(node, _convolution(data, stride, pads, dilation, node.integer("groups", 1)), data, weight, bias)


def _convolution(
    data: Value, stride: tuple[int, ...], pads: tuple[int, ...], dilation: tuple[int, ...], groups: int
) -> ops.Conv:
    strides = limited_strides(stride, data.type.shape[2:], pads)
    return ops.Conv(strides=strides, pads=pads, dilations=dilation, groups=groups)


def _transposed(node: TorchNode) -> Operand:
    """conv_transpose1d, 2d and 3d."""
    data, weight, bias, rank = _operands(node)
    padding = node.per_axis("padding", rank, 0)
    op = ops.ConvTranspose(
        strides=node.per_axis("stride", rank, 1),
        pads=(*padding, *padding),
        dilations=node.per_axis("dilation", rank, 1),
        groups=node.integer("groups", 1),
        output_padding=node.per_axis("output_padding", rank, 0),
    )
    return _unbatched(node, op, data, weight, bias)


def _either(node: TorchNode) -> Operand:
    """convolution of the core ATen operators: all settings are given."""
    if node.flag("transposed"):
        return _transposed(node)
    if any(node.integers("output_padding", (0,))):
        raise UnsupportedError("output_padding of a convolution that is not transposed is not supported")
    return _conv(node)


WINDOWS: dict[str, Converter] = {
    "conv1d": _conv,
    "conv2d": _conv,
    "conv3d": _conv,
    "conv_transpose1d": _transposed,
    "conv_transpose2d": _transposed,
    "conv_transpose3d": _transposed,
    "convolution": _either,
}
