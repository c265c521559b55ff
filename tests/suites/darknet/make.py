"""Makes darknet models of one layer each, and what they compute: by OpenCV's dnn, or else by darknet's definition.

    python make.py FOLDER

OpenCV lacks some layers, and decodes the boxes of detectors; those have a definition in NumPy or PyTorch here, which
follows the file of darknet that the layer's converter names.
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np
import torch
import torch.nn.functional as nn

Array = np.ndarray
PICTURE = (4, 8, 10)


@dataclass(frozen=True)
class Case:
    """Layers as text, the shapes of their weights in the order of the file, and their definition, which takes the input
    and the weights: None for OpenCV's. `kinds` says of each array whether it is a variance (v)."""

    layers: str
    weights: Sequence[tuple[int, ...]] = ()
    definition: Callable[..., Array] | None = None
    picture: tuple[int, ...] = PICTURE
    kinds: str = ""
    version: tuple[int, int, int] = (0, 2, 5)
    state: tuple[int, ...] = ()


def conv(options: str, weights: Sequence[tuple[int, ...]], **more) -> Case:
    return Case(f"[convolutional]\n{options}", weights, **more)


def activation(name: str, definition: Callable[[Array], Array] | None = None) -> Case:
    """A convolution of 1x1 with an activation, which is defined on what the convolution gives."""
    given = None if definition is None else lambda x, b, w: np.float32(definition(convolved(x, w, b)))
    return conv(f"filters=6\nsize=1\nactivation={name}", [(6,), (6, 4, 1, 1)], definition=given)


def convolved(x: Array, w: Array, b: Array | None, **more) -> Array:
    return nn.conv2d(torch.tensor(x), torch.tensor(w), None if b is None else torch.tensor(b), **more).numpy()


def normalized(x: Array, b: Array, s: Array, m: Array, v: Array) -> Array:
    scale, bias, mean, variance = (a.reshape(-1, *(1,) * (x.ndim - 2)) for a in (s, b, m, v))
    return (x - mean) / np.sqrt(variance + 1e-6) * scale + bias


