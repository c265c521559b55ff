"""Compressed weights: each operation gives the data that it stands for (coremltools, constexpr_ops and compression)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sateen.frontends.core.operands import Operand, normal_axis
from sateen.frontends.coreml.program.node import Converter, OperationNode
from sateen.frontends.coreml.program.values import unpacked
from sateen.graph_ir.ir import Array
from sateen.runtime.errors import FrontendError

MOST_ELEMENTS = 1 << 31


def _data(node: OperationNode, name: str) -> Array:
    return node.constant(node.at(name))


def _affine(node: OperationNode) -> Operand:
    """scale · (data - zero point), both for all of the data or along an axis."""
    data, scale, zero = (_data(node, name) for name in ("quantized_data", "scale", "zero_point"))
    axis = normal_axis(node.integer("axis"), data.ndim) if data.ndim else 0
    along = [-1 if d == axis else 1 for d in range(data.ndim)]
    for name, found in (("scale", scale), ("zero_point", zero)):
        if found.size not in (1, data.shape[axis] if data.ndim else 1):
            raise FrontendError(f"expected 1 or {data.shape[axis]} numbers as {name}, found {found.size}")
    shifted = data.astype(np.float32) - zero.astype(np.float32).reshape(along if zero.size > 1 else ())
    return (shifted * scale.astype(np.float32).reshape(along if scale.size > 1 else ())).astype(scale.dtype)


def _blockwise(node: OperationNode) -> Operand:
    return _scaled(node, _data(node, "data"))


def _sparse_blockwise(node: OperationNode) -> Sequence[Operand]:
    """As blockwise, of the elements where the mask has a 1; gives the mask and these elements (iOS 18)."""
    mask = _data(node, "data_mask")
    return mask, _scaled(node, _dense(_data(node, "nonzero_data"), mask))[mask != 0]


def _scaled(node: OperationNode, data: Array) -> Array:
    """scale · (data - offset), with numbers for blocks of equal extent along each axis."""
    scale, shifted = _data(node, "scale"), data.astype(np.float32)
    if node.given("offset"):
        shifted = shifted - _of_blocks(_data(node, "offset"), data.shape, "offset").astype(np.float32)
    return (shifted * _of_blocks(scale, data.shape, "scale").astype(np.float32)).astype(scale.dtype)


def _of_blocks(numbers: Array, shape: tuple[int, ...], what: str) -> Array:
    """Numbers repeated for each element of their blocks."""
    if numbers.ndim != len(shape) or any(n == 0 or extent % n for n, extent in zip(numbers.shape, shape, strict=True)):
        raise FrontendError(f"expected a {what} for equal blocks of {list(shape)}, found {list(numbers.shape)}")
    for axis, extent in enumerate(shape):
        if numbers.shape[axis] not in (1, extent):
            numbers = numbers.repeat(extent // numbers.shape[axis], axis)
    return numbers


def _look_up(node: OperationNode) -> Operand:
    """table[index]: of packed indices and a shape (iOS 16), or of indices and tables of blocks (iOS 18)."""
    indices, table = _data(node, "indices"), _data(node, "lut")
    if node.given("shape"):
        shape = _shape(node)
        bits = int(table.size).bit_length() - 1
        if table.ndim != 1 or table.size != 1 << bits or not 1 <= bits <= 8:
            raise FrontendError(f"expected a table of 2 to 256 numbers, found {list(table.shape)}")
        count = int(np.prod(shape, dtype=np.int64))
        if indices.size != -(-count * bits // 8):
            raise FrontendError(f"expected {-(-count * bits // 8)} bytes of indices, found {indices.size}")
        return np.ascontiguousarray(table[unpacked(indices, bits, count)].reshape(shape))
    return _from_tables(node, indices)


def _sparse_look_up(node: OperationNode) -> Sequence[Operand]:
    """As a look-up in tables of blocks, of the indices where the mask has a 1; gives the mask and the elements."""
    mask = _data(node, "indices_mask")
    found = _from_tables(node, _dense(_data(node, "indices_nonzero_data"), mask))
    for axis, (extent, whole) in enumerate(zip(mask.shape, found.shape, strict=True)):
        mask = mask.repeat(whole // extent, axis) if whole != extent else mask
    return mask, found[mask != 0]


def _from_tables(node: OperationNode, indices: Array) -> Array:
    """table[index], of tables of blocks; vectors of a table lie along `vector_axis`."""
    table = _data(node, "lut")
    if table.ndim != indices.ndim + 2 or not indices.ndim:
        raise FrontendError(f"expected a table of {indices.ndim + 2} dimensions, found {list(table.shape)}")
    *_, count, width = table.shape
    if indices.size and int(indices.max()) >= count:
        raise FrontendError(f"expected indices below {count}, found {int(indices.max())}")
    if not 0 < indices.size * width < MOST_ELEMENTS:
        raise FrontendError(f"expected 1 to {MOST_ELEMENTS} elements, found {indices.size} vectors of {width}")
    blocks = np.arange(int(np.prod(table.shape[:-2]))).reshape(table.shape[:-2])
    which = _of_blocks(blocks, indices.shape, "table")
    found = table.reshape(-1, count, width)[which, indices]
    axis = normal_axis(node.integer("vector_axis"), indices.ndim) if width > 1 else 0
    shape = [extent * (width if d == axis else 1) for d, extent in enumerate(indices.shape)]
    return np.ascontiguousarray(np.moveaxis(found, -1, axis + 1).reshape(shape))


def _sparse(node: OperationNode) -> Operand:
    """The mask is packed, or has the shape (iOS 18)."""
    data, mask = _data(node, "nonzero_data"), _data(node, "mask")
    if node.given("shape"):
        shape = _shape(node)
        count = int(np.prod(shape, dtype=np.int64))
        if mask.size != -(-count // 8):
            raise FrontendError(f"expected {-(-count // 8)} bytes of mask, found {mask.size}")
        mask = unpacked(mask.astype(np.uint8), 1, count).reshape(shape)
    return _dense(data, mask)


def _dense(data: Array, mask: Array) -> Array:
    """The elements in their order where the mask has a 1, and 0 elsewhere."""
    result = np.zeros(mask.shape, data.dtype)
    if int(np.count_nonzero(mask)) != data.size:
        raise FrontendError(f"expected {int(np.count_nonzero(mask))} elements for the mask, found {data.size}")
    result[mask != 0] = data.reshape(-1)
    return result


def _shape(node: OperationNode) -> tuple[int, ...]:
    shape = tuple(int(extent) for extent in _data(node, "shape").reshape(-1))
    count = 1
    for extent in shape:
        count *= extent
    if not 0 < count < MOST_ELEMENTS:
        raise FrontendError(f"expected a shape of 1 to {MOST_ELEMENTS} elements, found {list(shape)}")
    return shape


def _cast(node: OperationNode) -> Operand:
    if node.text("output_dtype") != "fp32":
        raise FrontendError(f"expected output_dtype fp32, found {node.text('output_dtype')!r}")
    return _data(node, "source_val").astype(np.float32)


COMPRESSION: Mapping[str, Converter] = {
    "constexpr_affine_dequantize": _affine,
    "constexpr_blockwise_shift_scale": _blockwise,
    "constexpr_cast": _cast,
    "constexpr_lut_to_dense": _look_up,
    "constexpr_lut_to_sparse": _sparse_look_up,
    "constexpr_sparse_blockwise_shift_scale": _sparse_blockwise,
    "constexpr_sparse_to_dense": _sparse,
}
