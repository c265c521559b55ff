"""All instructions of sateen, by name. Texts of loop IR may name them, and worker processes know them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sateen.tensor_ir.intrinsics.dot import DOTS
from sateen.tensor_ir.intrinsics.intrinsic import TensorIntrinsic
from sateen.tensor_ir.intrinsics.matrix import MATRICES
from sateen.tensor_ir.intrinsics.tile import TILES
from sateen.tensor_ir.intrinsics.warp_tile import WARP_TILES

INTRINSICS: Mapping[str, TensorIntrinsic] = MappingProxyType(
    {intrinsic.name: intrinsic for intrinsic in (*DOTS, *MATRICES, *TILES, *WARP_TILES)}
)
