"""Modules with seeded weights, and the shapes of their inputs, or the inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.ao.quantization.fx._decomposed  # which defines the operators of quantised programs
from torch import nn

quantized = torch.ops.quantized_decomposed
HEADS = [(2, 4, 5, 8), (2, 4, 7, 8), (2, 4, 7, 8)]
SHARED_HEADS = [(2, 4, 5, 8), (2, 2, 7, 8), (2, 2, 7, 8)]


class Applied(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *tensors: torch.Tensor) -> object:
        return self.function(*tensors)


class Residual(nn.Module):
    """A block with activations in place."""

    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True))
        self.two = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.two(self.one(x))
        y += x
        return torch.relu_(y)


def _written(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[:, 1] = 0
    y[..., ::2] += 1
    y.view(-1)[3] = 7
    return y * 2


def _chosen(x: torch.Tensor) -> torch.Tensor:
    return torch.cond(x.sum() > 0, lambda v: v + 1, lambda v: v * 2, (x,))


def _pooled(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return nn.functional.max_pool2d(x, 3, 2, 1, return_indices=True)


class Counter(nn.Module):
    """How often it ran."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count += 1
        return x * self.count


class Cache(nn.Module):
    """Rows that are kept from run to run, at a place that is an input or in a queue."""

    def __init__(self, is_queue: bool) -> None:
        super().__init__()
        self.is_queue = is_queue
        self.register_buffer("rows", torch.randn(1, 8, 4))

    def forward(self, x: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
        if self.is_queue:
            self.rows.copy_(torch.cat([self.rows[:, 1:], x], 1))
        else:
            self.rows[:, place] = x
        return self.rows.sum(1) * place


class Chosen(nn.Module):
    """Branches with weights."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.cond(x.sum() > 0, lambda v: (self.one(v), v + 1), lambda v: (self.other(v), v * 2), (x,))


def _attention(**options: object) -> Callable[[], nn.Module]:
    return lambda: Applied(lambda *given: nn.functional.scaled_dot_product_attention(*given, **options))


def _quantised(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    limits = (-128, 127, torch.int8)
    q = quantized.quantize_per_tensor(x, 0.05, 3, *limits)
    return quantized.dequantize_per_tensor(q, 0.05, 3, *limits), q


def _quantised_per_channel(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    limits = (1, -128, 127, torch.int8)
    scales, zeros = torch.tensor([0.1, 0.2, 0.3, 0.4]), torch.tensor([0, 1, -2, 3])
    q = quantized.quantize_per_channel(x, scales, zeros, *limits)
    return quantized.dequantize_per_channel(q, scales, zeros, *limits), q


def _quantised_as_needed(x: torch.Tensor) -> torch.Tensor:
    scale, zero = quantized.choose_qparams.tensor(x, -128, 127, 1e-5, torch.int8)
    q = quantized.quantize_per_tensor.tensor(x, scale, zero, -128, 127, torch.int8)
    return quantized.dequantize_per_tensor.tensor(q, scale, zero, -128, 127, torch.int8)


PICTURE, SEQUENCE = [(2, 4, 9, 11)], [(3, 5, 6)]

MODULES: dict[str, tuple[Callable[[], nn.Module], Sequence[Sequence[int] | torch.Tensor]]] = {
    "attention.causal": (_attention(is_causal=True), HEADS),
    "attention.masked": (_attention(), [*HEADS, torch.arange(35).reshape(5, 7) % 3 > 0]),
    "attention.biased": (_attention(scale=0.3), [*HEADS, (2, 1, 5, 7)]),
    "attention.shared_heads": (_attention(enable_gqa=True, is_causal=True), SHARED_HEADS),
    "state.counter": (Counter, [(2, 3)]),
    "state.cache": (lambda: Cache(is_queue=False), [(1, 1, 4), torch.tensor([2])]),
    "state.queue": (lambda: Cache(is_queue=True), [(1, 1, 4), torch.tensor([2])]),
    "cond.weights": (Chosen, [(3, 4)]),
    "quantised": (lambda: Applied(_quantised), [(3, 4)]),
    "quantised.per_channel": (lambda: Applied(_quantised_per_channel), [(3, 4)]),
    "quantised.as_needed": (lambda: Applied(_quantised_as_needed), [(3, 4)]),
    "conv1d.strided": (lambda: nn.Conv1d(4, 6, 3, stride=2, padding=1), [(2, 4, 9)]),
    "conv2d.dilated": (lambda: nn.Conv2d(4, 6, 3, dilation=2, bias=False), PICTURE),
    "conv2d.grouped": (lambda: nn.Conv2d(4, 8, 3, groups=4, padding=1), PICTURE),
    "conv2d.same": (lambda: nn.Conv2d(4, 6, (2, 4), padding="same"), PICTURE),
    "conv2d.reflect": (lambda: nn.Conv2d(4, 6, 3, padding=1, padding_mode="reflect"), PICTURE),
    "conv2d.circular": (lambda: nn.Conv2d(4, 6, 3, padding=1, padding_mode="circular"), PICTURE),
    "conv3d": (lambda: nn.Conv3d(2, 3, 3, padding=(0, 1, 1)), [(1, 2, 5, 6, 7)]),
    "conv_transpose1d": (lambda: nn.ConvTranspose1d(4, 6, 4, stride=2, padding=1), [(2, 4, 9)]),
    "conv_transpose2d": (lambda: nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1), PICTURE),
    "conv_transpose2d.grouped": (lambda: nn.ConvTranspose2d(4, 6, 3, groups=2, dilation=2), PICTURE),
    "max_pool2d.ceil": (lambda: nn.MaxPool2d(3, 2, 1, ceil_mode=True), PICTURE),
    "max_pool2d.dilated": (lambda: nn.MaxPool2d(2, 2, dilation=2), PICTURE),
    "max_pool2d.indices": (lambda: Applied(_pooled), PICTURE),
    "max_pool1d": (lambda: nn.MaxPool1d(3, 2), [(2, 4, 9)]),
    "max_pool3d": (lambda: nn.MaxPool3d(2), [(1, 2, 5, 6, 7)]),
    "avg_pool2d.ceil": (lambda: nn.AvgPool2d(3, 2, 1, ceil_mode=True), PICTURE),
    "avg_pool2d.exclude": (lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False), PICTURE),
    "avg_pool2d.divisor": (lambda: nn.AvgPool2d(3, 2, divisor_override=5), PICTURE),
    "adaptive_avg_pool2d": (lambda: nn.AdaptiveAvgPool2d((4, 5)), PICTURE),
    "adaptive_avg_pool2d.one": (lambda: nn.AdaptiveAvgPool2d(1), PICTURE),
    "adaptive_max_pool2d": (lambda: nn.AdaptiveMaxPool2d((3, 11)), PICTURE),
    "batch_norm1d": (lambda: nn.BatchNorm1d(4), [(5, 4)]),
    "batch_norm2d": (lambda: nn.BatchNorm2d(4), PICTURE),
    "batch_norm2d.plain": (lambda: nn.BatchNorm2d(4, affine=False), PICTURE),
    "batch_norm2d.own": (lambda: nn.BatchNorm2d(4, track_running_stats=False), PICTURE),
    "instance_norm2d": (lambda: nn.InstanceNorm2d(4, affine=True), PICTURE),
    "group_norm": (lambda: nn.GroupNorm(2, 4), PICTURE),
    "layer_norm": (lambda: nn.LayerNorm((5, 6)), SEQUENCE),
    "layer_norm.plain": (lambda: nn.LayerNorm(6, elementwise_affine=False), SEQUENCE),
    "rms_norm": (lambda: nn.RMSNorm(6), SEQUENCE),
    "local_response_norm": (lambda: nn.LocalResponseNorm(3), PICTURE),
    "linear": (lambda: nn.Linear(6, 7), SEQUENCE),
    "linear.no_bias": (lambda: nn.Linear(6, 7, bias=False), SEQUENCE),
    "bilinear": (lambda: nn.Bilinear(3, 4, 5), [(6, 3), (6, 4)]),
    "embedding": (lambda: nn.Embedding(10, 4, padding_idx=2), [torch.tensor([[1, 2], [9, 0]])]),
    "lstm": (lambda: nn.LSTM(6, 4), SEQUENCE),
    "lstm.deep": (lambda: nn.LSTM(6, 4, 2, bidirectional=True, batch_first=True), SEQUENCE),
    "lstm.no_bias": (lambda: nn.LSTM(6, 4, bias=False), SEQUENCE),
    "gru": (lambda: nn.GRU(6, 4), SEQUENCE),
    "gru.deep": (lambda: nn.GRU(6, 4, 2, bidirectional=True, batch_first=True, dropout=0.5), SEQUENCE),
    "rnn": (lambda: nn.RNN(6, 4), SEQUENCE),
    "rnn.relu": (lambda: nn.RNN(6, 4, nonlinearity="relu", bidirectional=True), SEQUENCE),
    "lstm_cell": (lambda: nn.LSTMCell(6, 4), [(3, 6)]),
    "gru_cell": (lambda: nn.GRUCell(6, 4), [(3, 6)]),
    "rnn_cell": (lambda: nn.RNNCell(6, 4), [(3, 6)]),
    "attention": (lambda: Applied(nn.functional.scaled_dot_product_attention), [(2, 3, 5, 4)] * 3),
    "multihead_attention": (lambda: Applied(nn.MultiheadAttention(6, 2, batch_first=True)), [(3, 5, 6)] * 3),
    "transformer_encoder": (lambda: nn.TransformerEncoderLayer(6, 2, 12, batch_first=True), SEQUENCE),
    "transformer_decoder": (lambda: nn.TransformerDecoderLayer(6, 2, 12, norm_first=True), [(3, 5, 6)] * 2),
    "transformer": (lambda: nn.Transformer(6, 2, 1, 1, 12), [(3, 5, 6)] * 2),
    "upsample.nearest": (lambda: nn.Upsample(scale_factor=2), PICTURE),
    "upsample.nearest_odd": (lambda: nn.Upsample(size=(31, 17)), PICTURE),
    "upsample.bilinear": (lambda: nn.Upsample(scale_factor=1.7, mode="bilinear"), PICTURE),
    "upsample.corners": (lambda: nn.Upsample(size=(5, 20), mode="bilinear", align_corners=True), PICTURE),
    "upsample.bicubic": (lambda: nn.Upsample(scale_factor=2, mode="bicubic"), PICTURE),
    "pixel_shuffle": (lambda: nn.PixelShuffle(2), PICTURE),
    "residual": (Residual, PICTURE),
    "dropout": (lambda: nn.Sequential(nn.Dropout(), nn.Dropout2d(), nn.AlphaDropout()), PICTURE),
    "activations": (
        lambda: nn.Sequential(nn.ELU(0.5), nn.SiLU(), nn.Hardswish(), nn.PReLU(4), nn.GELU("tanh"), nn.Mish()), PICTURE,
    ),
    "written_in_place": (lambda: Applied(_written), [(2, 3, 4)]),
    "cond": (lambda: Applied(_chosen), [(2, 3)]),
    "mask": (lambda: Applied(lambda x: x.masked_fill(torch.ones(4, 4).triu(1).bool(), -1.0)), [(4, 4)]),
    "shapes": (lambda: Applied(lambda x: x.reshape(x.shape[0], -1)[:, 1:-1].unflatten(1, (-1, 2))), [(2, 3, 4)]),
}  # fmt: skip
