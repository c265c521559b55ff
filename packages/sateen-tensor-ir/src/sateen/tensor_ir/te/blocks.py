"""Blocks of tensors, and computations that an instruction does block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir.choices import subscript
from sateen.tensor_ir.ir.expr import Expr, IterVar, as_expr, const
from sateen.tensor_ir.ir.instruction import Instruction
from sateen.tensor_ir.te.tensor import Tensor, TensorSlice


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """A block of a tensor: the first index of each dimension, and how many there are (None: a single one, which is no
    dimension of the block)."""

    tensor: Tensor
    begin: tuple[Expr, ...]
    extents: tuple[int | None, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""
        return tuple(extent for extent in self.extents if extent is not None)

    def element(self, indices: Sequence[Expr]) -> Expr:
        """The element at indices within the block."""
        inside = iter(indices)
        places = zip(self.begin, self.extents, strict=True)
        return self.tensor(*(first if extent is None else first + next(inside) for first, extent in places))


@dataclass(frozen=True, slots=True, eq=False)
class BlockBody:
    """What the function of a compute gives if `instruction` computes a block at a time: over axes with the names and
    extents of `axes`, for the last dimensions of the outputs, the elements are `elements(axes)`."""

    instruction: Instruction
    axes: tuple[IterVar, ...]
    reduced: int
    """How many reduce axes, the last of the elements, are within a block."""
    elements: Callable[[Sequence[IterVar]], tuple[Expr, ...]]


def block_of(where: str, value: Any) -> Block:
    """The block that `A[i, 0:16]` says; dimensions without an index are in it as a whole.

    Raises ExpressionError, which begins with `where`, for what is no tensor, steps, and extents that are not constant.
    """
    if not isinstance(value, (Tensor, TensorSlice)):
        raise ExpressionError(f"{where} expects blocks of tensors such as A[i, 0:16], found {type(value).__name__}")
    tensor, given = (value, ()) if isinstance(value, Tensor) else (value.tensor, value.indices)
    if len(given) > tensor.ndim:
        raise ExpressionError(
            f"{where}: tensor {tensor.name!r} has {tensor.ndim} dimensions, found {len(given)} indices"
        )
    every = (*given, *[slice(None)] * (tensor.ndim - len(given)))
    parts = list(_parts(where, tensor, every))
    return Block(tensor, tuple(first for first, _ in parts), tuple(extent for _, extent in parts))


def _parts(where: str, tensor: Tensor, indices: Sequence[Any]) -> Iterator[tuple[Expr, int | None]]:
    analyzer = Analyzer()
    for index, size in zip(indices, tensor.shape, strict=True):
        if not isinstance(index, slice):
            yield subscript(as_expr(index)), None
            continue
        first = const(0) if index.start is None else subscript(as_expr(index.start))
        end = size if index.stop is None else subscript(as_expr(index.stop))
        extent = analyzer.constant(end - first)
        if index.step is not None or extent is None or extent < 1:
            step = "" if index.step is None else f":{index.step}"
            raise ExpressionError(
                f"{where} expects blocks of constant extents of at least 1 without steps, found {first}:{end}{step} of "
                f"{tensor.name!r}"
            )
        yield first, extent
