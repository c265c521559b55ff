"""Operations that resize and sample pictures."""

from __future__ import annotations

import numpy as np
from arrays import Array, sampled, t
from torch.nn import functional

from programs.case import PICTURES, Cases

CASES = Cases("programs.resizing")
operation = CASES.operation
reals = CASES.source.reals

operation(
    "upsample_nearest_neighbor",
    [PICTURES],
    PICTURES.repeat(2, 2).repeat(3, 3),
    scale_factor_height=2,
    scale_factor_width=3,
)
operation(
    "resize_nearest_neighbor",
    [PICTURES],
    PICTURES.repeat(2, 2).repeat(2, 3),
    target_size_height=8,
    target_size_width=10,
)
_GRIDS = {
    "DEFAULT": lambda x, n: np.linspace(0, x - x / n, n),
    "STRICT_ALIGN_CORNERS": lambda x, n: np.linspace(0, x - 1, n),
    "ALIGN_CORNERS": lambda x, n: np.linspace(0, x - 1, n) if n > 1 else np.array([(x - 1) / 2]),
    "OFFSET_CORNERS": lambda x, n: (np.arange(n) + 0.5) * max(1, x - 1) / n,
    "UNALIGN_CORNERS": lambda x, n: (np.arange(n) + 0.5) * x / n - 0.5,
}


def sampled_batch(x: Array, rows: Array, columns: Array) -> Array:
    return np.stack([sampled(image, rows, columns) for image in x]).astype(np.float32)


for mode, grid in _GRIDS.items():
    for height, width in ((7, 3), (1, 9)):
        operation(
            "resize_bilinear",
            [PICTURES],
            sampled_batch(PICTURES, grid(4, height), grid(5, width)),
            target_size_height=height,
            target_size_width=width,
            sampling_mode=mode,
            label=f"resize_bilinear_{mode}_{height}",
        )
for corners in (True, False):
    operation(
        "upsample_bilinear",
        [PICTURES],
        functional.interpolate(t(PICTURES), scale_factor=(2, 3), mode="bilinear", align_corners=corners).numpy(),
        scale_factor_height=2,
        scale_factor_width=3,
        align_corners=corners,
        label=f"upsample_bilinear_{corners}",
    )
operation(
    "resize",
    [PICTURES],
    sampled_batch(PICTURES, _GRIDS["UNALIGN_CORNERS"](4, 6), _GRIDS["UNALIGN_CORNERS"](5, 5)),
    shape=[1, 6, 0],
    resized_dims=np.uint32(2),
    interpolation_mode="LINEAR",
    sampling_mode="UNALIGN_CORNERS",
)
_GRID = reals(2, 3, 5, 2, low=-1.3, high=1.3)
for padding, torch_padding, corners in (
    ("constant", "zeros", False),
    ("border", "border", True),
    ("symmetric", "reflection", False),
):
    operation(
        "resample",
        [PICTURES, _GRID],
        functional.grid_sample(t(PICTURES), t(_GRID), padding_mode=torch_padding, align_corners=corners).numpy(),
        arguments=["x", "coordinates"],
        sampling_mode="bilinear",
        padding_mode=padding,
        padding_value=0.0,
        coordinates_mode="normalized_minus_one_to_one",
        align_corners=corners,
        label=f"resample_{padding}",
    )
