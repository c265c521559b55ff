"""All instructions of sateen, by name. Texts of loop IR may name them, and worker processes know them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sateen.tensor_ir.intrinsics import dot
from sateen.tensor_ir.intrinsics.intrinsic import TensorIntrinsic

INTRINSICS: Mapping[str, TensorIntrinsic] = MappingProxyType(
    {
        intrinsic.name: intrinsic
        for intrinsic in (
            dot.dot4_u8s8_x4,
            dot.dot4_u8s8_x8,
            dot.dot4_u8s8_x16,
            dot.dot4_s8s8_x4,
            dot.dot4_u8u8_x4,
            dot.dot4_u8s8_x4_broadcast,
            dot.dot4_u8s8_x8_broadcast,
            dot.dot4_u8s8_x16_broadcast,
            dot.dot4_s8s8_x4_broadcast,
            dot.dot4_u8u8_x4_broadcast,
        )
    }
)
