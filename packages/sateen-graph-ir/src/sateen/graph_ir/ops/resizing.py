"""Resize by interpolation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from sateen.graph_ir.ir import Dim, TensorType
from sateen.tensor_ir import Machine
from sateen.topi.computations import resizing
from sateen.topi.computations.pass_methods import Passes, PassShapes, pass_candidates
from sateen.topi.computations.taps import passes_of
from sateen.topi.dimensions import listed, may_be_at_least, numbers
from sateen.topi.methods import Candidate, Method
from sateen.topi.operators import LayoutChoice, Operator, require
from sateen.topi.schedules import Computation
from sateen.topi.types import Layout, View

ROW_MAJOR_SLOWDOWN = 1.5
"""The slowdown of a resize in passes that is row-major although blocks of channels fit."""
LARGEST = 1 << 15
"""The largest extent: the positions along an axis are tables that are made at compile time."""


@dataclass(frozen=True, slots=True)
class Resize(Operator):
    """data resized to `sizes`, one per axis (ONNX Resize, its modes by their names there).

    `scales` are output over input extents, which positions follow from; empty: the ratio of the extents. `roi` is
    (begin…, end…) in units of the extents and used by tf_crop_and_resize, which gives `extrapolation_value` outside.
    With `float32_positions` positions are rounded as in TensorFlow and PyTorch, which decides for some extents which
    element is nearest.
    """

    methods: ClassVar[tuple[type[Method], ...]] = (Passes,)
    sizes: tuple[Dim, ...]
    mode: str = "nearest"
    coordinate_transformation: str = "half_pixel"
    nearest_mode: str = "round_prefer_floor"
    cubic_coeff_a: float = -0.75
    exclude_outside: bool = False
    antialias: bool = False
    scales: tuple[float, ...] = ()
    roi: tuple[float, ...] = ()
    extrapolation_value: float = 0.0
    float32_positions: bool = False

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        rank = data.rank
        require(len(self.sizes) == rank, self, f"expects {rank} sizes, found {listed(self.sizes)}")
        fits = all(may_be_at_least(n, 1) and may_be_at_least(-n, -LARGEST) for n in self.sizes)
        require(fits, self, f"expects sizes of 1 to {LARGEST}, found {listed(self.sizes)}")
        fits = not self.antialias or all(may_be_at_least(-n, -LARGEST) for n in data.shape)
        require(fits, self, f"with antialias expects data of at most {LARGEST} along each axis, found {data}")
        require(len(self.scales) in (0, rank), self, f"expects {rank} scales, found {list(self.scales)}")
        require(all(s > 0 for s in self.scales), self, f"expects scales above 0, found {list(self.scales)}")
        known = resizing.FLOAT32_COORDINATES if self.float32_positions else resizing.COORDINATES
        for name, value, values in (
            ("mode", self.mode, resizing.MODES),
            ("coordinate_transformation", self.coordinate_transformation, known),
            ("nearest_mode", self.nearest_mode, resizing.NEAREST_MODES),
        ):
            require(value in values, self, f"expects {name} of {', '.join(values)}, found {value!r}")
        crops = self.coordinate_transformation == "tf_crop_and_resize"
        complete = len(self.roi) == 2 * rank
        require(complete or not crops, self, f"expects {2 * rank} values of roi, found {list(self.roi)}")
        require(
            data.dtype.is_float or (self.mode == "nearest" and not crops), self,
            f"mode {self.mode} expects floating-point data, found {data.dtype}",
        )  # fmt: skip
        return (TensorType(data.dtype, self.sizes),)

    def candidates(
        self, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType], machine: Machine
    ) -> Sequence[Candidate]:
        (data,) = (t for t in inputs if t is not None)
        shape = data.static_shape
        passes = passes_of(resizing.taps_of(self._axes(shape), self._how), shape)
        return pass_candidates(PassShapes(shape, data.dtype, passes, is_maximum=False), machine)

    def compute(self, data: View, *, outputs: Sequence[TensorType], method: Passes | None = None) -> Computation:
        return resizing.resize(data, self._axes(data.shape), self._how, outputs[0].memory_layout, method)

    @property
    def _how(self) -> resizing.Interpolation:
        return resizing.Interpolation(
            self.mode, self.coordinate_transformation, self.nearest_mode, self.cubic_coeff_a, self.exclude_outside,
            self.antialias, self.extrapolation_value, self.float32_positions,
        )  # fmt: skip

    def _axes(self, shape: Sequence[int]) -> list[resizing.AxisResize]:
        """The axes of data that are resized or cut."""
        rank, sizes = len(shape), numbers(self.sizes)
        scales = self.scales or tuple(after / before for before, after in zip(shape, sizes, strict=True))
        crops = self.coordinate_transformation == "tf_crop_and_resize"
        regions = [(self.roi[d], self.roi[rank + d]) if crops else (0.0, 1.0) for d in range(rank)]
        return [
            resizing.AxisResize(d, shape[d], sizes[d], scales[d], regions[d])
            for d in range(rank)
            if shape[d] != sizes[d] or scales[d] != 1.0 or regions[d] != (0.0, 1.0)
        ]

    def layouts_by(
        self, method: Method | None, inputs: Sequence[TensorType], outputs: Sequence[TensorType], machine: Machine
    ) -> Iterable[LayoutChoice]:
        (data,) = inputs
        lanes, keeps_channels = machine.lanes(), data.static_shape[:2] == self.sizes[:2]
        if data.layout is not None and keeps_channels:
            yield LayoutChoice((data.layout,), (data.layout,))
        fits = method is not None and keeps_channels and data.static_shape[1] >= lanes
        yield LayoutChoice((None,), (None,), ROW_MAJOR_SLOWDOWN if fits else 1.0)
        if fits and data.layout is None:
            own = Layout.blocked(data.rank, 1, lanes)
            yield LayoutChoice((own,), (own,))


OPS = (Resize,)
"""The operators of this file."""
