"""The methods to compute a product with a matrix in panels of columns, with an estimate of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sateen.runtime.dtype import DType
from sateen.tensor_ir import Machine
from sateen.topi.computations.products import strassen
from sateen.topi.computations.products.bfloat_product import bfloat_candidates
from sateen.topi.computations.products.by_thread_tiles import device_candidates
from sateen.topi.computations.products.by_warp_tiles import warp_candidates
from sateen.topi.computations.products.packed import packed_candidates
from sateen.topi.computations.products.shapes import ProductShapes
from sateen.topi.computations.products.tile_product import tile_candidates
from sateen.topi.methods import Candidate, Method
from sateen.topi.types import FLOAT32


@dataclass(frozen=True, slots=True)
class Strassen(Method):
    """Seven products of quarters, with the right operand's in panels of `vectors` vectors of columns."""

    numerics: ClassVar[str] = "fast"
    vectors: int


@dataclass(frozen=True, slots=True)
class Panels(Method):
    """Strassen's method once the sums of the right operand are known: in panels of `vectors` vectors of columns."""

    vectors: int


def cpu_candidates(a: Sequence[int], b: Sequence[int], dtype: DType, machine: Machine) -> list[Candidate]:
    """All methods for a [..., k] · b [k, n], best first; none if the right operand is not packed."""
    if len(b) != 2 or 0 in a:
        return []
    found = packed_candidates(ProductShapes.of(a, b, dtype), machine)
    if dtype == FLOAT32 and (vectors := strassen.vectors_for(a, b[-1], machine)):
        found.append(Candidate(Strassen(vectors), strassen.cycles(a, b[-1], vectors, machine)))
    found += bfloat_candidates(a, b, dtype, machine)
    found += tile_candidates(a, b, dtype, machine)
    return sorted(found, key=lambda c: c.cycles)


def matmul_candidates(a: Sequence[int], b: Sequence[int], dtype: DType, machine: Machine) -> list[Candidate]:
    """All methods for a [..., m, k] · b [..., k, n] on a machine, best first."""
    if machine.gpu is None:
        return cpu_candidates(a, b, dtype, machine)
    shapes = ProductShapes.of(a, b, dtype)
    found = [*device_candidates(shapes, machine.gpu), *warp_candidates(shapes, machine.gpu)]
    return sorted(found, key=lambda c: c.cycles)
