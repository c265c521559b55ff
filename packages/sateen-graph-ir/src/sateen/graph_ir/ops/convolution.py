"""Convolution and its transpose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import ClassVar

from sateen.graph_ir.ir import Dim, TensorType
from sateen.graph_ir.ops.bfloat import BfloatConv, rounded
from sateen.graph_ir.ops.element_wise import Cast
from sateen.graph_ir.ops.preparations import WinogradWeight
from sateen.graph_ir.ops.windows import Windowed, output_dims, require_bias, require_spatial, require_weight, window_of
from sateen.tensor_ir import Machine
from sateen.topi.computations import convolution
from sateen.topi.computations.convolution import (
    TRANSFORMS,
    Blocks,
    ConvolutionShapes,
    Direct,
    DirectBfloat,
    OperandLayouts,
    Rectangles,
    Transform,
    Winograd,
    WinogradTiles,
    winograd_loss,
)
from sateen.topi.computations.products import PackedTiles, Tiled, Warped
from sateen.topi.computations.strips import Strips
from sateen.topi.computations.windows import Window
from sateen.topi.dimensions import may_be_at_least
from sateen.topi.methods import Candidate, Method
from sateen.topi.operators import (
    ELEMENT_BY_ELEMENT_SLOWDOWN,
    LayoutChoice,
    Preparation,
    Substitution,
    require,
)
from sateen.topi.schedules import Computation, sum_lanes
from sateen.topi.types import BFLOAT16, INT32, Layout, View, takes_weight

ROW_MAJOR_SLOWDOWN = 2.0
"""The slowdown of a convolution that is row-major although blocks of channels fit."""


@dataclass(frozen=True, slots=True)
class Conv(Windowed):
    """data [N, C, …] * weight [O, C/groups, …] + bias [O], which may be absent (ONNX Conv).

    Pads are (begin…, end…). Empty strides and dilations are 1, empty pads 0.
    """

    methods: ClassVar[tuple[type[Method], ...]] = (
        Direct,
        DirectBfloat,
        PackedTiles,
        Winograd,
        Rectangles,
        WinogradTiles,
        Warped,
        Strips,
    )
    strides: tuple[int, ...] = ()
    pads: tuple[int, ...] = ()
    dilations: tuple[int, ...] = ()
    groups: int = 1

    def infer(self, data: TensorType, weight: TensorType, bias: TensorType | None = None) -> tuple[TensorType, ...]:
        rank = require_weight(self, data, weight)
        outputs, per_group, *kernel = weight.static_shape
        require(
            takes_weight(data.dtype, weight.dtype) and (data.dtype.is_float or data.dtype == INT32), self,
            "expects data and weight of one floating-point type, or int32 and shorter integers, "
            f"found {data.dtype} and {weight.dtype}",
        )  # fmt: skip
        channels = data.shape[1]
        require(isinstance(channels, int), self, f"the channels of data must be known, found {channels}")
        require(
            channels == per_group * self.groups, self,
            f"data has {channels} channels but weight expects {per_group * self.groups}",
        )  # fmt: skip
        require(
            self.groups >= 1 and outputs % self.groups == 0, self,
            f"{outputs} output channels can't be divided into {self.groups} groups",
        )  # fmt: skip
        require(outputs >= 1, self, f"weight {weight} gives no output channels")
        require_bias(self, bias, outputs, data.dtype)
        window = window_of(self, kernel, self.strides, self.pads, self.dilations)
        assert window.rank == rank
        return (TensorType(data.dtype, (data.shape[0], outputs, *output_dims(self, window, data))),)

    def compute(
        self,
        data: View,
        weight: View,
        bias: View | None = None,
        *,
        outputs: Sequence[TensorType],
        method: Method | None = None,
    ) -> Computation:
        window = window_of(self, weight.shape[2:], self.strides, self.pads, self.dilations)
        return convolution.conv(data, weight, bias, window, self.groups, outputs[0].memory_layout, method)

    def candidates(
        self, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType], machine: Machine
    ) -> Sequence[Candidate]:
        data, weight, *_ = (t for t in inputs if t is not None)
        window = window_of(self, weight.static_shape[2:], self.strides, self.pads, self.dilations)
        shapes = ConvolutionShapes(data.static_shape, weight.static_shape, window, self.groups, data.dtype)
        return convolution.conv_candidates(shapes, machine)

    def substitute(self, method: Method) -> Substitution | None:
        if isinstance(method, DirectBfloat | PackedTiles):
            bfloat = BfloatConv(self.strides, self.pads, self.dilations)
            return Substitution(bfloat, method, {1: Preparation(Cast(BFLOAT16), rounded)}, {0: BFLOAT16})
        if not isinstance(method, Winograd | WinogradTiles):
            return None
        op = WinogradConv(method.tile, self.strides[0] if self.strides else 1, self.pads)
        weight = WinogradWeight(op.tile, op.stride)
        prepared = Preparation(weight, weight.prepared, partial(winograd_loss, f=op.transform))
        return Substitution(op, method.of_tiles, {1: prepared})

    def layouts_by(
        self, method: Method | None, inputs: Sequence[TensorType], outputs: Sequence[TensorType], machine: Machine
    ) -> Iterable[LayoutChoice]:
        data, weight, *_ = inputs
        found = convolution.conv_layouts(
            data.static_shape, data.layout, weight.static_shape, outputs[0].static_shape[-1], self.groups,
            sum_lanes(data.dtype, machine), method.vectors if isinstance(method, Direct) else 0,
        )  # fmt: skip
        return _layout_choices(found, len(inputs))

    def operations(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> int:
        return 2 * prod(outputs[0].static_shape) * prod(inputs[1].static_shape[1:])


@dataclass(frozen=True, slots=True)
class ConvTranspose(Windowed):
    """The transpose of a convolution: data [N, C, …], weight [C, O/groups, …], bias [O] or none (ONNX ConvTranspose).

    Extents are (in - 1)·stride + output_padding + (kernel - 1)·dilation + 1 - pads. Empty attributes are as in Conv.
    """

    methods: ClassVar[tuple[type[Method], ...]] = (Direct,)
    strides: tuple[int, ...] = ()
    pads: tuple[int, ...] = ()
    dilations: tuple[int, ...] = ()
    groups: int = 1
    output_padding: tuple[int, ...] = ()

    def infer(self, data: TensorType, weight: TensorType, bias: TensorType | None = None) -> tuple[TensorType, ...]:
        rank = require_weight(self, data, weight)
        channels, per_group, *kernel = weight.static_shape
        require(
            weight.dtype == data.dtype and data.dtype.is_float, self,
            f"expects data and weight of one floating-point type, found {data.dtype} and {weight.dtype}",
        )  # fmt: skip
        require(data.shape[1] == channels, self, f"data has {data.shape[1]} channels but weight expects {channels}")
        require(
            self.groups >= 1 and channels % self.groups == 0, self,
            f"{channels} channels can't be divided into {self.groups} groups",
        )  # fmt: skip
        require(per_group >= 1, self, f"weight {weight} gives no output channels")
        require_bias(self, bias, per_group * self.groups, data.dtype)
        window = window_of(self, kernel, self.strides, self.pads, self.dilations)
        extra = self._extra(rank)
        fits = len(extra) == rank and min(extra) >= 0
        require(fits, self, f"expects {rank} entries of output_padding of at least 0, found {list(extra)}")
        return (TensorType(data.dtype, (data.shape[0], per_group * self.groups, *self._extents(window, data, extra))),)

    def _extra(self, rank: int) -> tuple[int, ...]:
        return self.output_padding or (0,) * rank

    def _extents(self, window: Window, data: TensorType, extra: Sequence[int]) -> tuple[Dim, ...]:
        extents = window.transposed_output(data.shape[2:], extra)
        for d, extent in enumerate(extents):
            require(may_be_at_least(extent, 1), self, f"dimension {2 + d} of the output would be {extent}")
        return extents

    def compute(
        self,
        data: View,
        weight: View,
        bias: View | None = None,
        *,
        outputs: Sequence[TensorType],
        method: Method | None = None,
    ) -> Computation:
        window = window_of(self, weight.shape[2:], self.strides, self.pads, self.dilations)
        spatial, layout = outputs[0].static_shape[2:], outputs[0].memory_layout
        return convolution.conv_transpose(data, weight, bias, window, spatial, self.groups, layout, method)

    def candidates(
        self, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType], machine: Machine
    ) -> Sequence[Candidate]:
        data, weight, *_ = (t for t in inputs if t is not None)
        window = window_of(self, weight.static_shape[2:], self.strides, self.pads, self.dilations)
        shapes = ConvolutionShapes(data.static_shape, weight.static_shape, window, self.groups, data.dtype)
        return convolution.transposed_candidates(shapes, outputs[0].static_shape[2:], machine)

    def layouts_by(
        self, method: Method | None, inputs: Sequence[TensorType], outputs: Sequence[TensorType], machine: Machine
    ) -> Iterable[LayoutChoice]:
        data, weight, *_ = inputs
        found = convolution.conv_transpose_layouts(
            data.static_shape, data.layout, weight.static_shape, self.groups, sum_lanes(data.dtype, machine),
            method.vectors if isinstance(method, Direct) else 0,
        )  # fmt: skip
        return _layout_choices(found, len(inputs))

    def operations(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> int:
        return 2 * prod(inputs[0].static_shape) * prod(inputs[1].static_shape[1:])


@dataclass(frozen=True, slots=True)
class WinogradConv(Windowed):
    """A 3x3 convolution in tiles of `tile` x `tile` outputs, which pass choose_methods makes of Conv.

    Inputs: data [N, C, H, W], weight [O, C, k, k] (convolution.winograd_weight), bias [O] or none. With `pool` it gives
    the maxima of squares of that many rows and columns; incomplete squares are left out.
    """

    methods: ClassVar[tuple[type[Method], ...]] = (Blocks, Tiled)
    tile: int
    stride: int = 1
    pads: tuple[int, ...] = ()
    pool: int = 1

    def infer(self, data: TensorType, weight: TensorType, bias: TensorType | None = None) -> tuple[TensorType, ...]:
        require_spatial(self, data, 2)
        known = ", ".join(f"{m} for stride {stride}" for m, stride in TRANSFORMS)
        require(
            (self.tile, self.stride) in TRANSFORMS, self,
            f"expects tiles of {known}; found {self.tile} for stride {self.stride}",
        )  # fmt: skip
        static = data.is_static and weight.is_static
        require(static, self, f"expects known dimensions, found data {data} and weight {weight}")
        require(
            data.dtype == weight.dtype and str(data.dtype) == "float32", self,
            f"expects float32, found {data.dtype} and {weight.dtype}",
        )  # fmt: skip
        outputs, k = weight.static_shape[0], self.transform.weights
        require(
            weight.static_shape == (outputs, data.shape[1], k, k), self,
            f"expects a weight [O, {data.shape[1]}, {k}, {k}], found {weight}",
        )  # fmt: skip
        require_bias(self, bias, outputs, data.dtype)
        dims = output_dims(self, self._window(), data)
        height, width = TensorType(data.dtype, dims).static_shape
        require(
            self.pool >= 1 and self.tile % self.pool == 0 and min(height, width) >= self.pool, self,
            f"expects a pool that divides tiles of {self.tile} and fits into the result, found {self.pool}",
        )  # fmt: skip
        return (TensorType(data.dtype, (data.shape[0], outputs, height // self.pool, width // self.pool)),)

    @property
    def transform(self) -> Transform:
        return TRANSFORMS[self.tile, self.stride]

    def _window(self) -> Window:
        return window_of(self, (3, 3), (self.stride, self.stride), self.pads, ())

    def compute(
        self,
        data: View,
        weight: View,
        bias: View | None = None,
        *,
        outputs: Sequence[TensorType],
        method: Blocks | Tiled | None = None,
    ) -> Computation:
        return convolution.winograd_conv(data, weight, bias, self.transform, self._window(), method, self.pool)

    def layouts_by(
        self,
        method: Blocks | Tiled | None,
        inputs: Sequence[TensorType],
        outputs: Sequence[TensorType],
        machine: Machine,
    ) -> Iterable[LayoutChoice]:
        _, weight, *bias = inputs
        lanes, channels = machine.lanes(), weight.static_shape[1]
        vectors = method.vectors if isinstance(method, Blocks) else 1
        if lanes > 1 and channels % lanes == 0 and weight.static_shape[0] % (lanes * vectors) == 0:
            blocked, packed = Layout.blocked(4, 1, lanes), convolution.winograd_weight_layout(lanes, vectors)
            yield LayoutChoice((blocked, packed, *[Layout.blocked(1, 0, lanes)] * len(bias)), (blocked,))
        if machine.gpu is not None:
            yield LayoutChoice((None, convolution.WEIGHT_LAYOUT, *[None] * len(bias)), (None,))
        yield LayoutChoice((None,) * len(inputs), (None,), ELEMENT_BY_ELEMENT_SLOWDOWN)

    def operations(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> int:
        """The operations of the direct method, so that methods are comparable; this one takes fewer."""
        positions = prod(self._window().output(inputs[0].static_shape[2:]))
        return 2 * inputs[0].static_shape[0] * positions * prod(inputs[1].static_shape[:2]) * 3 * 3


def _layout_choices(found: OperandLayouts | None, inputs: int) -> Iterator[LayoutChoice]:
    """The layouts that were found for data, weight and perhaps a bias, if any were; then row-major ones."""
    if found is not None:
        yield LayoutChoice((found.data, found.weight, found.bias)[:inputs], (found.output,))
    yield LayoutChoice((None,) * inputs, (None,), 1.0 if found is None else ROW_MAJOR_SLOWDOWN)


OPS = (Conv, ConvTranspose, WinogradConv)
"""The operators of this file."""
