"""Products of matrices: computations, methods and schedules, by the kind of machine; determinants."""

from sateen.topi.computations.products.bfloat_product import (
    PackedBfloat,
    bfloat_layout,
    bfloat_matmul,
)
from sateen.topi.computations.products.by_thread_tiles import Tiled
from sateen.topi.computations.products.by_warp_tiles import Warped, warp_candidates
from sateen.topi.computations.products.determinants import determinant
from sateen.topi.computations.products.matrix_product import matmul
from sateen.topi.computations.products.methods import Panels, Strassen, matmul_candidates
from sateen.topi.computations.products.packed import Packed, packed_layout
from sateen.topi.computations.products.shapes import ProductShapes, matmul_shape
from sateen.topi.computations.products.strassen import (
    STRASSEN_PRODUCTS,
    strassen_matmul,
    strassen_weight,
    strassen_weight_layout,
)
from sateen.topi.computations.products.strassen_weights import sum_weight_blocks
from sateen.topi.computations.products.tile_product import (
    PackedTiles,
    fills_tiles,
    has_whole_tiles,
    tile_rows_layout,
    tile_weight_layout,
)

__all__ = [
    "STRASSEN_PRODUCTS",
    "Packed",
    "PackedBfloat",
    "PackedTiles",
    "Panels",
    "ProductShapes",
    "Strassen",
    "Tiled",
    "Warped",
    "bfloat_layout",
    "bfloat_matmul",
    "determinant",
    "fills_tiles",
    "has_whole_tiles",
    "matmul",
    "matmul_candidates",
    "matmul_shape",
    "packed_layout",
    "strassen_matmul",
    "strassen_weight",
    "strassen_weight_layout",
    "sum_weight_blocks",
    "tile_rows_layout",
    "tile_weight_layout",
    "warp_candidates",
]
