"""What layers of Caffe compute, in NumPy or PyTorch: each follows the file of BVLC/caffe (or of the fork) that the
layer's converter names."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as nn

Array = np.ndarray


def pooled(x: Array, method: str, kernel: int, stride: int = 1, pad: int = 0) -> Array:
    """Caffe's pool, window by window (pooling_layer.cpp)."""
    counts = []
    for extent in x.shape[2:]:
        count = -(-(extent + 2 * pad - kernel) // stride) + 1
        counts.append(count - 1 if pad and (count - 1) * stride >= extent + pad else count)
    y = np.empty((*x.shape[:2], *counts), np.float32)
    for i in range(counts[0]):
        for j in range(counts[1]):
            starts = [i * stride - pad, j * stride - pad]
            ends = [min(s + kernel, extent + pad) for s, extent in zip(starts, x.shape[2:], strict=True)]
            area = (ends[0] - starts[0]) * (ends[1] - starts[1])
            window = x[:, :, max(starts[0], 0) : ends[0], max(starts[1], 0) : ends[1]]
            y[:, :, i, j] = window.max((2, 3)) if method == "MAX" else window.sum((2, 3)) / area
    return y


def along(values: Array, axis: int, rank: int) -> Array:
    return values.reshape(values.shape + (1,) * (rank - axis - values.ndim))


def within_channel(x: Array) -> Array:
    return x * (1 + 0.5 * pooled(x * x, "AVE", 3, 1, 1)) ** -0.75


def across_channels(x: Array, size: int = 5, alpha: float = 1.0, beta: float = 0.75, k: float = 1.0) -> Array:
    """OpenCV does not divide alpha by the size."""
    return nn.local_response_norm(torch.tensor(x), size, alpha, beta, k).numpy()


def normalized(x: Array, axes: tuple[int, ...], variance: bool = True, eps: float = 1e-9) -> Array:
    distance = x - x.mean(axes, keepdims=True)
    return distance / (np.sqrt((distance**2).mean(axes, keepdims=True)) + eps) if variance else distance


def batch_normalized(x: Array, mean: Array, variance: Array, total: Array, eps: float = 1e-5) -> Array:
    share = 1 / total[0] if total[0] else 0
    return (x - along(mean * share, 1, x.ndim)) / np.sqrt(along(variance * share, 1, x.ndim) + eps)


def arg_max(x: Array, count: int, axis: int) -> tuple[Array, Array]:
    """Places and values; of equal elements the last comes first."""
    order = np.argsort(np.flip(x, axis) * -1, axis, kind="stable").take(range(count), axis)
    places = x.shape[axis] - 1 - order
    return places.astype(np.float32), np.take_along_axis(x, places, axis)


def shuffled(x: Array, groups: int) -> Array:
    n, c, h, w = x.shape
    return x.reshape(n, groups, c // groups, h, w).transpose(0, 2, 1, 3, 4).reshape(x.shape)


def unpooled(x: Array, mask: Array) -> Array:
    y = np.zeros((*x.shape[:2], 4 * x.shape[2] * x.shape[3]), np.float32)
    np.put_along_axis(y, mask.reshape(*x.shape[:2], -1).astype(int), x.reshape(*x.shape[:2], -1), 2)
    return y.reshape(*x.shape[:2], 2 * x.shape[2], 2 * x.shape[3])


def masked(x: Array) -> list[Array]:
    """A maximum of 2x2 and its positions within the channel."""
    values, places = nn.max_pool2d(torch.tensor(x), 2, 2, return_indices=True)
    return [values.numpy(), places.numpy().astype(np.float32)]


def pyramid(x: Array) -> Array:
    parts = []
    for bins in (1, 2):
        kernel = [-(-extent // bins) for extent in x.shape[2:]]
        pads = [(k * bins - extent + 1) // 2 for k, extent in zip(kernel, x.shape[2:], strict=True)]
        padded = np.pad(
            x, [(0, 0), (0, 0), *((p, k) for p, k in zip(pads, kernel, strict=True))], constant_values=-np.inf
        )
        windows = [
            padded[:, :, i * kernel[0] : (i + 1) * kernel[0], j * kernel[1] : (j + 1) * kernel[1]].max((2, 3))
            for i in range(bins)
            for j in range(bins)
        ]
        parts.append(np.stack(windows, 2).reshape(len(x), -1))
    return np.concatenate(parts, 1)


def resized(x: Array, height: int, width: int) -> Array:
    return nn.interpolate(torch.tensor(x), (height, width), mode="bilinear", align_corners=True).numpy()


def roi_pooled(x: Array, regions: Array) -> Array:
    """Regions in parts of 3x2, at half their size (caffe-fast-rcnn, roi_pooling_layer.cpp)."""
    y = np.zeros((len(regions), x.shape[1], 3, 2), np.float32)
    for row, (image, *corners) in zip(y, regions, strict=True):
        x0, y0, x1, y1 = (int(np.floor(c * 0.5 + 0.5)) for c in corners)
        sizes = [max(y1 - y0 + 1, 1) / 3, max(x1 - x0 + 1, 1) / 2]
        for i in range(3):
            for j in range(2):
                starts = [int(np.floor(n * s)) + f for n, s, f in zip((i, j), sizes, (y0, x0), strict=True)]
                ends = [int(np.ceil((n + 1) * s)) + f for n, s, f in zip((i, j), sizes, (y0, x0), strict=True)]
                part = x[int(image), :, max(starts[0], 0) : ends[0], max(starts[1], 0) : ends[1]]
                row[:, i, j] = part.max((1, 2)) if part.size else 0
    return y


def position_sensitive(x: Array, regions: Array) -> Array:
    """Averages of regions in parts of 2x2 at half their size, each of its own channels (caffe-rfcn,
    psroi_pooling_layer.cu)."""
    y = np.zeros((len(regions), x.shape[1] // 4, 2, 2), np.float32)
    for row, (image, *corners) in zip(y, regions, strict=True):
        first, last = ([np.floor(c + 0.5) for c in part] for part in (corners[:2], corners[2:]))
        begins = [c * 0.5 for c in first[::-1]]
        sizes = [max((c + 1) * 0.5 - b, 0.1) / 2 for c, b in zip(last[::-1], begins, strict=True)]
        for i, j in np.ndindex(2, 2):
            starts = [max(int(np.floor(n * s + b)), 0) for n, s, b in zip((i, j), sizes, begins, strict=True)]
            ends = [int(np.ceil((n + 1) * s + b)) for n, s, b in zip((i, j), sizes, begins, strict=True)]
            part = x[int(image), i * 2 + j :: 4, starts[0] : ends[0], starts[1] : ends[1]]
            row[:, i, j] = part.mean((1, 2)) if part.size else 0
    return y


def windows(x: Array) -> Array:
    """Windows of 3x2 with stride 2 and padding 1, as channels (im2col.cpp)."""
    x = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)])
    seen = np.lib.stride_tricks.sliding_window_view(x, (3, 2), (2, 3))[:, :, ::2, ::2]
    return seen.transpose(0, 1, 4, 5, 2, 3).reshape(len(x), -1, *seen.shape[2:4])


def overlap(a: Array, b: Array) -> float:
    width, height = (np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])).tolist()
    common = max(width, 0) * max(height, 0)
    areas = [float(max(x[2] - x[0], 0) * max(x[3] - x[1], 0)) for x in (a, b)]
    return common / (sum(areas) - common) if common else 0.0


def detected(
    centres: bool, shared: bool, keep: int, threshold: float, first: int
) -> Callable[[Array, Array, Array], Array]:
    """Caffe's rows for 3 classes, the first of them the background, and -1 up to `keep` for each image."""

    def detect(locations: Array, scores: Array, priors: Array) -> Array:
        prior, variance = priors.reshape(2, -1, 4)
        count, rows = len(prior), []
        for image in range(len(scores)):
            found = []
            for label in (1, 2):
                place = locations[image].reshape(count, 1 if shared else 3, 4)[:, 0 if shared else label] * variance
                boxes = prior + place
                if centres:
                    size, middle = prior[:, 2:] - prior[:, :2], (prior[:, 2:] + prior[:, :2]) / 2
                    centre, reach = middle + place[:, :2] * size, np.exp(place[:, 2:]) * size / 2
                    boxes = np.concatenate([centre - reach, centre + reach], 1)
                score = scores[image].reshape(count, 3)[:, label]
                kept: list[int] = []
                candidates = [i for i in np.argsort(-score, kind="stable") if score[i] > threshold]
                for i in candidates[:first]:
                    if all(overlap(boxes[i], boxes[j]) <= 0.4 for j in kept):
                        kept.append(i)
                found += [(label, score[i], *boxes[i]) for i in kept]
            least = sorted((row[1] for row in found), reverse=True)[:keep][-1] if found else 0
            found = [(image, *row) for row in found if row[1] >= least]
            rows += found + [(-1,) * 7] * (keep - len(found))
        return np.array(rows, np.float32).reshape(1, 1, -1, 7)

    return detect


def priors(random: np.random.Generator, count: int) -> Array:
    low = random.uniform(0, 0.7, (count, 2))
    boxes = np.concatenate([low, low + random.uniform(0.1, 0.3, (count, 2))], 1)
    return np.stack([boxes.ravel(), np.tile([0.1, 0.1, 0.2, 0.2], count)])[None].astype(np.float32)


def logistic(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def lstm(x: Array, goes_on: Array, w: Array, b: Array, u: Array, static: Array | float = 0, state=None) -> list[Array]:
    """All hidden states, and the last of both, time by time (lstm_layer.cpp, lstm_unit_layer.cpp)."""
    h, c = [np.zeros((x.shape[1], u.shape[1]), np.float32)] * 2 if state is None else (part[0] for part in state)
    found = []
    for each, cont in zip(x, goes_on[..., None], strict=True):
        i, f, o, g = np.split(each.reshape(len(each), -1) @ w.T + b + static + (h * cont) @ u.T, 4, 1)
        c = cont * logistic(f) * c + logistic(i) * np.tanh(g)
        h = logistic(o) * np.tanh(c)
        found.append(h)
    return [np.stack(found), h[None], c[None]]


def rnn(x: Array, goes_on: Array, w: Array, b: Array, u: Array, v: Array, d: Array) -> Array:
    """Outputs of all times (rnn_layer.cpp)."""
    h, found = np.zeros((x.shape[1], len(u)), np.float32), []
    for each, cont in zip(x, goes_on[..., None], strict=True):
        h = np.tanh(each @ w.T + b + (h * cont) @ u.T)
        found.append(np.tanh(h @ v.T + d))
    return np.stack(found)
