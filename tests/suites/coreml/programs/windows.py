"""Convolutions and pools."""

from __future__ import annotations

import numpy as np
import torch
from arrays import padded, t
from torch.nn import functional

from programs.case import LARGE, Cases

CASES = Cases("programs.windows")
operation = CASES.operation
reals = CASES.source.reals

_K, _BIAS = reals(6, 4, 3, 3), reals(6)


for label, parameters, reference in (
    ("valid", {}, lambda x, w: functional.conv2d(x, w, t(_BIAS))),
    (
        "strides",
        {"strides": [2, 3], "dilations": [2, 1]},
        lambda x, w: functional.conv2d(x, w, t(_BIAS), (2, 3), dilation=(2, 1)),
    ),
    (
        "custom",
        {"pad_type": "custom", "pad": [1, 2, 0, 1]},
        lambda x, w: functional.conv2d(functional.pad(x, (0, 1, 1, 2)), w, t(_BIAS)),
    ),
    (
        "same",
        {"pad_type": "same", "strides": [2, 2]},
        lambda x, w: functional.conv2d(padded(x, (3, 3), (2, 2)), w, t(_BIAS), 2),
    ),
    (
        "same_lower",
        {"pad_type": "same_lower", "strides": [2, 2]},
        lambda x, w: functional.conv2d(padded(x, (3, 3), (2, 2), top_heavy=True), w, t(_BIAS), 2),
    ),
):
    operation(
        "conv", [LARGE], reference(t(LARGE), t(_K)).numpy(), weight=_K, bias=_BIAS, label=f"conv_{label}", **parameters
    )
_KG = reals(6, 2, 3, 3)
operation(
    "conv", [LARGE], functional.conv2d(t(LARGE), t(_KG), groups=2).numpy(), weight=_KG, groups=2, label="conv_groups"
)
_LINE, _K1 = reals(2, 4, 9), reals(6, 4, 3)
operation(
    "conv",
    [_LINE],
    functional.conv1d(t(_LINE), t(_K1), padding=1).numpy(),
    weight=_K1,
    pad_type="custom",
    pad=[1, 1],
    label="conv_1d",
)
_VOLUME, _K3 = reals(1, 2, 5, 6, 7), reals(3, 2, 2, 3, 2)
operation("conv", [_VOLUME], functional.conv3d(t(_VOLUME), t(_K3)).numpy(), weight=_K3, label="conv_3d")
_KT = reals(4, 6, 3, 3)
operation(
    "conv_transpose",
    [LARGE],
    functional.conv_transpose2d(t(LARGE), t(_KT), t(_BIAS), 2).numpy(),
    weight=_KT,
    bias=_BIAS,
    strides=[2, 2],
    label="conv_transpose_valid",
)
operation(
    "conv_transpose",
    [LARGE],
    functional.conv_transpose2d(t(LARGE), t(_KT), None, 2, 1).numpy(),
    weight=_KT,
    strides=[2, 2],
    pad_type="custom",
    pad=[1, 1, 1, 1],
    label="conv_transpose_custom",
)
operation(
    "conv_transpose",
    [LARGE],
    functional.conv_transpose2d(t(LARGE), t(_KT), None, 2, 1, 1).numpy(),
    weight=_KT,
    strides=[2, 2],
    pad_type="custom",
    pad=[1, 1, 1, 1],
    output_shape=[2, 6, 18, 16],
    label="conv_transpose_shape",
)
_KTG = reals(4, 3, 3, 3)
operation(
    "conv_transpose",
    [LARGE],
    functional.conv_transpose2d(t(LARGE), t(_KTG), None, 2, groups=2).numpy(),
    weight=_KTG,
    strides=[2, 2],
    groups=2,
    label="conv_transpose_groups",
)
for label, parameters, enlarge in (
    ("valid", {"pad_type": "valid"}, lambda x, v: x),
    ("custom", {"pad_type": "custom", "pad": [0, 2, 1, 1]}, lambda x, v: functional.pad(x, (1, 1, 0, 2), value=v)),
    ("same", {"pad_type": "same"}, lambda x, v: padded(x, (3, 3), (2, 2), value=v)),
    (
        "ceil",
        {"pad_type": "custom", "pad": [1, 1, 1, 1], "ceil_mode": True},
        lambda x, v: functional.pad(x, (1, 2, 1, 1), value=v),
    ),
):
    window = {"kernel_sizes": [3, 3], "strides": [2, 2], **parameters}
    operation(
        "max_pool",
        [LARGE],
        functional.max_pool2d(enlarge(t(LARGE), -np.inf), 3, 2).numpy(),
        label=f"max_pool_{label}",
        **window,
    )
    total, count = (
        functional.avg_pool2d(enlarge(t(LARGE), 0.0), 3, 2),
        functional.avg_pool2d(enlarge(torch.ones(2, 4, 9, 8), 0.0), 3, 2),
    )
    operation(
        "avg_pool",
        [LARGE],
        (total / count).numpy(),
        label=f"avg_pool_{label}",
        exclude_padding_from_average=True,
        **window,
    )
    if label != "ceil":
        operation(
            "avg_pool",
            [LARGE],
            total.numpy(),
            label=f"avg_pool_counted_{label}",
            exclude_padding_from_average=False,
            **window,
        )
operation(
    "l2_pool",
    [LARGE],
    torch.sqrt(functional.avg_pool2d(t(LARGE**2), 3, 2) * 9).numpy(),
    kernel_sizes=[3, 3],
    strides=[2, 2],
    pad_type="valid",
)
