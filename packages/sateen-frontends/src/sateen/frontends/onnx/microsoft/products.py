"""Matrix products with what is fused into them, and products with weights of few bits."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.onnx.microsoft.activations import activation
from sateen.frontends.onnx.microsoft.description import Description
from sateen.frontends.onnx.microsoft.standard import applied, part
from sateen.frontends.onnx.node import OnnxNode
from sateen.graph_ir.ir import Array, Value
from sateen.graph_ir.ops import (
    Add,
    Cast,
    Concat,
    Dequantize,
    Gelu,
    MatMul,
    Multiply,
    ReduceSumSquare,
    Reshape,
    Slice,
    Sqrt,
    Subtract,
    Transpose,
)
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator

_INT = DType.of("int32")
FLOATS_OF_FOUR_BITS = (
    0.0, 5.208333333e-03, 2 / 3, 1.0, 1 / 3, 0.5, 1 / 6, 0.25,
    -0.0, -5.208333333e-03, -2 / 3, -1.0, -1 / 3, -0.5, -1 / 6, -0.25,
)  # fmt: skip
"""The numbers of sign, exponent and fraction in four bits, of which the largest is 1."""
NORMAL_FLOATS = (
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
    -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
)  # fmt: skip
"""Quantiles of the normal distribution (Dettmers et al., QLoRA, 2023, appendix E)."""


def _finished(node: OnnxNode, steps: Sequence[tuple[Operator, *tuple[Value, ...]]], value: Value) -> Operand:
    """The result of applying steps to a value, the last of which gives the node's result."""
    for op, *operands in steps[:-1]:
        value = node.step(op, value, *operands)
    if not steps:
        return value
    op, *operands = steps[-1]
    return node.result(op, value, *operands)


def _fused_numbers(node: OnnxNode) -> list[float]:
    """The parameters of a fused activation, each an attribute of its own."""
    names = ("activation_alpha", "activation_beta", "activation_gamma")
    return [node.number(name) for name in names if node.attribute(name) is not None]


def _fused_product(node: OnnxNode) -> Operand:
    """alpha · A' · B', where transBatch moves the first axis behind the other batches, and trans turns the matrices."""
    operands = []
    for index, side in enumerate("AB"):
        value = node.value(index)
        rank = value.type.rank
        turned = node.knows(f"transBatch{side}") and node.flag(f"transBatch{side}")
        axes = [*range(1, rank - 1), 0, rank - 1] if turned else list(range(rank))
        if node.flag(f"trans{side}") and rank > 1:
            axes[-2:] = axes[:-3:-1]
        operands.append(value if axes == sorted(axes) else node.step(Transpose(tuple(axes)), value))
    steps: list[tuple[Operator, *tuple[Value, ...]]] = []
    if node.number("alpha") != 1:
        steps.append((Multiply(), node.literal(node.number("alpha"), operands[0].type.dtype)))
    fused = activation(node.text("activation"), _fused_numbers(node)) if node.knows("activation") else None
    if fused is not None:
        steps.append((fused,))
    return _finished(node, steps, applied(node, "MatMul", operands, result=not steps))


def _fused_gemm(node: OnnxNode) -> Operand:
    fused = activation(node.attribute("activation") or "", _fused_numbers(node))
    settings = {name: node.attribute(name) for name in ("alpha", "beta", "transA", "transB")}
    product = applied(node, "Gemm", node.inputs, settings, result=fused is None)
    return product if fused is None else node.result(fused, product)


def _gemm_fast_gelu(node: OnnxNode) -> Operand:
    product = node.step(MatMul(), node.value(0), node.value(1))
    biased = node.step(Add(), product, node.value(2)) if node.has(2) else product
    return node.result(Gelu(approximate="tanh"), biased)


