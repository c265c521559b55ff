"""Operators that read data between its elements, at positions that are data themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from sateen.graph_ir.ir import TensorType
from sateen.graph_ir.ops.element_kinds import FLOATS, INTEGERS
from sateen.graph_ir.ops.windows import Windowed, window_of
from sateen.topi.computations import regions, sampling
from sateen.topi.dimensions import listed, may_be_at_least
from sateen.topi.operators import Operator, require
from sateen.topi.schedules import Computation
from sateen.topi.types import View


def _require_one_of(op: Operator, name: str, value: str, known: Sequence[str]) -> None:
    require(value in known, op, f"expects {name} of {', '.join(known)}, found {value!r}")


def _require_elements(op: Operator, data: TensorType) -> None:
    """Raise InferenceError if data [N, C, …] has no positions to sample."""
    filled = all(may_be_at_least(extent, 1) for extent in data.shape[2:])
    require(filled, op, f"expects data with elements, found {data}")


@dataclass(frozen=True, slots=True)
class GridSample(Operator):
    """data [N, C, D…] at the positions grid [N, O…, rank] in [-1, 1], x first: [N, C, O…] (ONNX GridSample).

    Inputs: data, grid. `mode`: nearest, linear or cubic; `padding`: zeros, border or reflection.
    """

    mode: str = "linear"
    padding: str = "zeros"
    align_corners: bool = False

    def infer(self, data: TensorType, grid: TensorType) -> tuple[TensorType, ...]:
        FLOATS.check(self, "data", data)
        FLOATS.check(self, "grid", grid)
        _require_one_of(self, "mode", self.mode, sampling.SAMPLING_MODES)
        _require_one_of(self, "padding", self.padding, sampling.PADDING_MODES)
        extents, rank = data.shape, data.rank - 2
        require(rank >= 1, self, f"expects data [N, C, …] of rank 3 or more, found rank {data.rank}")
        _require_elements(self, data)
        fits = grid.rank == rank + 2 and grid.shape[0] == extents[0] and grid.shape[-1] == rank
        require(fits, self, f"expects grid [{extents[0]}, …, {rank}] for data {data}, found {grid}")
        return (TensorType(data.dtype, (*extents[:2], *grid.shape[1:-1])),)

    def compute(self, data: View, grid: View, *, outputs: Sequence[TensorType]) -> Computation:
        layout = outputs[0].memory_layout
        return sampling.grid_sample(data, grid, self.mode, self.padding, self.align_corners, layout)


@dataclass(frozen=True, slots=True)
class DeformableColumns(Windowed):
    """The elements under the kernel of a deformable convolution: [N, C, kernel…, output…] (ONNX DeformConv).

    Inputs: data [N, C, H, W], offset [N, 2·groups·kernel, output…], perhaps mask [N, groups·kernel, output…].
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...] = ()
    pads: tuple[int, ...] = ()
    dilations: tuple[int, ...] = ()
    offset_groups: int = 1

    def infer(self, data: TensorType, offset: TensorType, mask: TensorType | None = None) -> tuple[TensorType, ...]:
        for name, found in (("data", data), ("offset", offset), ("mask", mask)):
            if found is not None:
                FLOATS.check(self, name, found)
        extents = data.shape
        require(data.rank == 4 and len(self.kernel) == 2, self, f"expects data [N, C, H, W], found {data}")
        _require_elements(self, data)
        groups, channels = self.offset_groups, extents[1]
        fits = groups >= 1 and channels % groups == 0
        require(fits, self, f"{channels} channels can't be divided into {groups} groups of offsets")
        window = window_of(self, self.kernel, self.strides, self.pads, self.dilations)
        output = window.output(extents[2:])
        fits = all(may_be_at_least(extent, 1) for extent in output)
        require(fits, self, f"a window of {list(self.kernel)} does not fit into data {data}")
        taps = groups * prod(self.kernel)
        for name, found, depth in (("offset", offset, 2 * taps), ("mask", mask, taps)):
            shape = (extents[0], depth, *output)
            fits = found is None or found.shape == shape
            require(fits, self, f"expects {name} of shape {listed(shape)}, found {found}")
        return (TensorType(data.dtype, (*extents[:2], *self.kernel, *output)),)

    def compute(
        self, data: View, offset: View, mask: View | None = None, *, outputs: Sequence[TensorType]
    ) -> Computation:
        window = window_of(self, self.kernel, self.strides, self.pads, self.dilations)
        return sampling.deformable_columns(data, offset, mask, window, self.offset_groups)


