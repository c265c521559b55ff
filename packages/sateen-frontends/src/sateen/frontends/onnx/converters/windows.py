"""Operators that slide a window over spatial axes: convolutions and pools."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.windows import limited_strides, same_pads, shared_pads
from sateen.frontends.onnx.node import Converter, OnnxNode
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import (
    Abs,
    AveragePool,
    Cast,
    Conv,
    ConvTranspose,
    GlobalAveragePool,
    GlobalMaxPool,
    MaxPool,
    MaxPoolIndices,
    Multiply,
    Pad,
    Power,
    ReduceL1,
    ReduceL2,
    ReduceSum,
    Sqrt,
)
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.computations.windows import Window
from sateen.topi.operators import Operator


def _window(node: OnnxNode, kernel: tuple[int, ...]) -> Window:
    """The window with `kernel`, and pads as given, or all zero if auto_pad decides them."""
    rank = len(kernel)
    strides = node.optional_integers("strides") or (1,) * rank
    dilations = node.optional_integers("dilations") or (1,) * rank
    pads = node.optional_integers("pads") or (0,) * (2 * rank)
    if len(strides) != rank or len(dilations) != rank or len(pads) != 2 * rank or node.rank(0) != rank + 2:
        raise FrontendError(
            f"expected {rank} strides and dilations, {2 * rank} pads, {rank + 2} dimensions as the kernel has, found "
            f"strides {list(strides)}, dilations {list(dilations)}, pads {list(pads)}, {node.rank(0)} dimensions"
        )
    if min((*kernel, *strides, *dilations), default=1) < 1:
        raise FrontendError(
            f"expected kernel, strides and dilations of 1 or more, found {list(kernel)}, {list(strides)}, "
            f"{list(dilations)}"
        )
    if _auto_pad(node) != "NOTSET" and any(pads):
        raise FrontendError(
            f"auto_pad {_auto_pad(node)} and pads {list(pads)} are given both, which ONNX forbids, and evaluators "
            "differ in which of them counts; leave one out"
        )
    return Window(kernel, strides, pads, tuple(1 if k == 1 else d for k, d in zip(kernel, dilations, strict=True)))


def _auto_pad(node: OnnxNode) -> str:
    mode = node.text("auto_pad") or "NOTSET"
    if mode not in {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"}:
        raise FrontendError(f"expected auto_pad NOTSET, SAME_UPPER, SAME_LOWER or VALID, found {mode!r}")
    return mode


def _pads(node: OnnxNode, window: Window) -> tuple[int, ...]:
    """Pads of a convolution or pool: SAME gives ceil(extent / stride) outputs (ONNX Conv, attribute auto_pad)."""
    mode = _auto_pad(node)
    if not mode.startswith("SAME"):
        return window.pads
    what = f"auto_pad {mode} of {node.described(0)}"
    return same_pads(node.shape(0)[2:], window.strides, window.reaches, what, odd_at_end=mode == "SAME_UPPER")


def _strides(node: OnnxNode, window: Window, pads: tuple[int, ...]) -> tuple[int, ...]:
    return limited_strides(window.strides, node.shape(0)[2:], pads)


def _kernel_of_weight(node: OnnxNode, index: int = 1) -> tuple[int, ...]:
    kernel = node.static_shape(index)[2:]
    given = node.optional_integers("kernel_shape")
    if given is not None and given != kernel:
        raise FrontendError(f"kernel_shape is {list(given)}, but the weight has {list(kernel)}")
    return kernel


def convolution(node: OnnxNode, weight: int = 1) -> Conv:
    """The convolution of input 0 with the weight in input `weight`, with the node's attributes."""
    window = _window(node, _kernel_of_weight(node, weight))
    pads = _pads(node, window)
    return Conv(
        strides=_strides(node, window, pads), pads=pads, dilations=window.dilations, groups=node.integer("group")
    )


def _conv(node: OnnxNode) -> Operand:
    return node.result(convolution(node), *node.present_values())


def _conv_transpose(node: OnnxNode) -> Operand:
    """output_shape, or SAME (extent * stride), decide the pads; an odd pad goes to the end for SAME_UPPER only
    (ONNX ConvTranspose). An output_shape beyond the last window is filled at the end."""
    window = _window(node, _kernel_of_weight(node))
    rank = len(window.kernel)
    output_padding = node.optional_integers("output_padding") or (0,) * rank
    wanted = node.optional_integers("output_shape")
    mode = _auto_pad(node)
    pads = window.pads
    if wanted is not None or mode.startswith("SAME"):
        spatial = node.static_shape(0)[2:]
        wanted = wanted or tuple(extent * stride for extent, stride in zip(spatial, window.strides, strict=True))
        full = _uncropped(spatial, window, output_padding)
        wanted = wanted[-rank:]
        if len(wanted) != rank or min(wanted) < 1:
            raise FrontendError(f"expected an output_shape of {rank} extents, found {list(wanted)}")
        if mode.startswith("SAME") and any(whole < part for whole, part in zip(full, wanted, strict=True)):
            raise UnsupportedError(
                f"with auto_pad {mode} the strides {list(window.strides)} leave gaps between windows of "
                f"{list(window.reaches)}, which evaluators fill differently",
                "give pads and output_padding",
            )
        totals = [max(whole - part, 0) for whole, part in zip(full, wanted, strict=True)]
        pads = shared_pads(totals, odd_at_end=mode == "SAME_UPPER")
        output_padding = tuple(
            extra + max(part - whole, 0) for extra, part, whole in zip(output_padding, wanted, full, strict=True)
        )
    op = ConvTranspose(
        strides=tuple(1 if extent == 1 else s for extent, s in zip(node.shape(0)[2:], window.strides, strict=True)),
        pads=pads,
        dilations=window.dilations,
        groups=node.integer("group"),
        output_padding=output_padding,
    )
    return node.result(op, *node.present_values())