def _product_of_bits(node: OnnxNode) -> Operand:
    """A · Bᵀ, where B [N, K] has blocks of `block_size` elements of `bits` bits along K, the first in the lowest bits.

    An element is (q - zero point) · scale of its block; without zero points it is 2^(bits - 1).
    """
    rows, columns, bits, block = (node.integer(name) for name in ("N", "K", "bits", "block_size"))
    if bits not in (2, 4, 8) or block < 16 or block & (block - 1) or rows < 1 or columns < 1:
        raise FrontendError(f"expected bits of 2, 4 or 8 and blocks of 16, 32, …, found {bits}, {block}")
    if node.has(4):
        raise UnsupportedError("columns in another order (g_idx) are not supported", "quantise without act_order")
    blocks = -(-columns // block)
    packed = node.constant(1)
    if packed.size != rows * blocks * block * bits // 8:
        raise FrontendError(f"expected a weight of {rows} x {blocks} blocks of {block}, found {list(packed.shape)}")
    weight = _unpacked(packed.reshape(rows, -1), bits)
    scales = node.step(Reshape((rows, blocks)), node.value(2))
    values = _dequantized(node, weight, scales, bits, block)
    if columns != blocks * block:
        values = node.step(Slice((0, 0), (rows, columns), (1, 1)), values)
    product = (node.step if node.has(5) else node.result)(MatMul(), node.value(0), node.step(Transpose((1, 0)), values))
    return node.result(Add(), product, node.value(5)) if node.has(5) else product


def _dequantized(node: OnnxNode, weight: Array, scales: Value, bits: int, block: int) -> Value:
    rows, blocks = scales.type.static_shape
    if not node.has(3) or node.dtype(3) == DType.of("uint8"):
        if node.has(3):
            found = node.constant(3)
            zeros = _unpacked(found.reshape(rows, -1), bits)[:, :blocks]
        else:
            zeros = np.full((rows, blocks), 1 << bits - 1, np.uint8)
        quantised = node.parameter(weight, "weight"), scales, node.parameter(np.ascontiguousarray(zeros), "zero_points")
        return node.step(Dequantize(axis=1, block=block), *quantised)
    zero_points = node.step(Reshape((rows, blocks, 1)), node.value(3))
    apart = node.parameter(weight.reshape(rows, blocks, block).astype(scales.type.dtype.numpy), "weight")
    centred = node.step(Subtract(), apart, zero_points)
    scaled = node.step(Multiply(), centred, node.step(Reshape((rows, blocks, 1)), scales))
    return node.step(Reshape((rows, blocks * block)), scaled)


def _product_of_four_bits(node: OnnxNode) -> Operand:
    """A times a weight [N, K] of positions in one of two tables, two in a byte, the upper one first; each block of
    elements, one after the other, has a scale (onnxruntime, blockwise_quant_block_bnb4.h)."""
    columns, rows, block = node.integer("K"), node.integer("N"), node.integer("block_size")
    table = {0: FLOATS_OF_FOUR_BITS, 1: NORMAL_FLOATS}.get(node.integer("quant_type"))
    if table is None or block < 1 or columns < 1 or rows < 1 or not node.flag("transB"):
        found = f"{node.integer('quant_type')}, {block}, {node.flag('transB')}"
        raise UnsupportedError(f"only quant_type 0 and 1, blocks and a transposed weight are supported, found {found}")
    packed, scales = node.constant(1).reshape(-1), node.constant(2).reshape(-1)
    count = rows * columns
    if packed.size != -(-count // 2) or scales.size != -(-count // block):
        raise FrontendError(
            f"expected {-(-count // 2)} bytes and {-(-count // block)} scales of {rows} x {columns} weights, found "
            f"{packed.size} and {scales.size}"
        )
    places = np.stack([packed >> 4, packed & 15], axis=1).reshape(-1)[:count]
    kind = scales.dtype
    values = np.array(table, np.float32)[places] * np.repeat(scales.astype(np.float32), block)[:count]
    weight = np.ascontiguousarray(values.astype(kind).reshape(rows, columns).T)
    return node.result(MatMul(), node.value(0), node.parameter(node.evaluated(weight), "weight"))


def _unpacked(packed: Array, bits: int) -> Array:
    """Bytes as elements of fewer bits each, the lowest bits first."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    apart = packed.astype(np.uint8)[..., None] >> shifts & np.uint8((1 << bits) - 1)
    return apart.reshape(*packed.shape[:-1], -1)


def _product_of_integers(node: OnnxNode) -> Operand:
    left, right = (node.step(Cast(_INT), node.value(index)) for index in (0, 1))
    return node.result(MatMul(), left, right)


def _multiplied_integers(node: OnnxNode) -> Operand:
    """(A - its zero point) · (B - its zero point), in int32."""
    sides = []
    for data, zero in ((0, 1), (2, 3)):
        value = node.step(Cast(_INT), node.value(data))
        if node.has(zero):
            value = node.step(Subtract(), value, node.step(Cast(_INT), node.value(zero)))
        sides.append(value)
    return node.result(Multiply(), *sides)


def _distances(node: OnnxNode) -> Operand:
    """Of each row of A from each row of B, squared unless the metric is `euclidean`."""
    metric = node.text("metric")
    if metric not in {"euclidean", "sqeuclidean"}:
        raise UnsupportedError(f"metric {metric!r} is not supported, only euclidean and sqeuclidean")
    (m, width), (n, _) = node.static_shape(0), node.static_shape(1)
    left, right = node.step(Reshape((m, 1, width)), node.value(0)), node.step(Reshape((1, n, width)), node.value(1))
    apart, total = node.step(Subtract(), left, right), ReduceSumSquare(axes=(2,), keepdims=False)
    return node.result(total, apart) if metric == "sqeuclidean" else node.result(Sqrt(), node.step(total, apart))


def _complex_product(node: OnnxNode) -> Operand:
    """Of numbers whose real and imaginary parts are the last axis; with Conj, A times the conjugate of B."""
    sides = [node.value(0), node.value(1)]
    axis = sides[0].type.rank - 1
    if any(side.type.shape[-1:] != (2,) for side in sides):
        raise FrontendError(f"expected a last axis of real and imaginary part, found {sides[0].type}, {sides[1].type}")
    (a, b), (c, d) = ([part(node, side, side.type.rank - 1, i, i + 1) for i in (0, 1)] for side in sides)
    ac, bd, ad, bc = (node.step(Multiply(), x, y) for x, y in ((a, c), (b, d), (a, d), (b, c)))
    plus, minus = Add(), Subtract()
    conjugate = node.operator.endswith("Conj")
    real = node.step(plus if conjugate else minus, ac, bd)
    imaginary = node.step(minus, bc, ad) if conjugate else node.step(plus, ad, bc)
    return node.result(Concat(axis=axis), real, imaginary)


def _embedded_blocks(node: OnnxNode) -> Operand:
    """Rows of a quantised table: gathered while quantised, with the scales of their blocks, then dequantised."""
    bits, block, rank = node.integer("bits"), node.integer("block_size"), node.rank(0)
    axis, along = node.axis(rank, "gather_axis"), node.axis(rank, "quantize_axis")
    if axis == along or along != rank - 1 or axis:
        raise UnsupportedError("other axes than rows to gather and columns to quantise are not supported")
    data = node.constant(0)
    if data.dtype == np.uint8 and bits < 8:
        data = _unpacked(data, bits)
    elif bits not in (4, 8):
        raise UnsupportedError(f"elements of {bits} bits are not supported")
    zeros = np.full(node.static_shape(2), 1 << bits - 1 if data.dtype == np.uint8 else 0, data.dtype)
    if node.has(3):
        zeros = node.constant(3)
        if zeros.dtype == np.uint8 and bits < 8:
            zeros = _unpacked(zeros, bits)[..., : node.static_shape(2)[-1]]
    rows = [node.parameter(data, "data"), node.value(2), node.parameter(np.ascontiguousarray(zeros), "zero_points")]
    flat = node.step(Reshape((prod(node.static_shape(1)),)), node.value(1))
    taken = [applied(node, "Gather", [value, flat], {"axis": 0}) for value in rows]
    values = node.step(Dequantize(axis=along, block=block), *taken)
    return node.result(Reshape((*node.shape(1), *values.type.shape[1:])), values)


_TRANSPOSED = {"alpha": 1.0, "transA": 0, "transB": 0}
_BATCHED = {**_TRANSPOSED, "transBatchA": 0, "transBatchB": 0}
_ACTIVATED = {"activation": "", "activation_alpha": float, "activation_beta": float, "activation_gamma": float}
PRODUCTS: dict[str, Description] = {
    "CDist": Description(_distances, "A B", 1, {"metric": "sqeuclidean"}),
    "ComplexMul": Description(_complex_product, "A B"),
    "ComplexMulConj": Description(_complex_product, "A B"),
    "FusedGemm": Description(_fused_gemm, "A B C?", 1, {**_TRANSPOSED, **_ACTIVATED, "beta": 1.0}),
    "FusedMatMul": Description(_fused_product, "A B", 1, _BATCHED),
    "FusedMatMulActivation": Description(_fused_product, "A B", 1, {**_BATCHED, **_ACTIVATED, "activation_axis": int}),
    "GatherBlockQuantized": Description(
        _embedded_blocks,
        "data:any indices:index scales zero_points:any?",
        1,
        {"bits": 4, "block_size": 128, "gather_axis": 0, "quantize_axis": 1},
    ),
    "GemmFastGelu": Description(_gemm_fast_gelu, "X W bias?"),
    "MatMulInteger16": Description(_product_of_integers, "A:any B:any"),
    "MatMulBnb4": Description(
        _product_of_four_bits,
        "A B:byte absmax",
        1,
        {"K": int, "N": int, "block_size": int, "quant_type": int, "training_mode": 0, "transB": 1},
    ),
    "MatMulNBits": Description(
        _product_of_bits,
        "A B:any scales zero_points:any? g_idx:any? bias?",
        1,
        {"K": int, "N": int, "accuracy_level": 0, "bits": 4, "block_size": int, "weight_prepacked": 0},
    ),
    "MulInteger": Description(_multiplied_integers, "A:byte A_zero_point:byte? B:byte B_zero_point:byte?"),
    "TransposeMatMul": Description(_fused_product, "A B", 1, _TRANSPOSED),
}