def logistic(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def softmax(x: Array, axis: int) -> Array:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def connected(x: Array, b: Array, w: Array) -> Array:
    return x.reshape(len(x), -1) @ w.T + b


def stair(x: Array) -> Array:
    n = np.floor(x)
    return np.where(np.fmod(n, 2) == 0, np.floor(x / 2), x - n + np.floor(x / 2))


def plse(x: Array) -> Array:
    return np.where(x < -4, 0.01 * (x + 4), np.where(x > 4, 0.01 * (x - 4) + 1, 0.125 * x + 0.5))


def lhtan(x: Array) -> Array:
    return np.where(x < 0, 0.001 * x, np.where(x > 1, 0.001 * (x - 1) + 1, x))


def pooled(x: Array, size: int, stride: int, pad: int, kind: str = "max") -> Array:
    """darknet's pool, window by window (maxpool_layer.c)."""
    counts = [(extent + pad - size) // stride + 1 for extent in x.shape[2:]]
    y = np.empty((*x.shape[:2], *counts), np.float32)
    for i in range(counts[0]):
        for j in range(counts[1]):
            top, left = (n * stride - pad // 2 for n in (i, j))
            window = x[:, :, max(top, 0) : top + size, max(left, 0) : left + size]
            y[:, :, i, j] = window.max((2, 3)) if kind == "max" else window.mean((2, 3))
    return y


def reorganized(x: Array, size: tuple[int, int, int], stride: int, forward: bool, wanted: tuple[int, ...]) -> Array:
    """reorg_cpu, element by element (blas.c)."""
    channels, height, width = size
    y = np.zeros((len(x), x[0].size), np.float32)
    flat, fewer = x.reshape(len(x), -1), channels // stride**2
    for k in range(channels):
        for j in range(height):
            for i in range(width):
                near = i + width * (j + height * k)
                offset, c = divmod(k, fewer)
                row, column = j * stride + offset // stride, i * stride + offset % stride
                far = column + width * stride * (row + height * stride * c)
                if forward:
                    y[:, far] = flat[:, near]
                else:
                    y[:, near] = flat[:, far]
    return y.reshape(len(x), *wanted)


def boxed(x: Array, boxes: int, activate: Callable[[Array], None]) -> Array:
    """The planes of each box [N, boxes, numbers, H, W], which `activate` changes in place."""
    y = x.reshape(len(x), boxes, -1, *x.shape[2:]).copy()
    activate(y)
    return y.reshape(x.shape)


def yolo(scale: float, new_coords: bool = False) -> Callable[[Array], Array]:
    def activate(y: Array) -> None:
        if not new_coords:
            y[:, :, :2] = logistic(y[:, :, :2])
            y[:, :, 4:] = logistic(y[:, :, 4:])
        y[:, :, :2] = y[:, :, :2] * scale - 0.5 * (scale - 1)

    return lambda x: boxed(x, 2, activate)


def gaussian(x: Array) -> Array:
    def activate(y: Array) -> None:
        y[:, :, [0, 1, 2, 3, 5, 7]] = logistic(y[:, :, [0, 1, 2, 3, 5, 7]])
        y[:, :, [0, 2]] = y[:, :, [0, 2]] * 1.1 - 0.05
        y[:, :, 8:] = logistic(y[:, :, 8:])

    return boxed(x, 2, activate)


def region(competing: bool) -> Callable[[Array], Array]:
    def activate(y: Array) -> None:
        y[:, :, [0, 1, 4]] = logistic(y[:, :, [0, 1, 4]])
        y[:, :, 5:] = softmax(y[:, :, 5:], 2) if competing else logistic(y[:, :, 5:])

    return lambda x: boxed(x, 2, activate)


def rnn(x: Array, state: Array, arrays: Sequence[Array], normalizes: bool, shortcut: bool) -> list[Array]:
    """The result and the next state (rnn_layer.c)."""

    def step(given: Array, part: int) -> Array:
        b, w, *norm = arrays[part * (5 if normalizes else 2) :][: 5 if normalizes else 2]
        total = given @ w.T
        total = normalized(total, b, *norm) if normalizes else total + b
        return np.where(total > 0, total, 0.1 * total)

    following = step(x.reshape(len(x), -1), 0) + step(state, 1) + (state if shortcut else 0)
    return [step(following, 2), following]


def recurrent(normalizes: bool = False, shortcut: bool = False) -> Case:
    norm = [(6,)] * 3 if normalizes else []
    out = [(5,)] * 3 if normalizes else []
    text = f"[rnn]\nhidden=6\noutput=5\nactivation=leaky\nbatch_normalize={normalizes:d}\nshortcut={shortcut:d}"
    return Case(
        text,
        [(6,), (6, 320), *norm, (6,), (6, 6), *norm, (5,), (5, 6), *out],
        lambda x, state, *arrays: rnn(x, state, arrays, normalizes, shortcut),
        kinds="bwsmv" * 3 if normalizes else "",
        state=(6,),
    )


def crnn(x: Array, state: Array, arrays: Sequence[Array], normalizes: bool, shortcut: bool, **more) -> list[Array]:
    """The result and the next state (crnn_layer.c)."""

    def step(given: Array, part: int) -> Array:
        b, *norm, w = arrays[part * (5 if normalizes else 2) :][: 5 if normalizes else 2]
        total = convolved(given, w, None if normalizes else b, padding=w.shape[2] // 2, **more)
        total = normalized(total, b, *norm) if normalizes else total
        return np.where(total > 0, total, 0.1 * total)

    following = step(x, 0) + step(state, 1) + (state if shortcut else 0)
    return [step(following, 2), following]


def recurrent_convolution(options: str, size: int = 3, normalizes: bool = False, shortcut: bool = False) -> Case:
    norm, out = ([(6,)] * 3, [(5,)] * 3) if normalizes else ([], [])
    text = f"[crnn]\n{options}\nactivation=leaky\nbatch_normalize={normalizes:d}\nshortcut={shortcut:d}"
    return Case(
        text,
        [(6,), *norm, (6, 4, size, size), (6,), *norm, (6, 6, size, size), (5,), *out, (5, 6, size, size)],
        lambda x, state, *arrays: crnn(x, state, arrays, normalizes, shortcut),
        kinds="bsmvw" * 3 if normalizes else "",
        state=(6, *PICTURE[1:]),
    )


def local(x: Array, b: Array, w: Array, stride: int, pad: int) -> Array:
    """Place by place, with weights of its own at each (local_layer.c)."""
    size = 3
    x = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)])
    y = np.empty((len(x), *b.shape), np.float32)
    for j, (row, column) in enumerate(np.ndindex(*b.shape[1:])):
        seen = x[:, :, row * stride : row * stride + size, column * stride : column * stride + size]
        y[:, :, row, column] = seen.reshape(len(x), -1) @ w[j].T
    return logistic(y + b)


def weighted(kind: str, norm: str, shape: tuple[int, ...]) -> Case:
    """A sum of three layers of six channels, each with a weight (blas.c, shortcut_multilayer_cpu)."""

    def definition(x: Array, b: Array, w: Array, c: Array, v: Array, factors: Array) -> Array:
        first = convolved(x, w, b)
        second = convolved(first, v, c)
        if norm != "none":
            factors = factors.clip(0) if norm == "relu" else np.exp(factors - factors.max(0))
            factors = factors / (1e-4 + factors.sum(0))
        factors = factors.reshape(3, -1, 1, 1)
        return second * factors[0] + first * factors[1] + second * factors[2]

    text = f"{TWO.replace('filters=3', 'filters=6')}[shortcut]\nfrom=0,1\nweights_type={kind}\n"
    shapes = [(6,), (6, 4, 1, 1), (6,), (6, 6, 1, 1), shape]
    return Case(f"{text}weights_normalization={norm}", shapes, definition)


BN = [(6,), (6,), (6,), (6,)]
YOLO = "mask=0,1\nanchors=10,13, 16,30\nnum=2\nclasses=3\n"
TWO = "[convolutional]\nfilters=6\nsize=1\nactivation=linear\n[convolutional]\nfilters=3\nsize=1\nactivation=linear\n"
TWO_WEIGHTS = [(6,), (6, 4, 1, 1), (3,), (3, 6, 1, 1)]


def two(x: Array, b: Array, w: Array, c: Array, v: Array) -> tuple[Array, Array]:
    first = convolved(x, w, b)
    return first, convolved(first, v, c)


CASES: dict[str, Case] = {
    "activation_elu": activation("elu", lambda x: np.where(x >= 0, x, np.exp(x) - 1)),
    "activation_gelu": activation("gelu", lambda x: 0.5 * x * (1 + np.tanh(0.797885 * x + 0.035677 * x**3))),
    "activation_hard_mish": activation("hard_mish", lambda x: np.where(x > 0, x, np.where(x > -2, x * x / 2 + x, 0))),
    "activation_hardtan": activation("hardtan", lambda x: x.clip(-1, 1)),
    "activation_leaky": activation("leaky"),
    "activation_lhtan": activation("lhtan", lhtan),
    "activation_linear": activation("linear"),
    "activation_loggy": activation("loggy", lambda x: 2 * logistic(x) - 1),
    "activation_logistic": activation("logistic"),
    "activation_mish": activation("mish"),
    "activation_normalize_channels": activation(
        "normalize_channels", lambda x: x.clip(0) / (1e-4 + x.clip(0).sum(1, keepdims=True))
    ),
    "activation_normalize_channels_softmax": activation(
        "normalize_channels_softmax", lambda x: np.exp(x) / (1e-4 + np.exp(x).sum(1, keepdims=True))
    ),
    "activation_normalize_channels_softmax_maxval": activation(
        "normalize_channels_softmax_maxval",
        lambda x: (
            np.exp(x - x.max(1, keepdims=True)) / (1e-4 + np.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True))
        ),
    ),
    "activation_plse": activation("plse", plse),
    "activation_ramp": activation("ramp", lambda x: x * (x > 0) + 0.1 * x),
    "activation_relie": activation("relie", lambda x: np.where(x > 0, x, 0.01 * x)),
    "activation_relu": activation("relu"),
    "activation_relu6": activation("relu6", lambda x: x.clip(0, 6)),
    "activation_revleaky": activation("revleaky", lambda x: np.where(x > 0, x, 0.1 * x)),
    "activation_selu": activation("selu", lambda x: 1.0507 * np.where(x >= 0, x, 1.6732 * (np.exp(x) - 1))),
    "activation_stair": activation("stair", stair),
    "activation_swish": activation("swish"),
    "activation_tanh": activation("tanh"),
    "activation_layer": Case("[activation]\nactivation=leaky", definition=lambda x: np.where(x > 0, x, 0.1 * x)),
    "avgpool": Case("[avgpool]"),
    "batchnorm": Case("[batchnorm]", [(4,)] * 4, normalized, kinds="bsmv"),
    "batchnorm_without_biases": Case(
        "[batchnorm]", [(4,)] * 3, lambda x, s, m, v: normalized(x, 0 * s, s, m, v), kinds="smv"
    ),
    "connected": Case("[connected]\noutput=5\nactivation=linear", [(5,), (5, 320)], connected),
    "connected_batch_normalized": Case(
        "[connected]\noutput=5\nbatch_normalize=1\nactivation=leaky",
        [(5,), (5, 320), (5,), (5,), (5,)],
        lambda x, b, w, s, m, v: nn.leaky_relu(
            torch.tensor(normalized(connected(x, 0 * b, w), b, s, m, v)), 0.1
        ).numpy(),
        kinds="bwsmv",
    ),
    "connected_default": Case("[connected]\noutput=5", [(5,), (5, 320)], lambda x, b, w: logistic(connected(x, b, w))),
    "connected_transposed": Case(
        "[connected]\noutput=5\nactivation=linear",
        [(5,), (320, 5)],
        lambda x, b, w: connected(x, b, w.T),
        version=(0, 1001, 0),
    ),
    "conv_batch_normalized": conv(
        "batch_normalize=1\nfilters=6\nsize=3\npad=1\nactivation=leaky", [*BN, (6, 4, 3, 3)], kinds="bsmvw"
    ),
    "conv_default_activation": conv(
        "filters=6\nsize=3", [(6,), (6, 4, 3, 3)], definition=lambda x, b, w: logistic(convolved(x, w, b))
    ),
    "conv_dilation": conv(
        "filters=6\nsize=3\npad=1\ndilation=2\nactivation=linear",
        [(6,), (6, 4, 3, 3)],
        definition=lambda x, b, w: convolved(x, w, b, dilation=2, padding=2),
    ),
    "conv_flipped": conv(
        "filters=6\nsize=3\nflipped=1\nactivation=linear",
        [(6,), (36, 6)],
        definition=lambda x, b, w: convolved(x, w.T.reshape(6, 4, 3, 3), b),
    ),
    "conv_groups": conv("filters=8\nsize=3\npad=1\ngroups=4\nactivation=relu", [(8,), (8, 1, 3, 3)]),
    "conv_padding": conv("filters=6\nsize=5\npadding=1\nstride=2\nactivation=linear", [(6,), (6, 4, 5, 5)]),
    "conv_old_version": conv(
        "filters=6\nsize=1\nactivation=linear",
        [(6,), (6, 4, 1, 1)],
        version=(0, 1, 0),
        definition=lambda x, b, w: convolved(x, w, b),
    ),
    "conv_strides": conv(
        "filters=6\nsize=3\nstride_x=2\nstride_y=1\npad=1\nactivation=linear",
        [(6,), (6, 4, 3, 3)],
        definition=lambda x, b, w: convolved(x, w, b, stride=(1, 2), padding=1),
    ),
    "crnn": recurrent_convolution("hidden=6\noutput=5\npad=1"),
    "crnn_batch_normalized": recurrent_convolution("hidden=6\noutput=5\npad=1", normalizes=True),
    "crnn_pjreddie": recurrent_convolution("hidden_filters=6\noutput_filters=5", shortcut=True),
    "crnn_size_5": recurrent_convolution("hidden=6\noutput=5\nsize=5\npadding=2", size=5),
    "crop": Case("[crop]\ncrop_height=5\ncrop_width=6", definition=lambda x: x[:, :, 1:6, 2:8] * 2 - 1),
    "crop_noadjust": Case("[crop]\ncrop_height=4\ncrop_width=10\nnoadjust=1", definition=lambda x: x[:, :, 2:6]),
    "deconv": Case(
        "[deconvolutional]\nfilters=6\nsize=4\nstride=2\npadding=1\nactivation=leaky",
        [(6,), (4, 6, 4, 4)],
        lambda x, b, w: nn.leaky_relu(
            nn.conv_transpose2d(torch.tensor(x), torch.tensor(w), torch.tensor(b), stride=2, padding=1), 0.1
        ).numpy(),
    ),
    "detection": Case("[detection]\nclasses=1", definition=lambda x: x),
    "dropout": Case("[dropout]\nprobability=.5\n[activation]\nactivation=relu", definition=lambda x: x.clip(0)),
    "gaussian_yolo": Case(f"[Gaussian_yolo]\n{YOLO}scale_x_y=1.1", definition=gaussian, picture=(24, 3, 5)),
    "implicit": Case(
        "[convolutional]\nfilters=6\nsize=1\nactivation=linear\n[implicit]\nfilters=6\n[scale_channels]\nfrom=0",
        [(6,), (6, 4, 1, 1), (6,)],
        lambda x, b, w, f: convolved(x, w, b) * f.reshape(1, 6, 1, 1),
    ),
    "implicit_atoms": Case("[implicit]\nfilters=6\natoms=3", [(6, 3)], lambda x, f: f.reshape(1, 6, 3, 1)),
    "iseg": Case(
        "[iseg]\nclasses=3\nids=5",
        definition=lambda x: np.concatenate([logistic(x[:, :3]), x[:, 3:]], 1),
        picture=(8, 3, 5),
    ),
    "l2norm": Case("[l2norm]", definition=lambda x: x / np.sqrt((x * x).sum(1, keepdims=True))),
    "local": Case(
        "[local]\nfilters=5\nsize=3\nstride=2", [(5, 3, 4), (12, 5, 36)], lambda x, b, w: local(x, b, w, 2, 0)
    ),
    "local_padded": Case(
        "[local]\nfilters=5\nsize=3\npad=1", [(5, 8, 10), (80, 5, 36)], lambda x, b, w: local(x, b, w, 1, 1)
    ),
    "logistic": Case("[avgpool]\n[logistic]", definition=lambda x: logistic(x.mean((2, 3), keepdims=True))),
    "local_avgpool": Case("[local_avgpool]\nsize=3\nstride=2", definition=lambda x: pooled(x, 3, 2, 2, "mean")),
    "maxpool": Case("[maxpool]\nsize=2\nstride=2"),
    "maxpool_depth": Case(
        "[maxpool]\nmaxpool_depth=1\nout_channels=2", definition=lambda x: np.maximum(x[:, :2], x[:, 2:])
    ),
    "maxpool_padding": Case("[maxpool]\nsize=3\nstride=2\npadding=0", definition=lambda x: pooled(x, 3, 2, 0)),
    "maxpool_same": Case("[maxpool]\nsize=5\nstride=1"),
    "maxpool_size_2_stride_1": Case("[maxpool]\nsize=2\nstride=1", definition=lambda x: pooled(x, 2, 1, 1)),
    "region": Case("[region]\nnum=2\nclasses=3\nsoftmax=1", definition=region(True), picture=(16, 3, 5)),
    "region_without_softmax": Case("[region]\nnum=2\nclasses=3", definition=region(False), picture=(16, 3, 5)),
    "reorg": Case(
        "[reorg]\nstride=2", definition=lambda x: reorganized(x, (8, 4, 6), 2, False, (32, 2, 3)), picture=(8, 4, 6)
    ),
    "reorg_opencv": Case("[reorg]\nstride=2", picture=(8, 4, 6)),
    "reorg_reverse": Case(
        "[reorg]\nstride=2\nreverse=1",
        definition=lambda x: reorganized(x, (8, 4, 6), 2, True, (2, 8, 12)),
        picture=(8, 4, 6),
    ),
    "reorg3d": Case(
        "[reorg3d]\nstride=2", definition=lambda x: reorganized(x, (32, 2, 3), 2, False, (32, 2, 3)), picture=(8, 4, 6)
    ),
    "reorg3d_reverse": Case(
        "[reorg3d]\nstride=2\nreverse=1",
        definition=lambda x: reorganized(x, (4, 8, 12), 2, True, (4, 8, 12)),
        picture=(16, 4, 6),
    ),
    "rnn": recurrent(),
    "rnn_batch_normalized": recurrent(normalizes=True),
    "rnn_shortcut": recurrent(shortcut=True),
    "route": Case(f"{TWO}[route]\nlayers=-1,-2", TWO_WEIGHTS),
    "route_groups": Case(f"{TWO}[route]\nlayers=0\ngroups=2\ngroup_id=1", TWO_WEIGHTS),
    "route_groups_of_two": Case(
        f"{TWO}[route]\nlayers=1,0\ngroups=3\ngroup_id=2",
        TWO_WEIGHTS,
        lambda *given: np.concatenate([two(*given)[1][:, 2:], two(*given)[0][:, 4:]], 1),
    ),
    "sam": Case(
        "[convolutional]\nfilters=4\nsize=1\n[convolutional]\nfilters=4\nsize=1\nactivation=linear\n[sam]\nfrom=-2",
        [(4,), (4, 4, 1, 1), (4,), (4, 4, 1, 1)],
        lambda x, b, w, c, v: logistic(convolved(x, w, b)) * convolved(logistic(convolved(x, w, b)), v, c),
    ),
    "scale_channels": Case(
        "[convolutional]\nfilters=6\nsize=1\nactivation=linear\n[avgpool]\n[scale_channels]\nfrom=0\nactivation=leaky",
        [(6,), (6, 4, 1, 1)],
    ),
    "scale_channels_places": Case(
        "[convolutional]\nfilters=6\nsize=1\nactivation=linear\n[convolutional]\nfilters=1\nsize=1\nactivation=logistic\n"
        "[scale_channels]\nfrom=0\nscale_wh=1",
        [(6,), (6, 4, 1, 1), (1,), (1, 6, 1, 1)],
        lambda *given: two(*given)[0] * logistic(two(*given)[1]),
    ),
    "shortcut": Case(
        "[convolutional]\nfilters=4\nsize=1\nactivation=leaky\n[convolutional]\nfilters=4\nsize=3\npad=1\n"
        "activation=linear\n[shortcut]\nfrom=-2\nactivation=leaky",
        [(4,), (4, 4, 1, 1), (4,), (4, 4, 3, 3)],
    ),
    "shortcut_more_channels": Case(
        f"{TWO}[shortcut]\nfrom=0", TWO_WEIGHTS, lambda *given: two(*given)[1] + two(*given)[0][:, :3]
    ),
    "shortcut_fewer_channels": Case(
        f"{TWO}[convolutional]\nfilters=5\nsize=1\nactivation=linear\n[shortcut]\nfrom=1,1",
        [*TWO_WEIGHTS, (5,), (5, 3, 1, 1)],
        lambda x, b, w, c, v, d, u: (
            convolved(two(x, b, w, c, v)[1], u, d) + 2 * np.pad(two(x, b, w, c, v)[1], [(0, 0), (0, 2), (0, 0), (0, 0)])
        ),
    ),
    "shortcut_weighted_per_channel": weighted("per_channel", "softmax", (3, 6)),
    "shortcut_weighted_per_channel_relu": weighted("per_channel", "relu", (3, 6)),
    "shortcut_weighted_per_feature": weighted("per_feature", "relu", (3,)),
    "shortcut_weighted_per_layer": weighted("per_layer", "none", (3,)),
    "softmax": Case("[avgpool]\n[softmax]"),
    "softmax_groups": Case(
        "[softmax]\ngroups=4\ntemperature=2",
        definition=lambda x: softmax(x.reshape(len(x), 4, -1) / 2, 2).reshape(x.shape),
    ),
    "softmax_spatial": Case("[softmax]\nspatial=1", definition=lambda x: softmax(x, 1)),
    "upsample": Case("[upsample]\nstride=2"),
    "upsample_scale": Case("[upsample]\nstride=3\nscale=.5", definition=lambda x: x.repeat(3, 2).repeat(3, 3) * 0.5),
    "yolo": Case(f"[yolo]\n{YOLO}", definition=yolo(1.0), picture=(16, 3, 5)),
    "yolo_new_coords": Case(
        f"[yolo]\n{YOLO}new_coords=1\nscale_x_y=2.0", definition=yolo(2.0, True), picture=(16, 3, 5)
    ),
    "yolo_scaled": Case(f"[yolo]\n{YOLO}scale_x_y=1.05", definition=yolo(1.05), picture=(16, 3, 5)),
}


