"""Convolutions and pools over one to three spatial axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.windows import same_pads, shared_pads
from sateen.frontends.coreml.program.node import Converter, OperationNode, defaulting
from sateen.frontends.coreml.shapes import last_pixel_pads
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError

_PADDINGS = ("valid", "same", "same_lower", "custom")


def _numbers(node: OperationNode, name: str, rank: int) -> tuple[int, ...]:
    """A number of 1 or more for each spatial axis."""
    found = node.integers(name) if node.given(name) else (1,) * rank
    if len(found) != rank or min(found, default=0) < 1:
        raise FrontendError(f"expected {rank} numbers of 1 or more as {name}, found {list(found)}")
    return found


def _padding(node: OperationNode) -> str:
    kind = node.text("pad_type")
    if kind not in _PADDINGS:
        raise FrontendError(f"expected pad_type {', '.join(_PADDINGS)}, found {kind!r}")
    return kind


def _custom(node: OperationNode, rank: int) -> tuple[int, ...]:
    """The given pads, which alternate before and after, as pads (begin…, end…)."""
    found = node.integers("pad") if node.given("pad") else (0,) * (2 * rank)
    if len(found) != 2 * rank or min(found, default=0) < 0:
        raise FrontendError(f"expected {2 * rank} numbers of 0 or more as pad, found {list(found)}")
    return (*found[::2], *found[1::2])


def _pads(node: OperationNode, reaches: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    kind, rank = _padding(node), len(reaches)
    if kind in ("same", "same_lower"):
        return same_pads(node.shape(node.at("x"))[2:], strides, reaches, f"pad_type {kind}", odd_at_end=kind == "same")
    return _custom(node, rank) if kind == "custom" else (0,) * (2 * rank)


def _convolution(node: OperationNode) -> Operand:
    weight = node.take_of_rank("weight", 3, 4, 5)
    x, rank = node.take_of_rank("x", weight.type.rank), weight.type.rank - 2
    kernel = static_extents(weight.type.shape[2:], "the kernel")
    strides, dilations = _numbers(node, "strides", rank), _numbers(node, "dilations", rank)
    reaches = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    op = ops.Conv(strides, _pads(node, reaches, strides), dilations, node.integer("groups"))
    return node.result(op, x, weight, *_bias(node))


def _bias(node: OperationNode) -> list[Value]:
    return [node.take("bias")] if node.given("bias") else []


def _transposed_convolution(node: OperationNode) -> Operand:
    """An output_shape decides what `same` crops, evenly (as TensorFlow), or what is added at the end (as PyTorch)."""
    weight = node.take_of_rank("weight", 3, 4, 5)
    x, rank = node.take_of_rank("x", weight.type.rank), weight.type.rank - 2
    kernel = static_extents(weight.type.shape[2:], "the kernel")
    strides, dilations = _numbers(node, "strides", rank), _numbers(node, "dilations", rank)
    spatial = static_extents(node.shape(node.at("x"))[2:], "the spatial axes of a transposed convolution")
    full = [(n - 1) * s + (k - 1) * d + 1 for n, s, k, d in zip(spatial, strides, kernel, dilations, strict=True)]
    wanted = node.integers("output_shape")[2:] if node.given("output_shape") else None
    if wanted is not None and len(wanted) != rank:
        raise FrontendError(f"expected an output_shape of {rank + 2} extents, found {list(wanted)}")
    if _padding(node) in ("same", "same_lower"):
        wanted = wanted or tuple(n * s for n, s in zip(spatial, strides, strict=True))
        totals = [max(whole - part, 0) for whole, part in zip(full, wanted, strict=True)]
        pads = shared_pads(totals, odd_at_end=_padding(node) == "same")
    else:
        pads = _custom(node, rank) if _padding(node) == "custom" else (0,) * (2 * rank)
    natural = [whole - pads[i] - pads[rank + i] for i, whole in enumerate(full)]
    more = tuple(part - own for part, own in zip(wanted or natural, natural, strict=True))
    if min(more, default=0) < 0:
        raise UnsupportedError(
            f"output_shape {list(wanted or ())} is smaller than {natural}, which the padding gives; the format "
            "does not say which side is cut",
            "crop the result in the program",
        )
    op = ops.ConvTranspose(strides, pads, dilations, node.integer("groups"), more)
    return node.result(op, x, weight, *_bias(node))


def _pool_window(node: OperationNode) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], bool]:
    """Kernel, strides, pads, and whether windows reach beyond these."""
    kernel = node.integers("kernel_sizes")
    rank = len(kernel)
    if node.rank(node.at("x")) != rank + 2 or min(kernel, default=0) < 1:
        raise FrontendError(f"expected a kernel of {node.rank(node.at('x')) - 2} numbers, found {list(kernel)}")
    strides = _numbers(node, "strides", rank)
    pads = _pads(node, kernel, strides)
    if not node.flag("ceil_mode"):
        return kernel, strides, pads, False
    if pads[:rank] != pads[rank:]:
        raise FrontendError(f"expected equal padding before and after with ceil_mode, found {list(pads)}")
    spatial = static_extents(node.shape(node.at("x"))[2:], "ceil_mode")
    return kernel, strides, *last_pixel_pads(pads[:rank], spatial, kernel, strides)


def _max_pool(node: OperationNode) -> Operand:
    kernel, strides, pads, _ = _pool_window(node)
    return node.result(ops.MaxPool(kernel, strides, pads), node.take("x"))


def _average_pool(node: OperationNode) -> Operand:
    kernel, strides, pads, reaches_on = _pool_window(node)
    counts = not node.flag("exclude_padding_from_average")
    if reaches_on and counts:
        raise UnsupportedError(
            "ceil_mode makes windows reach beyond the padding, and the format does not say whether an average counts "
            "what is there",
            "exclude_padding_from_average",
        )
    return node.result(ops.AveragePool(kernel, strides, pads, count_include_pad=counts), node.take("x"))


def _l2_pool(node: OperationNode) -> Operand:
    kernel, strides, pads, _ = _pool_window(node)
    x = node.take("x")
    mean = ops.AveragePool(kernel, strides, pads, count_include_pad=True)
    total = node.step(
        ops.Multiply(), node.step(mean, node.step(ops.Multiply(), x, x)), node.number_like(prod(kernel), x)
    )
    return node.result(ops.Sqrt(), total)


WINDOWS: Mapping[str, Converter] = {
    "avg_pool": defaulting(_average_pool, ceil_mode=False, exclude_padding_from_average=False),
    "conv": defaulting(_convolution, pad_type="valid", groups=1),
    "conv_transpose": defaulting(_transposed_convolution, pad_type="valid", groups=1),
    "l2_pool": defaulting(_l2_pool, ceil_mode=False),
    "max_pool": defaulting(_max_pool, ceil_mode=False),
}
