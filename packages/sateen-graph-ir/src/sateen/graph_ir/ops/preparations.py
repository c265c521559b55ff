"""The forms of weights that methods read, which pass choose_methods asks for (Substitution.prepared)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sateen.graph_ir.ir import Array, TensorType
from sateen.topi.computations import convolution, products
from sateen.topi.computations.convolution import TRANSFORMS, Transform
from sateen.topi.operators import Operator, require
from sateen.topi.schedules import Computation
from sateen.topi.types import View


class PreparedWeight(Operator):
    """Base of operators that give a weight in another form. They write any layout of it."""

    __slots__ = ()

    def prepared(self, weight: Array) -> Array:
        """The form of a row-major weight, row-major, computed while compiling."""
        raise AssertionError(f"{type(self).__name__} prepares nothing")


@dataclass(frozen=True, slots=True)
class WinogradWeight(PreparedWeight):
    """A weight [O, C, 3, 3] as [O, C, k, k] for a WinogradConv of these tiles (convolution.winograd_weight)."""

    tile: int
    stride: int = 1

    def infer(self, weight: TensorType) -> tuple[TensorType, ...]:
        known = ", ".join(f"{m} for stride {stride}" for m, stride in TRANSFORMS)
        require(
            (self.tile, self.stride) in TRANSFORMS, self,
            f"expects tiles of {known}; found {self.tile} for stride {self.stride}",
        )  # fmt: skip
        require(weight.is_static and str(weight.dtype) == "float32", self, f"expects float32, static, found {weight}")
        fits = weight.rank == 4 and weight.static_shape[2:] == (3, 3)
        require(fits, self, f"expects a weight [O, C, 3, 3], found {weight}")
        k = self.transform.weights
        return (TensorType(weight.dtype, (*weight.static_shape[:2], k, k)),)

    @property
    def transform(self) -> Transform:
        return TRANSFORMS[self.tile, self.stride]

    def compute(self, weight: View, *, outputs: Sequence[TensorType]) -> Computation:
        return convolution.transform_weight(weight, self.transform, outputs[0].memory_layout)

    def prepared(self, weight: Array) -> Array:
        return convolution.winograd_weight(weight, self.transform)


@dataclass(frozen=True, slots=True)
class StrassenWeight(PreparedWeight):
    """A weight [k, n] as the sums [7, k/2, n/2] of its blocks for a StrassenMatMul (products.strassen_weight)."""

    def infer(self, weight: TensorType) -> tuple[TensorType, ...]:
        require(weight.is_static and str(weight.dtype) == "float32", self, f"expects float32, static, found {weight}")
        fits = weight.rank == 2 and all(extent % 2 == 0 for extent in weight.static_shape)
        require(fits, self, f"expects a weight [k, n] of even extents, found {weight}")
        depth, columns = weight.static_shape
        return (TensorType(weight.dtype, (products.STRASSEN_PRODUCTS, depth // 2, columns // 2)),)

    def compute(self, weight: View, *, outputs: Sequence[TensorType]) -> Computation:
        return products.sum_weight_blocks(weight, outputs[0].memory_layout)

    def prepared(self, weight: Array) -> Array:
        return products.strassen_weight(weight)


OPS = (StrassenWeight, WinogradWeight)
"""The operators of this file."""
