"""Layers that resize pictures."""

from __future__ import annotations

import numpy as np
from arrays import Array, sampled

from networks.case import (
    PICTURE,
    Cases,
)

CASES = Cases("networks.resizing")
layer = CASES.layer

layer(
    "upsample_nn",
    "add_upsample",
    [PICTURE],
    PICTURE.repeat(2, 1).repeat(3, 2),
    old=True,
    scaling_factor_h=2,
    scaling_factor_w=3,
)


def grid(x: int, n: int, mode: str) -> Array:
    match mode:
        case "STRICT_ALIGN_ENDPOINTS_MODE" | "ALIGN_CORNERS_TRUE":
            return np.linspace(0, x - 1, n)
        case "ALIGN_ENDPOINTS_MODE":
            return np.linspace(0, x - 1, n) if n > 1 else np.array([(x - 1) / 2])
        case "UPSAMPLE_MODE" | "DEFAULT":
            return np.linspace(0, x - x / n, n)
        case "ROI_ALIGN_MODE":
            spacing = max(1, x - 1) / n
            return np.linspace(0.5 * spacing, 0.5 * spacing + (n - 1) * spacing, n)
    return np.arange(n) * x / n + 0.5 * x / n - 0.5


for mode in ("DEFAULT", "ALIGN_CORNERS_TRUE", "ALIGN_CORNERS_FALSE"):
    layer(
        f"upsample_{mode}",
        "add_upsample",
        [PICTURE],
        sampled(PICTURE, grid(4, 8, mode), grid(5, 15, mode)),
        old=True,
        scaling_factor_h=2,
        scaling_factor_w=3,
        mode="BILINEAR",
        linear_upsample_mode=mode,
    )
for mode in ("STRICT_ALIGN_ENDPOINTS_MODE", "ALIGN_ENDPOINTS_MODE", "UPSAMPLE_MODE", "ROI_ALIGN_MODE"):
    for height, width in ((7, 3), (1, 9)):
        layer(
            f"resize_{mode}_{height}",
            "add_resize_bilinear",
            [PICTURE],
            sampled(PICTURE, grid(4, height, mode), grid(5, width, mode)),
            old=True,
            target_height=height,
            target_width=width,
            mode=mode,
        )