def _uncropped(spatial: tuple[int, ...], window: Window, output_padding: tuple[int, ...]) -> tuple[int, ...]:
    """The output extents of a transposed convolution without pads."""
    if len(output_padding) != len(spatial):
        raise FrontendError(f"expected {len(spatial)} numbers as output_padding, found {list(output_padding)}")
    return replace(window, pads=(0,) * (2 * window.rank)).transposed_output(spatial, output_padding)


def _max_pool(node: OnnxNode) -> Operand | tuple[Operand, ...]:
    """The second output holds positions, as if all of the data were one row."""
    windows = _pool_windows(node)
    if len(node.outputs) < 2 or not node.outputs[1]:
        return node.result(MaxPool(*windows), node.value(0))
    column_major = node.knows("storage_order") and node.flag("storage_order")
    return node.results(MaxPoolIndices(*windows, column_major), node.value(0), count=2)


def _pool_windows(node: OnnxNode) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...], bool]:
    """The kernel, strides, pads, dilations and ceil_mode of a pool, as operators of the graph take them."""
    window = _window(node, node.integers("kernel_shape"))
    pads = _pads(node, window)
    ceil_mode = node.flag("ceil_mode") and _auto_pad(node) == "NOTSET"
    return window.kernel, _strides(node, window, pads), pads, window.dilations, ceil_mode


def _lp_pool(node: OnnxNode) -> Operand:
    """The p-norm of each window: the average of |x|^p, padding counted, times the number of elements, to the 1/p."""
    window = _window(node, node.integers("kernel_shape"))
    pads = _pads(node, window)
    if node.flag("ceil_mode") and _auto_pad(node) == "NOTSET":
        pads = _widened(pads, window, node.static_shape(0)[2:])
    pool = AveragePool(kernel=window.kernel, strides=_strides(node, window, pads), dilations=window.dilations)
    p = node.integer("p") if node.version > 1 else int(node.number("p"))
    if p < 1:
        raise FrontendError(f"expected a norm of order 1 or more, found {p}")
    sizes = _widened_sizes(node, _padded(node, node.value(0), pads))
    dtype = sizes.type.dtype
    count = node.literal(prod(window.kernel), dtype)
    if p == 1:
        return _narrowed(node, Multiply(), node.step(pool, sizes), count)
    powers = node.step(Power(), sizes, node.literal(p, dtype))
    total = node.step(Multiply(), node.step(pool, powers), count)
    if p == 2:
        return _narrowed(node, Sqrt(), total)
    return _narrowed(node, Power(), total, node.literal(1 / p, dtype))


def _widened_sizes(node: OnnxNode, data: Value) -> Value:
    """|x| in float32 if x has 16 bits, since its powers may leave the range."""
    size, dtype = node.step(Abs(), data), data.type.dtype
    return node.step(Cast(dtype=DType.of("float32")), size) if dtype.bits == 16 else size


def _narrowed(node: OnnxNode, op: Operator, *operands: Value) -> Operand:
    """The node's result: the result of `op`, in the type of the node's input."""
    wanted = node.dtype(0)
    if operands[0].type.dtype == wanted:
        return node.result(op, *operands)
    return node.result(Cast(dtype=wanted), node.step(op, *operands))


def _widened(pads: tuple[int, ...], window: Window, spatial: tuple[int, ...]) -> tuple[int, ...]:
    """Pads, enlarged by the part of a last window of ceil_mode that exceeds them."""
    rank = len(spatial)
    ends = [
        max(pads[rank + d], (count - 1) * window.strides[d] + window.reach(d) - pads[d] - spatial[d])
        for d, count in enumerate(replace(window, pads=pads).output(spatial, ceil_mode=True))
    ]
    return (*pads[:rank], *ends)


def _padded(node: OnnxNode, data: Value, pads: tuple[int, ...]) -> Value:
    rank = len(pads) // 2
    return node.step(Pad(pads=(0, 0, *pads[:rank], 0, 0, *pads[rank:])), data) if any(pads) else data


def _global_lp_pool(node: OnnxNode) -> Operand:
    p, axes, data = int(node.number("p")), tuple(range(2, node.rank(0))), node.value(0)
    if p < 1:
        raise FrontendError(f"expected a norm of order 1 or more, found {p}")
    if p <= 2:
        return node.result((ReduceL1 if p == 1 else ReduceL2)(axes=axes, keepdims=True), data)
    sizes = _widened_sizes(node, data)
    powers = node.step(Power(), sizes, node.literal(p, sizes.type.dtype))
    total = node.step(ReduceSum(axes=axes, keepdims=True), powers)
    return _narrowed(node, Power(), total, node.literal(1 / p, sizes.type.dtype))


def _average_pool(node: OnnxNode) -> Operand:
    """Padding counts if count_include_pad says so, as of opset 7."""
    op = AveragePool(*_pool_windows(node), count_include_pad=node.flag("count_include_pad"))
    return node.result(op, node.value(0))


WINDOWS: dict[str, Converter] = {
    "AveragePool": _average_pool,
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "GlobalAveragePool": lambda node: node.result(GlobalAveragePool(), node.value(0)),
    "GlobalMaxPool": lambda node: node.result(GlobalMaxPool(), node.value(0)),
    "GlobalLpPool": _global_lp_pool,
    "LpPool": _lp_pool,
    "MaxPool": _max_pool,
}