def with_weights(case: Case) -> Case:
    """A layer without weights behind a convolution: a file of weights has numbers, which tell what it is."""
    if case.weights:
        return case
    channels, definition = case.picture[0], case.definition
    return replace(
        case,
        layers=f"[convolutional]\nfilters={channels}\nsize=1\nactivation=linear\n{case.layers}",
        weights=[(channels,), (channels, channels, 1, 1)],
        definition=None if definition is None else lambda x, b, w: definition(convolved(x, w, b)),
    )


def network(case: Case) -> str:
    channels, height, width = case.picture
    return f"[net]\nbatch=64\nsubdivisions=8\nchannels={channels}\nheight={height}\nwidth={width}\n\n{case.layers}\n"


def weights(case: Case, arrays: Sequence[Array]) -> bytes:
    major, minor, revision = case.version
    seen = struct.pack("<q" if major * 10 + minor >= 2 else "<i", 12800)
    return struct.pack("<iii", major, minor, revision) + seen + b"".join(a.astype("<f4").tobytes() for a in arrays)


def by_opencv(text: str, data: bytes, given: Array) -> Array:
    net = cv2.dnn.readNetFromDarknet(np.frombuffer(text.encode(), np.uint8), np.frombuffer(data, np.uint8))
    net.setInput(given)
    return net.forward()


