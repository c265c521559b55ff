"""Matrix products."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from sateen.graph_ir.ir import Dim, TensorType
from sateen.graph_ir.ops.bfloat import BfloatMatMul, rounded
from sateen.graph_ir.ops.element_wise import Cast
from sateen.graph_ir.ops.preparations import StrassenWeight
from sateen.tensor_ir import Machine
from sateen.topi.computations import products
from sateen.topi.computations.products import (
    Packed,
    PackedBfloat,
    PackedTiles,
    Panels,
    Strassen,
    Tiled,
    Warped,
    determinant,
)
from sateen.topi.computations.strips import Strips
from sateen.topi.methods import Candidate, Method
from sateen.topi.operators import (
    ELEMENT_BY_ELEMENT_SLOWDOWN,
    LayoutChoice,
    Operator,
    Preparation,
    Substitution,
    require,
)
from sateen.topi.schedules import Computation
from sateen.topi.types import BFLOAT16, View, takes_weight

UNPACKED_SLOWDOWN = 1.1
"""The slowdown of a product whose right operand is packed at run time."""


@dataclass(frozen=True, slots=True)
class MatMul(Operator):
    """a [..., m, k] · b [..., k, n], stacks broadcast (ONNX MatMul on operands of rank 2 and more)."""

    methods: ClassVar[tuple[type[Method], ...]] = (Packed, PackedBfloat, PackedTiles, Strassen, Tiled, Warped, Strips)

    def infer(self, a: TensorType, b: TensorType) -> tuple[TensorType, ...]:
        require(a.rank >= 2 and b.rank >= 2, self, f"expects operands of rank 2 or more, found {a} and {b}")
        fits = takes_weight(a.dtype, b.dtype)
        require(
            fits, self, f"expects operands of one type, or int32 and shorter integers, found {a.dtype} and {b.dtype}"
        )
        require(not a.dtype.is_bool, self, f"expects numbers, found {a.dtype}")
        require(
            a.shape[-1] == b.shape[-2], self,
            f"the inner dimensions differ: {a.shape[-1]} columns on the left, {b.shape[-2]} rows on the right",
        )  # fmt: skip
        return (TensorType(a.dtype, (*self._batch(a, b), a.shape[-2], b.shape[-1])),)

    def _batch(self, a: TensorType, b: TensorType) -> tuple[Dim, ...]:
        left, right = a.shape[:-2], b.shape[:-2]
        rank = max(len(left), len(right))
        left, right = (1,) * (rank - len(left)) + left, (1,) * (rank - len(right)) + right
        for x, y in zip(left, right, strict=True):
            require(x == y or 1 in (x, y), self, f"the stacks of {a} and {b} don't broadcast: {x} and {y}")
        return tuple(y if x == 1 else x for x, y in zip(left, right, strict=True))

    def compute(self, a: View, b: View, *, outputs: Sequence[TensorType], method: Method | None = None) -> Computation:
        return products.matmul(a, b, outputs[0].memory_layout, method)

    def candidates(
        self, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType], machine: Machine
    ) -> Sequence[Candidate]:
        a, b = (t for t in inputs if t is not None)
        return products.matmul_candidates(a.static_shape, b.static_shape, a.dtype, machine)

    def substitute(self, method: Method) -> Substitution | None:
        if isinstance(method, Strassen):
            prepared = StrassenWeight()
            return Substitution(StrassenMatMul(), Panels(method.vectors), {1: Preparation(prepared, prepared.prepared)})
        if isinstance(method, PackedBfloat | PackedTiles):
            weight = Preparation(Cast(BFLOAT16), rounded)
            return Substitution(BfloatMatMul(), method, {1: weight}, {0: BFLOAT16})
        return None

    def layouts_by(
        self, method: Method | None, inputs: Sequence[TensorType], outputs: Sequence[TensorType], machine: Machine
    ) -> Iterable[LayoutChoice]:
        """The panels of the right operand are those of the method."""
        a, b = inputs
        if b.rank == 2:
            vectors = method.vectors if isinstance(method, Packed) else 0
            shapes = products.ProductShapes.of(a.static_shape, b.static_shape, b.dtype)
            packed = products.packed_layout(shapes, machine, vectors)
            yield LayoutChoice((None, packed), (None,))
            yield LayoutChoice((None, None), (None,), UNPACKED_SLOWDOWN)
        else:
            yield LayoutChoice((None, None), (None,))

    def operations(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> int:
        return 2 * prod(outputs[0].static_shape) * inputs[0].static_shape[-1]


@dataclass(frozen=True, slots=True)
class StrassenMatMul(Operator):
    """a [batch, ..., k] · b [k, n] by seven products of quarters, which pass choose_methods makes of MatMul.

    Inputs: a, weight [7, k/2, n/2] (products.strassen_weight), both float32.
    """

    methods: ClassVar[tuple[type[Method], ...]] = (Panels,)

    def infer(self, a: TensorType, weight: TensorType) -> tuple[TensorType, ...]:
        require(a.is_static and weight.is_static, self, f"expects known dimensions, found {a} and {weight}")
        require(a.dtype == weight.dtype and str(a.dtype) == "float32", self, f"expects float32, found {a} and {weight}")
        require(
            a.rank >= 3 and weight.rank == 3 and weight.shape[:1] == (products.STRASSEN_PRODUCTS,), self,
            f"expects data of rank 3 or more and a weight [{products.STRASSEN_PRODUCTS}, k/2, n/2], "
            f"found {a} and {weight}",
        )  # fmt: skip
        _, depth, columns = weight.static_shape
        require(
            a.shape[-1] == 2 * depth, self,
            f"the inner dimensions differ: {a.shape[-1]} columns on the left, {2 * depth} rows on the right",
        )  # fmt: skip
        return (TensorType(a.dtype, (*a.shape[:-1], 2 * columns)),)

    def compute(
        self, a: View, weight: View, *, outputs: Sequence[TensorType], method: Panels | None = None
    ) -> Computation:
        """The panels of the weight follow from the method."""
        return products.strassen_matmul(a, weight)

    def layouts_by(
        self, method: Panels | None, inputs: Sequence[TensorType], outputs: Sequence[TensorType], machine: Machine
    ) -> Iterable[LayoutChoice]:
        lanes, vectors = machine.lanes(), 1 if method is None else method.vectors
        if lanes > 1 and inputs[1].static_shape[2] % (lanes * vectors) == 0:
            yield LayoutChoice((None, products.strassen_weight_layout(lanes, vectors)), (None,))
        yield LayoutChoice((None, None), (None,), ELEMENT_BY_ELEMENT_SLOWDOWN)

    def operations(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> int:
        """The operations of the definition, so that methods are comparable; this one takes fewer."""
        return 2 * prod(outputs[0].static_shape) * inputs[0].static_shape[-1]


@dataclass(frozen=True, slots=True)
class Det(Operator):
    """The determinant of each matrix [..., n, n] (ONNX Det)."""

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        require(data.dtype.is_float, self, f"expects floating-point data, found {data.dtype}")
        square = data.rank >= 2 and data.shape[-1] == data.shape[-2]
        require(square, self, f"expects square matrices [..., n, n], found {data}")
        return (TensorType(data.dtype, data.shape[:-2]),)

    def compute(self, data: View, *, outputs: Sequence[TensorType]) -> Computation:
        return determinant(data)


OPS = (Det, MatMul, StrassenMatMul)
"""The operators of this file."""