@dataclass(frozen=True, slots=True)
class RoiAlign(Operator):
    """Regions of data [N, C, H, W] pooled to `shape`: [regions, C, *shape] (ONNX RoiAlign).

    Inputs: data, rois [regions, 4] as x1, y1, x2, y2, batch [regions], the image of each. `kind`: avg or max, of
    `samples` x `samples` points per bin, 0 for as many as it has elements. Coordinates times `scale` are in elements,
    whose centres are at 0.5 with `half_pixel`.
    """

    shape: tuple[int, ...] = (1, 1)
    kind: str = "avg"
    samples: int = 0
    scale: float = 1.0
    half_pixel: bool = True

    def infer(self, data: TensorType, rois: TensorType, batch: TensorType) -> tuple[TensorType, ...]:
        _require_one_of(self, "kind", self.kind, ("avg", "max"))
        require(self.samples >= 0, self, f"expects 0 or more samples, found {self.samples}")
        return _infer_regions(self, data, rois, batch, self.shape)

    def compute(self, data: View, rois: View, batch: View, *, outputs: Sequence[TensorType]) -> Computation:
        height, width = self.shape
        return sampling.roi_align(
            data, rois, batch, (height, width), self.kind, self.samples, self.scale, self.half_pixel
        )


@dataclass(frozen=True, slots=True)
class CropAndResize(Operator):
    """Regions of data [N, C, H, W] resized to `shape`: [regions, C, *shape] (TensorFlow CropAndResize).

    Inputs: data, rois [regions, 4] as y1, x1, y2, x2, where 0 and 1 are the centres of the outermost elements, batch
    [regions], the image of each. `mode`: linear or nearest; beyond the outermost elements is `extrapolation_value`.
    """

    shape: tuple[int, ...] = (1, 1)
    mode: str = "linear"
    extrapolation_value: float = 0.0

    def infer(self, data: TensorType, rois: TensorType, batch: TensorType) -> tuple[TensorType, ...]:
        _require_one_of(self, "mode", self.mode, regions.CROP_MODES)
        return _infer_regions(self, data, rois, batch, self.shape)

    def compute(self, data: View, rois: View, batch: View, *, outputs: Sequence[TensorType]) -> Computation:
        layout = outputs[0].memory_layout
        return regions.crop_and_resize(data, rois, batch, self.shape, self.mode, self.extrapolation_value, layout)


@dataclass(frozen=True, slots=True)
class RoiPool(Operator):
    """The maxima of the bins of regions of data [N, C, H, W]: [regions, C, *shape] (ONNX MaxRoiPool).

    Inputs: data, rois [regions, 4] as x1, y1, x2, y2, batch [regions], the image of each. Coordinates times `scale` are
    rounded to elements, both included. A bin that covers none gives 0.
    """

    shape: tuple[int, ...] = (1, 1)
    scale: float = 1.0

    def infer(self, data: TensorType, rois: TensorType, batch: TensorType) -> tuple[TensorType, ...]:
        return _infer_regions(self, data, rois, batch, self.shape)

    def compute(self, data: View, rois: View, batch: View, *, outputs: Sequence[TensorType]) -> Computation:
        return regions.roi_pool(data, rois, batch, self.shape, self.scale)


@dataclass(frozen=True, slots=True)
class PsRoiPool(Operator):
    """The averages of the bins of regions of data [N, C·groups², H, W]: [regions, C, *shape], where each bin has
    channels of its own (Dai et al., R-FCN, 2016; MXNet PSROIPooling).

    Inputs: data, rois [regions, 4] as x1, y1, x2, y2, batch [regions], the image of each. Coordinates are rounded, both
    included, then times `scale`. A bin that covers no element gives 0.
    """

    shape: tuple[int, ...] = (1, 1)
    groups: int = 1
    scale: float = 1.0

    def infer(self, data: TensorType, rois: TensorType, batch: TensorType) -> tuple[TensorType, ...]:
        (pooled,) = _infer_regions(self, data, rois, batch, self.shape)
        fits = self.groups >= 1 and data.shape[1] % self.groups**2 == 0
        require(fits, self, f"expects channels in groups of {self.groups**2}, found {data}")
        return (TensorType(data.dtype, (pooled.shape[0], data.shape[1] // self.groups**2, *self.shape)),)

    def compute(self, data: View, rois: View, batch: View, *, outputs: Sequence[TensorType]) -> Computation:
        return regions.ps_roi_pool(data, rois, batch, self.shape, self.groups, self.scale)


def _infer_regions(
    op: Operator, data: TensorType, rois: TensorType, batch: TensorType, shape: Sequence[int]
) -> tuple[TensorType, ...]:
    """The type [regions, C, *shape] of regions of images."""
    FLOATS.check(op, "data", data)
    FLOATS.check(op, "rois", rois)
    INTEGERS.check(op, "batch", batch)
    filled = data.rank == 4 and all(may_be_at_least(extent, 1) for extent in data.shape)
    require(filled, op, f"expects data [N, C, H, W] with elements, found {data}")
    require(rois.shape[1:] == (4,), op, f"expects rois [regions, 4], found {rois}")
    count = rois.shape[0]
    require(batch.shape == (count,), op, f"expects batch [{count}] for rois {rois}, found {batch}")
    fits = len(shape) == 2 and min(shape) >= 1
    require(fits, op, f"expects a shape of two extents of at least 1, found {list(shape)}")
    return (TensorType(data.dtype, (count, data.shape[1], *shape)),)


OPS = (CropAndResize, DeformableColumns, GridSample, PsRoiPool, RoiAlign, RoiPool)
"""The operators of this file."""
