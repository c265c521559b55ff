"""Products of matrices: computations, methods and schedules, by the kind of machine; determinants."""

from sateen.topi.computations.products.determinants import determinant
from sateen.topi.computations.products.matrix_product import matmul, matmul_shape, packed_layout
from sateen.topi.computations.products.methods import CANDIDATES, Packed, Strassen
from sateen.topi.computations.products.strassen import (
    STRASSEN_PRODUCTS,
    strassen_matmul,
    strassen_weight,
    strassen_weight_layout,
)

__all__ = [
    "CANDIDATES",
    "STRASSEN_PRODUCTS",
    "Packed",
    "Strassen",
    "determinant",
    "matmul",
    "matmul_shape",
    "packed_layout",
    "strassen_matmul",
    "strassen_weight",
    "strassen_weight_layout",
]