def make(folder: Path, name: str, case: Case) -> None:
    random = np.random.default_rng(sum(name.encode()))
    given = random.uniform(-2, 2, (1, *case.picture)).astype(np.float32)
    arrays = [
        random.uniform(0.1 if case.kinds[i : i + 1] == "v" else -1, 1, shape).astype(np.float32)
        for i, shape in enumerate(case.weights)
    ]
    text, data = network(case), weights(case, arrays)
    states = [random.uniform(-1, 1, (1, *case.state)).astype(np.float32)] * bool(case.state)
    found = by_opencv(text, data, given) if case.definition is None else case.definition(given, *states, *arrays)
    outputs = {"out/0": found}
    if case.state:
        layer = f"{case.layers[1:].partition(']')[0]}_0"
        outputs = {f"in/{layer}.state": states[0], f"out/{layer}": found[0], f"out/{layer}.next_state": found[1]}
    path = folder / name
    path.mkdir(parents=True)
    (path / "net.cfg").write_text(text, encoding="utf-8")
    (path / "net.weights").write_bytes(data)
    kept = {key: np.asarray(array, np.float32) for key, array in outputs.items()}
    np.savez(path / "io.npz", **{"in/data": given, **kept})
    (path / "case.json").write_text(json.dumps({"model": "net.cfg", "weights": "net.weights"}), encoding="utf-8")


def main() -> None:
    folder = Path(sys.argv[1])
    for name, case in CASES.items():
        make(folder, name, with_weights(case))


if __name__ == "__main__":
    main()
