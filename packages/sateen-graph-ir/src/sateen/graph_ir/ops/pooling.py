"""Pools over windows, given or as many as the output has places, and over whole channels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from sateen.graph_ir.ir import Dim, TensorType
from sateen.graph_ir.ops.element_kinds import NUMBERS
from sateen.graph_ir.ops.windows import Windowed, output_dims, require_spatial, window_of
from sateen.tensor_ir import Machine
from sateen.topi.computations import adaptive_pooling, pooling
from sateen.topi.computations.pass_methods import Passes, PassShapes, pass_candidates
from sateen.topi.computations.pool_methods import (
    Channels,
    Lines,
    PoolShapes,
    Windows,
    global_candidates,
    pool_candidates,
)
from sateen.topi.computations.taps import passes_of
from sateen.topi.computations.windows import Window
from sateen.topi.dimensions import listed, may_be_at_least, numbers
from sateen.topi.methods import Candidate, Method
from sateen.topi.operators import LayoutChoice, Operator, require
from sateen.topi.schedules import Computation
from sateen.topi.types import Layout, View

ROW_MAJOR_SLOWDOWN = 2.0
"""The slowdown of a pool with a method that is row-major although blocks of channels fit."""


class ChannelWise(Operator):
    """An operator on each channel of data [N, C, …] by itself, in any layout that blocks channels only.

    Methods are for blocks, which it makes of row-major data only if others want them.
    """

    __slots__ = ()

    def layouts_by(
        self, method: Method | None, inputs: Sequence[TensorType], outputs: Sequence[TensorType], machine: Machine
    ) -> Iterable[LayoutChoice]:
        layout, own = inputs[0].layout, Layout.blocked(inputs[0].rank, 1, machine.lanes())
        blocked = layout is not None and layout == Layout.blocked(layout.rank, 1, layout.block_of(1))
        if blocked:
            yield LayoutChoice((layout,), (layout,))
        yield LayoutChoice((None,), (None,), 1.0 if method is None else ROW_MAJOR_SLOWDOWN)
        if method is not None and not blocked:
            yield LayoutChoice((own,), (own,))


class WindowPool(Windowed, ChannelWise):
    """One value per place of a window that moves over data [N, C, …].

    Pads are (begin…, end…). Empty strides and dilations are 1, empty pads 0.
    """

    __slots__ = ()
    is_maximum: ClassVar[bool]
    """Whether it is the maximum of a window, not the average."""
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    pads: tuple[int, ...]
    dilations: tuple[int, ...]
    ceil_mode: bool

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        require_spatial(self, data, len(self.kernel))
        window = self.window
        _require_small_pads(self, window.pads, window.kernel, window.dilations)
        return (TensorType(data.dtype, (*data.shape[:2], *output_dims(self, window, data, self.ceil_mode))),)

    @property
    def window(self) -> Window:
        """Raises InferenceError for attributes that don't fit."""
        return window_of(self, self.kernel, self.strides, self.pads, self.dilations)

    def candidates(
        self, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType], machine: Machine
    ) -> Sequence[Candidate]:
        (data,) = (t for t in inputs if t is not None)
        shapes = PoolShapes(data.static_shape, self.window, self.ceil_mode, data.dtype, self.is_maximum)
        return pool_candidates(shapes, machine)


@dataclass(frozen=True, slots=True)
class MaxPool(WindowPool):
    """The maximum over windows; padding does not take part (ONNX MaxPool, first output)."""

    methods: ClassVar[tuple[type[Method], ...]] = (Windows, Lines)
    is_maximum: ClassVar[bool] = True
    kernel: tuple[int, ...]
    strides: tuple[int, ...] = ()
    pads: tuple[int, ...] = ()
    dilations: tuple[int, ...] = ()
    ceil_mode: bool = False

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        NUMBERS.check(self, "data", data)
        return WindowPool.infer(self, data)

    def compute(
        self, data: View, *, outputs: Sequence[TensorType], method: Windows | Lines | None = None
    ) -> Computation:
        return pooling.max_pool(data, self.window, self.ceil_mode, outputs[0].memory_layout, method)


