"""Products and convolutions of bfloat16 in float32, which pass choose_methods makes of those of float32."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from sateen.graph_ir.ir import Array, TensorType
from sateen.graph_ir.ops.windows import Windowed, output_dims, require_bias, require_weight, window_of
from sateen.tensor_ir import Machine
from sateen.topi.computations import convolution, products
from sateen.topi.computations.convolution import DirectBfloat
from sateen.topi.computations.products import PackedBfloat, PackedTiles
from sateen.topi.methods import Method
from sateen.topi.operators import ELEMENT_BY_ELEMENT_SLOWDOWN, LayoutChoice, Operator, require
from sateen.topi.schedules import Computation
from sateen.topi.types import BFLOAT16, FLOAT32, Layout, View


def _require_bfloat(op: Operator, data: TensorType, weight: TensorType) -> None:
    require(data.is_static and weight.is_static, op, f"expects known dimensions, found {data} and {weight}")
    types = {data.dtype, weight.dtype}
    require(types == {BFLOAT16}, op, f"expects data and weight of bfloat16, found {data.dtype} and {weight.dtype}")


def rounded(weight: Array) -> Array:
    """A weight in bfloat16, to nearest, ties to even."""
    return weight.astype(BFLOAT16.numpy)


@dataclass(frozen=True, slots=True)
class BfloatMatMul(Operator):
    """a [..., k] · b [k, n] of bfloat16, in float32."""

    methods: ClassVar[tuple[type[Method], ...]] = (PackedBfloat, PackedTiles)

    def infer(self, a: TensorType, b: TensorType) -> tuple[TensorType, ...]:
        _require_bfloat(self, a, b)
        require(a.rank >= 2 and b.rank == 2, self, f"expects a [..., k] and a matrix [k, n], found {a} and {b}")
        require(
            a.shape[-1] == b.shape[0], self,
            f"the inner dimensions differ: {a.shape[-1]} columns on the left, {b.shape[0]} rows on the right",
        )  # fmt: skip
        return (TensorType(FLOAT32, (*a.shape[:-1], b.shape[1])),)

    def compute(
        self, a: View, b: View, *, outputs: Sequence[TensorType], method: PackedBfloat | PackedTiles | None = None
    ) -> Computation:
        return products.bfloat_matmul(a, b, method)

    def layouts_by(
        self,
        method: PackedBfloat | PackedTiles | None,
        inputs: Sequence[TensorType],
        outputs: Sequence[TensorType],
        machine: Machine,
    ) -> Iterable[LayoutChoice]:
        """The panels of b are those of the method; tiles of rows that are not whole are filled up."""
        if isinstance(method, PackedTiles):
            shape = inputs[0].static_shape
            rows = None if products.has_whole_tiles(shape) else products.tile_rows_layout(len(shape))
            yield LayoutChoice((rows, products.tile_weight_layout(method)), (None,))
        elif method is not None:
            yield LayoutChoice((None, products.bfloat_layout(machine.lanes(), method.vectors)), (None,))
        yield LayoutChoice((None, None), (None,), ELEMENT_BY_ELEMENT_SLOWDOWN)

    def operations(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> int:
        return 2 * prod(outputs[0].static_shape) * inputs[0].static_shape[-1]


@dataclass(frozen=True, slots=True)
class BfloatConv(Windowed):
    """data [N, C, …] * weight [O, C, …], both of bfloat16, + bias [O] of float32 or none, in float32.

    Attributes are those of Conv, of which it is the case of one group.
    """

    methods: ClassVar[tuple[type[Method], ...]] = (DirectBfloat, PackedTiles)
    strides: tuple[int, ...] = ()
    pads: tuple[int, ...] = ()
    dilations: tuple[int, ...] = ()

    def infer(self, data: TensorType, weight: TensorType, bias: TensorType | None = None) -> tuple[TensorType, ...]:
        _require_bfloat(self, data, weight)
        rank = require_weight(self, data, weight)
        outputs, channels, *kernel = weight.static_shape
        require(data.shape[1] == channels, self, f"data has {data.shape[1]} channels but weight expects {channels}")
        require_bias(self, bias, outputs, FLOAT32)
        window = window_of(self, kernel, self.strides, self.pads, self.dilations)
        assert window.rank == rank
        return (TensorType(FLOAT32, (data.shape[0], outputs, *output_dims(self, window, data))),)

    def compute(
        self,
        data: View,
        weight: View,
        bias: View | None = None,
        *,
        outputs: Sequence[TensorType],
        method: DirectBfloat | PackedTiles | None = None,
    ) -> Computation:
        if isinstance(method, PackedTiles) and convolution.PointwiseTiles.suits(data, weight, method):
            return convolution.PointwiseTiles(data, weight, bias, method).computation()
        window = window_of(self, weight.shape[2:], self.strides, self.pads, self.dilations)
        return convolution.conv(data, weight, bias, window, 1, outputs[0].memory_layout, method, FLOAT32)

    def layouts_by(
        self,
        method: DirectBfloat | PackedTiles | None,
        inputs: Sequence[TensorType],
        outputs: Sequence[TensorType],
        machine: Machine,
    ) -> Iterable[LayoutChoice]:
        """Blocks of channels, or tiles of positions and channels, and the panels of the method."""
        data, weight, *bias = inputs
        lanes, channels = machine.lanes(), weight.static_shape[1]
        if isinstance(method, PackedTiles):
            tiles = convolution.tile_layouts(data.rank, data.static_shape[-1], method)
            yield LayoutChoice((tiles.data, tiles.weight, tiles.bias)[: len(inputs)], (tiles.output,))
        elif method is not None and channels % lanes == 0:
            blocked = Layout.blocked(data.rank, 1, lanes)
            packed = convolution.bfloat_weight_layout(data.rank, lanes, method.vectors)
            yield LayoutChoice((blocked, packed, *[Layout.blocked(1, 0, lanes)] * len(bias)), (blocked,))
        yield LayoutChoice((None,) * len(inputs), (None,), ELEMENT_BY_ELEMENT_SLOWDOWN)

    def operations(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> int:
        return 2 * prod(outputs[0].static_shape) * prod(inputs[1].static_shape[1:])


OPS = (BfloatConv, BfloatMatMul)
"""The operators of this file."""
