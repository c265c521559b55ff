"""Nodes that only definitions over tensors contain: reads of their elements, and reductions. te defines tensors; loop
IR knows only their names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from sateen.runtime.dtype import DType
from sateen.tensor_ir.ir.expr import Expr, IterVar, Var
from sateen.tensor_ir.ir.span import Span


class Named(Protocol):
    """Anything with a name."""

    @property
    def name(self) -> str:
        """As errors and the text form call it."""


TensorType = TypeVar("TensorType", bound=Named)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Read(Expr, Generic[TensorType]):
    """An element of a tensor."""

    tensor: TensorType
    indices: tuple[Expr, ...]
    dtype: DType
    span: Span | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Combiner:
    """An associative, commutative function of two states, element by element of a tuple, and its identity."""

    name: str
    left: tuple[Var, ...]
    right: tuple[Var, ...]
    results: tuple[Expr, ...]
    identity: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reduce(Expr):
    """Output `output` of reducing `sources` (a tuple of equal length for tuple reductions) over `axes`.

    If `where` is false the term is absent: it is neither loaded nor combined.
    """

    combiner: Combiner
    sources: tuple[Expr, ...]
    axes: tuple[IterVar, ...]
    where: Expr
    output: int
    dtype: DType
