"""Convolutions and pools."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from arrays import padded, t
from torch.nn import functional

from networks.case import (
    LARGE,
    Cases,
    images,
)

CASES = Cases("networks.windows")
layer = CASES.layer
reals = CASES.source.reals


def convolution(
    name: str,
    reference: Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor],
    kernel: tuple[int, int] = (3, 3),
    groups: int = 1,
    outputs: int = 6,
    stride: tuple[int, int] = (1, 1),
    bias: bool = True,
    is_deconv: bool = False,
    **more: Any,
) -> None:
    shape = (4, outputs // groups, *kernel) if is_deconv else (outputs, 4 // groups, *kernel)
    w, b = reals(*shape), reals(outputs)
    expected = images(lambda x: reference(x, t(w), t(b) if bias else t(b) * 0), LARGE)
    order = (2, 3, 0, 1) if is_deconv else (2, 3, 1, 0)
    layer(
        f"conv_{name}",
        "add_convolution",
        [LARGE],
        expected,
        old=True,
        kernel_channels=shape[0] if is_deconv else shape[1],
        output_channels=outputs,
        height=kernel[0],
        width=kernel[1],
        stride_height=stride[0],
        stride_width=stride[1],
        groups=groups,
        W=w.transpose(order),
        b=b if bias else None,
        has_bias=bias,
        is_deconv=is_deconv,
        **more,
    )


convolution("valid", functional.conv2d, border_mode="valid")
convolution("no_bias", lambda x, w, b: functional.conv2d(x, w), border_mode="valid", bias=False)
convolution(
    "padded",
    lambda x, w, b: functional.conv2d(functional.pad(x, (2, 0, 1, 2)), w, b),
    border_mode="valid",
    padding_top=1,
    padding_bottom=2,
    padding_left=2,
    padding_right=0,
)
convolution("stride", lambda x, w, b: functional.conv2d(x, w, b, stride=(2, 3)), border_mode="valid", stride=(2, 3))
convolution(
    "dilated", lambda x, w, b: functional.conv2d(x, w, b, dilation=(2, 1)), border_mode="valid", dilation_factors=[2, 1]
)
convolution("groups", lambda x, w, b: functional.conv2d(x, w, b, groups=2), border_mode="valid", groups=2)
convolution("depthwise", lambda x, w, b: functional.conv2d(x, w, b, groups=4), border_mode="valid", groups=4, outputs=8)
for top_heavy in (False, True):
    mode = "TOP_LEFT_HEAVY" if top_heavy else "BOTTOM_RIGHT_HEAVY"
    for stride in ((1, 1), (2, 2), (3, 2)):
        convolution(
            f"same_{mode}_{stride[0]}",
            lambda x, w, b, s=stride, h=top_heavy: functional.conv2d(padded(x, (4, 3), s, top_heavy=h), w, b, stride=s),
            (4, 3),
            stride=stride,
            border_mode="same",
            same_padding_asymmetry_mode=mode,
        )
convolution(
    "transposed",
    lambda x, w, b: functional.conv_transpose2d(x, w, b, stride=2),
    is_deconv=True,
    stride=(2, 2),
    border_mode="valid",
)
convolution(
    "transposed_groups",
    lambda x, w, b: functional.conv_transpose2d(x, w, b, stride=2, groups=2),
    is_deconv=True,
    stride=(2, 2),
    groups=2,
    border_mode="valid",
)
convolution(
    "transposed_padded",
    lambda x, w, b: functional.conv_transpose2d(x, w, b, stride=2, padding=1),
    is_deconv=True,
    stride=(2, 2),
    border_mode="valid",
    padding_top=1,
    padding_bottom=1,
    padding_left=1,
    padding_right=1,
)
convolution(
    "transposed_same",
    lambda x, w, b: functional.conv_transpose2d(x, w, b, stride=2)[..., 1:-1, 1:-1],
    (4, 4),
    is_deconv=True,
    stride=(2, 2),
    border_mode="same",
)
convolution(
    "transposed_same_odd",
    lambda x, w, b: functional.conv_transpose2d(x, w, b, stride=2)[..., :-1, :-1],
    is_deconv=True,
    stride=(2, 2),
    border_mode="same",
)


def enlarged(x: torch.Tensor, padding: str, value: float) -> torch.Tensor:
    """Data with the padding that a window of 3 with a stride of 2 has."""
    if padding == "SAME":
        return padded(x, (3, 3), (2, 2), value=value)
    if padding == "VALID":
        return functional.pad(x, (1, 1, 0, 2), value=value)
    ends = [max((-(-(n + 2 - 3) // 2)) * 2 + 3 - n - 1, 0) for n in x.shape[2:]]
    return functional.pad(x, (1, ends[1], 1, ends[0]), value=value)


def pooled(x: torch.Tensor, *, kind: str, padding: str, exclude: bool) -> torch.Tensor:
    if kind == "MAX":
        return functional.max_pool2d(enlarged(x, padding, -np.inf), 3, 2)
    if kind == "L2":
        return torch.sqrt(functional.avg_pool2d(enlarged(x * x, padding, 0.0), 3, 2) * 9)
    total = functional.avg_pool2d(enlarged(x, padding, 0.0), 3, 2)
    count = functional.avg_pool2d(enlarged(torch.ones_like(x), padding, 0.0), 3, 2)
    return total / count if exclude else total


_SIDES = ("padding_top", "padding_bottom", "padding_left", "padding_right")
_AMOUNTS = {
    "VALID": dict(zip(_SIDES, (0, 2, 1, 1), strict=True)),
    "INCLUDE_LAST_PIXEL": dict.fromkeys(_SIDES, 1),
}
for kind in ("MAX", "AVERAGE", "L2"):
    for padding in ("VALID", "SAME", "INCLUDE_LAST_PIXEL"):
        for exclude in (True, False) if (kind, padding) == ("AVERAGE", "SAME") else (True,):
            more = _AMOUNTS.get(padding, {})
            expected = images(partial(pooled, kind=kind, padding=padding, exclude=exclude), LARGE)
            layer(
                f"pool_{kind}_{padding}_{exclude}",
                "add_pooling",
                [LARGE],
                expected,
                old=True,
                height=3,
                width=3,
                stride_height=2,
                stride_width=2,
                layer_type=kind,
                padding_type=padding,
                exclude_pad_area=exclude,
                **more,
            )
    reference = {
        "MAX": LARGE.max((1, 2), keepdims=True),
        "AVERAGE": LARGE.mean((1, 2), keepdims=True),
        "L2": np.sqrt((LARGE**2).sum((1, 2), keepdims=True)),
    }[kind]
    layer(
        f"pool_global_{kind}",
        "add_pooling",
        [LARGE],
        reference,
        old=True,
        height=1,
        width=1,
        stride_height=1,
        stride_width=1,
        layer_type=kind,
        padding_type="VALID",
        is_global=True,
    )

_VOLUME = reals(1, 4, 6, 7, 8)
_W3, _B3 = reals(6, 2, 3, 2, 3), reals(6)
layer(
    "conv3d",
    "add_convolution3d",
    [_VOLUME],
    functional.conv3d(t(_VOLUME), t(_W3), t(_B3), stride=(1, 2, 1), dilation=(2, 1, 1), groups=2).numpy(),
    input_channels=4,
    output_channels=6,
    depth=3,
    height=2,
    width=3,
    W=_W3,
    b=_B3,
    has_bias=True,
    groups=2,
    stride_height=2,
    dilation_depth=2,
    padding_mode="valid",
)
layer(
    "pool3d_max",
    "add_pooling3d",
    [_VOLUME],
    functional.max_pool3d(t(_VOLUME), 2, 2).numpy(),
    pooling_type="MAX",
    kernel_depth=2,
    kernel_height=2,
    kernel_width=2,
    stride_depth=2,
    stride_height=2,
    stride_width=2,
)
layer(
    "pool3d_average",
    "add_pooling3d",
    [_VOLUME],
    functional.avg_pool3d(t(_VOLUME), (2, 3, 2), (1, 2, 2)).numpy(),
    pooling_type="AVERAGE",
    kernel_depth=2,
    kernel_height=3,
    kernel_width=2,
    stride_depth=1,
    stride_height=2,
    stride_width=2,
)
layer(
    "pool3d_global", "add_global_pooling3d", [_VOLUME], _VOLUME.mean((2, 3, 4), keepdims=True), pooling_type="AVERAGE"
)