@dataclass(frozen=True, slots=True)
class MaxPoolIndices(Windowed):
    """MaxPool, and where each maximum is: its row-major position in data, int64 (ONNX MaxPool, both outputs).

    With `column_major` positions count an image's columns instead of its rows (storage_order 1).
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...] = ()
    pads: tuple[int, ...] = ()
    dilations: tuple[int, ...] = ()
    ceil_mode: bool = False
    column_major: bool = False

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        (values,) = self._pool.infer(data)
        return values, TensorType.of("int64", values.shape)

    @property
    def _pool(self) -> MaxPool:
        return MaxPool(self.kernel, self.strides, self.pads, self.dilations, self.ceil_mode)

    def compute(self, data: View, *, outputs: Sequence[TensorType]) -> Computation:
        window = window_of(self, self.kernel, self.strides, self.pads, self.dilations)
        return pooling.max_pool_indices(data, window, self.ceil_mode, self.column_major)


@dataclass(frozen=True, slots=True)
class AveragePool(WindowPool):
    """The average over windows (ONNX AveragePool); padding counts as zeros or not at all."""

    methods: ClassVar[tuple[type[Method], ...]] = (Windows,)
    is_maximum: ClassVar[bool] = False
    kernel: tuple[int, ...]
    strides: tuple[int, ...] = ()
    pads: tuple[int, ...] = ()
    dilations: tuple[int, ...] = ()
    ceil_mode: bool = False
    count_include_pad: bool = False

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        require(data.dtype.is_float, self, f"expects floating-point data, found {data.dtype}")
        return WindowPool.infer(self, data)

    def compute(self, data: View, *, outputs: Sequence[TensorType], method: Windows | None = None) -> Computation:
        layout = outputs[0].memory_layout
        return pooling.average_pool(data, self.window, self.ceil_mode, self.count_include_pad, layout, method)


def _require_small_pads(op: Operator, pads: Sequence[int], kernel: Sequence[int], dilations: Sequence[int]) -> None:
    """Raise InferenceError for pads so large that a window would cover only padding, where it has no maximum and no
    average."""
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    require(
        all(p < reach[i % len(reach)] for i, p in enumerate(pads)), op,
        f"expects pads smaller than the window, found pads {list(pads)} and a window of {reach}",
    )  # fmt: skip


class GlobalPool(ChannelWise):
    """One value per channel of data [N, C, …]; spatial dimensions become 1."""

    __slots__ = ()
    methods: ClassVar[tuple[type[Method], ...]] = (Channels,)
    kind: ClassVar[str]

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        spatial = require_spatial(self, data)
        require(data.dtype.is_float, self, f"expects floating-point data, found {data.dtype}")
        return (TensorType(data.dtype, (*data.shape[:2], *(1,) * spatial)),)

    def candidates(
        self, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType], machine: Machine
    ) -> Sequence[Candidate]:
        (data,) = (t for t in inputs if t is not None)
        return global_candidates(data.static_shape, data.dtype, machine, is_maximum=self.kind == "max")

    def compute(self, data: View, *, outputs: Sequence[TensorType], method: Channels | None = None) -> Computation:
        return pooling.global_pool(data, self.kind, outputs[0].memory_layout, method)


@dataclass(frozen=True, slots=True)
class GlobalAveragePool(GlobalPool):
    """The average of each channel."""

    kind: ClassVar[str] = "average"


@dataclass(frozen=True, slots=True)
class GlobalMaxPool(GlobalPool):
    """The maximum of each channel."""

    kind: ClassVar[str] = "max"


class AdaptivePool(ChannelWise):
    """One value per window of data [N, C, …]: as many windows as `shape` has places, from ⌊i·m / n⌋ to before
    ⌈(i + 1)·m / n⌉ of m elements along an axis (PyTorch)."""

    __slots__ = ()
    is_maximum: ClassVar[bool]
    """Whether it is the maximum of a window, not the average."""
    shape: tuple[Dim, ...]

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        NUMBERS.check(self, "data", data)
        require_spatial(self, data, len(self.shape))
        fits = all(may_be_at_least(n, 1) for n in (*self.shape, *data.shape[2:]))
        require(fits, self, f"expects shape and data with places, found {listed(self.shape)} and {data}")
        return (TensorType(data.dtype, (*data.shape[:2], *self.shape)),)

    def candidates(
        self, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType], machine: Machine
    ) -> Sequence[Candidate]:
        (data,) = (t for t in inputs if t is not None)
        extents, shape = data.static_shape, numbers(self.shape)
        window = adaptive_pooling.equal_window(extents, shape)
        if window is not None:
            return pool_candidates(PoolShapes(extents, window, False, data.dtype, self.is_maximum), machine)
        passes = passes_of(adaptive_pooling.taps_of(extents, shape, averages=not self.is_maximum), extents)
        shapes = PassShapes(extents, data.dtype, passes, self.is_maximum)
        return pass_candidates(shapes, machine) if shapes.fills_blocks(machine.lanes()) else ()


@dataclass(frozen=True, slots=True)
class AdaptiveAveragePool(AdaptivePool):
    """The average of each window."""

    methods: ClassVar[tuple[type[Method], ...]] = (Windows, Passes)
    is_maximum: ClassVar[bool] = False
    shape: tuple[Dim, ...] = ()

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        require(data.dtype.is_float, self, f"expects floating-point data, found {data.dtype}")
        return AdaptivePool.infer(self, data)

    def compute(
        self, data: View, *, outputs: Sequence[TensorType], method: Windows | Passes | None = None
    ) -> Computation:
        layout = outputs[0].memory_layout
        return adaptive_pooling.adaptive_average_pool(data, numbers(self.shape), layout, method)


@dataclass(frozen=True, slots=True)
class AdaptiveMaxPool(AdaptivePool):
    """The maximum of each window."""

    methods: ClassVar[tuple[type[Method], ...]] = (Windows, Lines, Passes)
    is_maximum: ClassVar[bool] = True
    shape: tuple[Dim, ...] = ()

    def compute(
        self, data: View, *, outputs: Sequence[TensorType], method: Windows | Lines | Passes | None = None
    ) -> Computation:
        return adaptive_pooling.adaptive_max_pool(data, numbers(self.shape), outputs[0].memory_layout, method)


OPS = (AdaptiveAveragePool, AdaptiveMaxPool, AveragePool, GlobalAveragePool, GlobalMaxPool, MaxPool, MaxPoolIndices)
"""The operators of this file."""
