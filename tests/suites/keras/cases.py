"""The cases: of both packages, of Keras 3 alone, and of Keras 2 alone.

A case is a network over inputs of given shapes: a function of the package (keras or tf_keras) and the input tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Shape = tuple[int, ...]
Network = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Case:
    """A network `network(package.layers, *tensors)`, or a whole model `model(package)`. Inputs of `integers` are below
    that number. An architecture takes pictures: its normalisation gets their statistics, and what it computes in
    float64 is written, too."""

    shapes: tuple[Shape, ...]
    network: Network | None = None
    model: Callable[[Any], Any] | None = None
    integers: int = 0
    is_randomised: bool = True
    is_architecture: bool = False
    low: float = -1.5
    high: float = 1.5
    options: Mapping[str, Any] = field(default_factory=dict)
    judged: Mapping[str, Any] = field(default_factory=dict)

    def build(self, package: Any) -> Any:
        if self.model is not None:
            return self.model(package)
        dtype = "int32" if self.integers else "float32"
        tensors = [package.Input(shape[1:], dtype=dtype, name=f"x{i}") for i, shape in enumerate(self.shapes)]
        assert self.network is not None
        return package.Model(tensors if len(tensors) > 1 else tensors[0], self.network(package.layers, *tensors))

    def inputs(self, random: np.random.Generator) -> list[np.ndarray[Any, Any]]:
        if self.integers:
            return [random.integers(0, self.integers, shape).astype(np.int32) for shape in self.shapes]
        return [random.uniform(self.low, self.high, shape).astype(np.float32) for shape in self.shapes]


def _one(shape: Shape, make: Network, **options: Any) -> Case:
    """One layer over one input."""
    return Case((shape,), lambda layers, x: make(layers)(x), **options)


def _several(shapes: tuple[Shape, ...], make: Network) -> Case:
    """One layer over a list of inputs."""
    return Case(shapes, lambda layers, *tensors: make(layers)(list(tensors)))


def _adapted(layer: Any, random: np.random.Generator) -> Any:
    layer.adapt(random.standard_normal((20, 7, 5)).astype(np.float32) * 2 + 1)
    return layer


def _sequential(package: Any) -> Any:
    L = package.layers
    return package.Sequential(
        [L.Input((9, 10, 4)), L.Conv2D(4, 3), L.BatchNormalization(), L.ReLU(), L.Flatten(), L.Dense(3)]
    )


def _nested(package: Any) -> Any:
    L = package.layers
    inner = package.Sequential([L.Input((9, 10, 4)), L.Conv2D(4, 3), L.BatchNormalization()], name="inner")
    model = package.Sequential([inner, L.GlobalAveragePooling2D(), L.Dense(3)])
    model.build((None, 9, 10, 4))
    return model


def _shared(L: Any, a: Any, b: Any) -> Any:
    layer, other = L.Dense(6), L.Dense(6)
    return L.Concatenate()([layer(a), other(layer(b)), layer(layer(a))])


def _shared_network(package: Any) -> Any:
    L = package.layers
    x = package.Input((6,))
    body = package.Model(x, [L.Dense(4, name="one")(x), L.Dense(3, name="two")(x)], name="body")
    a, b = package.Input((6,), name="a"), package.Input((6,), name="b")
    (one, two), (three, four) = body(a), body(b)
    return package.Model([a, b], [L.Add()([one, three]), L.Concatenate()([two, four])])


def _frozen(package: Any) -> Any:
    L = package.layers
    inner = package.Sequential(
        [L.Input((9, 10, 4)), L.Conv2D(4, 3), L.BatchNormalization(), L.Conv2D(4, 3), L.BatchNormalization()],
        name="inner",
    )
    inner.layers[1].trainable = False
    inner.layers[2].trainable = False
    x = package.Input((9, 10, 4))
    return package.Model(x, L.Dense(2)(L.Flatten()(inner(x))))


def _distributed_network(package: Any) -> Any:
    L = package.layers
    inner = package.Sequential([L.Input((5,)), L.Dense(4, activation="tanh"), L.BatchNormalization()], name="inner")
    x = package.Input((7, 5))
    return package.Model(x, L.TimeDistributed(inner)(x))


def _keras_ops(function: Network, *shapes: Shape) -> Case:
    def build(package: Any) -> Any:
        tensors = [package.Input(shape[1:], name=f"x{i}") for i, shape in enumerate(shapes)]
        return package.Model(tensors, function(package.ops, *tensors))

    return Case(shapes, model=build)


LINE, PICTURE, VOLUME = (2, 11, 4), (2, 9, 10, 4), (1, 6, 7, 5, 3)
ROW, SEQUENCE = (3, 6), (2, 7, 5)

BOTH: dict[str, Case] = {
    "dense": _one(ROW, lambda L: L.Dense(5, activation="relu")),
    "dense-3d": _one(SEQUENCE, lambda L: L.Dense(4)),
    "dense-no-bias": _one(ROW, lambda L: L.Dense(5, use_bias=False)),
    "dense-softmax": _one(ROW, lambda L: L.Dense(5, activation="softmax")),
    "embedding": _one((2, 7), lambda L: L.Embedding(9, 5), integers=9),
    "einsum-dense": _one(SEQUENCE, lambda L: L.EinsumDense("abc,cde->abde", output_shape=(None, 3, 4), bias_axes="de")),
    "einsum-dense-ellipsis": _one(
        SEQUENCE, lambda L: L.EinsumDense("...x,xy->...y", output_shape=4, activation="tanh")
    ),
}
for _name in (
    "elu", "exponential", "gelu", "hard_sigmoid", "linear", "mish", "relu", "selu", "sigmoid", "softmax", "softplus",
    "softsign", "swish", "tanh", "leaky_relu", "relu6",
):  # fmt: skip
    BOTH[f"activation-{_name}"] = _one(SEQUENCE, lambda L, name=_name: L.Activation(name), low=-4, high=4)
BOTH |= {
    "relu-max": _one(ROW, lambda L: L.ReLU(max_value=1.0), low=-3, high=3),
    "relu-slope": _one(ROW, lambda L: L.ReLU(negative_slope=0.2), low=-3, high=3),
    "relu-threshold": _one(ROW, lambda L: L.ReLU(threshold=0.5), low=-3, high=3),
    "relu-all": _one(ROW, lambda L: L.ReLU(max_value=1.5, negative_slope=0.1, threshold=0.4), low=-3, high=3),
    "leaky-relu": _one(ROW, lambda L: L.LeakyReLU(), low=-3, high=3),
    "elu-layer": _one(ROW, lambda L: L.ELU(alpha=0.7), low=-3, high=3),
    "prelu": _one(PICTURE, lambda L: L.PReLU(), low=-3, high=3),
    "prelu-shared": _one(PICTURE, lambda L: L.PReLU(shared_axes=[1, 2]), low=-3, high=3),
    "softmax-axis": _one(PICTURE, lambda L: L.Softmax(axis=1)),
    "softmax-axes": _one(PICTURE, lambda L: L.Softmax(axis=[1, 2])),
}
for _rank, _shape in ((1, LINE), (2, PICTURE), (3, VOLUME)):
    _conv = f"Conv{_rank}D"
    for _label, _options in {
        "valid": {},
        "same": {"padding": "same"},
        "same-even": {"padding": "same", "kernel_size": 4},
        "strides": {"strides": 2, "padding": "same"},
        "strides-valid": {"strides": 2, "activation": "relu"},
        "dilated": {"dilation_rate": 2, "padding": "same"},
        "no-bias": {"use_bias": False},
        "softmax": {"activation": "softmax"},
    }.items():
        _settings = {"filters": 5, "kernel_size": 3, **_options}
        BOTH[f"conv{_rank}d-{_label}"] = _one(_shape, lambda L, c=_conv, s=_settings: getattr(L, c)(**s))
    for _label, _options in {
        "valid": {},
        "same": {"padding": "same", "strides": 2},
        "same-even": {"padding": "same", "strides": 2, "kernel_size": 4},
        "strides": {"strides": 3, "kernel_size": 2},
        "wide-strides": {"strides": 2, "kernel_size": 5, "activation": "tanh"},
        "output-padding": {"strides": 2, "padding": "same", "output_padding": 1},
        "output-padding-valid": {"strides": 3, "output_padding": 2, "use_bias": False},
    }.items():
        _settings = {"filters": 5, "kernel_size": 3, **_options}
        BOTH[f"conv{_rank}d-transpose-{_label}"] = _one(
            _shape, lambda L, c=f"{_conv}Transpose", s=_settings: getattr(L, c)(**s)
        )
    for _kind in ("Average", "Max"):
        for _label, _options in {
            "valid": {"pool_size": 2},
            "same": {"pool_size": 2, "padding": "same"},
            "strides": {"pool_size": 3, "strides": 2, "padding": "same"},
            "strides-valid": {"pool_size": 3, "strides": 1},
        }.items():
            BOTH[f"{_kind.lower()}-pooling{_rank}d-{_label}"] = _one(
                _shape, lambda L, c=f"{_kind}Pooling{_rank}D", s=_options: getattr(L, c)(**s)
            )
        for _keepdims in (False, True):
            BOTH[f"global-{_kind.lower()}-pooling{_rank}d{'-keepdims' * _keepdims}"] = _one(
                _shape, lambda L, c=f"Global{_kind}Pooling{_rank}D", k=_keepdims: getattr(L, c)(keepdims=k)
            )
    BOTH |= {
        f"cropping{_rank}d": _one(_shape, lambda L, r=_rank: getattr(L, f"Cropping{r}D")(1)),
        f"zero-padding{_rank}d": _one(_shape, lambda L, r=_rank: getattr(L, f"ZeroPadding{r}D")(2)),
        f"up-sampling{_rank}d": _one(_shape, lambda L, r=_rank: getattr(L, f"UpSampling{r}D")(3)),
        f"batch-normalization{_rank}d": _one(_shape, lambda L: L.BatchNormalization(epsilon=1e-2)),
    }
BOTH |= {
    "conv1d-causal": _one(LINE, lambda L: L.Conv1D(5, 3, padding="causal", dilation_rate=2)),
    "conv1d-groups": _one(LINE, lambda L: L.Conv1D(6, 3, groups=2)),
    "conv2d-groups": _one(PICTURE, lambda L: L.Conv2D(6, 3, groups=2, padding="same")),
    "conv2d-mixed": _one(PICTURE, lambda L: L.Conv2D(3, (2, 5), strides=(3, 1), padding="same", activation="elu")),
    "conv2d-transpose-dilated": _one(PICTURE, lambda L: L.Conv2DTranspose(3, 3, dilation_rate=2)),
    "conv2d-transpose-dilated-same": _one(PICTURE, lambda L: L.Conv2DTranspose(3, 3, dilation_rate=2, padding="same")),
    "depthwise1d": _one(LINE, lambda L: L.DepthwiseConv1D(3, padding="same", depth_multiplier=2)),
    "depthwise2d": _one(PICTURE, lambda L: L.DepthwiseConv2D(3)),
    "depthwise2d-multiplier": _one(PICTURE, lambda L: L.DepthwiseConv2D(3, 2, "same", 3, activation="relu")),
    "depthwise2d-dilated": _one(PICTURE, lambda L: L.DepthwiseConv2D(3, dilation_rate=2, padding="same")),
    "separable1d": _one(LINE, lambda L: L.SeparableConv1D(5, 3, padding="same", strides=2)),
    "separable2d": _one(PICTURE, lambda L: L.SeparableConv2D(5, 3)),
    "separable2d-multiplier": _one(PICTURE, lambda L: L.SeparableConv2D(5, 3, 2, "same", depth_multiplier=2)),
    "separable2d-dilated": _one(PICTURE, lambda L: L.SeparableConv2D(5, 3, dilation_rate=2, use_bias=False)),
    "cropping2d-sides": _one(PICTURE, lambda L: L.Cropping2D(((1, 2), (0, 3)))),
    "zero-padding1d-sides": _one(LINE, lambda L: L.ZeroPadding1D((1, 3))),
    "zero-padding2d-sides": _one(PICTURE, lambda L: L.ZeroPadding2D(((1, 0), (2, 3)))),
    "up-sampling2d-bilinear": _one(PICTURE, lambda L: L.UpSampling2D((2, 3), interpolation="bilinear")),
    "flatten": _one(PICTURE, lambda L: L.Flatten()),
    "flatten-channels-first": _one(PICTURE, lambda L: L.Flatten(data_format="channels_first")),
    "permute": _one(PICTURE, lambda L: L.Permute((3, 1, 2))),
    "repeat-vector": _one(ROW, lambda L: L.RepeatVector(4)),
    "reshape": _one(PICTURE, lambda L: L.Reshape((-1, 8))),
    "reshape-known": _one(ROW, lambda L: L.Reshape((2, 3, 1))),
    "batch-normalization-axis": _one(PICTURE, lambda L: L.BatchNormalization(axis=1)),
    "batch-normalization-bare": _one(PICTURE, lambda L: L.BatchNormalization(center=False, scale=False)),
    "batch-normalization-row": _one(ROW, lambda L: L.BatchNormalization(scale=False)),
    "batch-normalization-training": Case((ROW,), lambda L, x: L.BatchNormalization()(x, training=True)),  # refused
    "layer-normalization": _one(SEQUENCE, lambda L: L.LayerNormalization()),
    "layer-normalization-axes": _one(PICTURE, lambda L: L.LayerNormalization(axis=[2, 3])),
    "layer-normalization-inner": _one(PICTURE, lambda L: L.LayerNormalization(axis=1, epsilon=1e-5)),
    "layer-normalization-bare": _one(SEQUENCE, lambda L: L.LayerNormalization(center=False, scale=False)),
    "group-normalization": _one(PICTURE, lambda L: L.GroupNormalization(2)),
    "group-normalization-axis": _one((2, 6, 5, 4), lambda L: L.GroupNormalization(3, axis=1)),
    "group-normalization-instance": _one(PICTURE, lambda L: L.GroupNormalization(-1)),
    "unit-normalization": _one(PICTURE, lambda L: L.UnitNormalization()),
    "unit-normalization-axes": _one(PICTURE, lambda L: L.UnitNormalization(axis=[1, 2])),
    "dropout-training": Case((ROW,), lambda L, x: L.Dropout(0.5)(x, training=True)),  # refused
    "dropouts": Case(
        (LINE,), lambda L, x: L.GaussianDropout(0.2)(L.GaussianNoise(0.1)(L.SpatialDropout1D(0.2)(L.Dropout(0.5)(x))))
    ),
    "activity-regularization": _one(ROW, lambda L: L.ActivityRegularization(0.1)),
    "rescaling": _one(PICTURE, lambda L: L.Rescaling(2 / 255, offset=-1)),
    "center-crop": _one(PICTURE, lambda L: L.CenterCrop(4, 5)),
    "resizing": _one(PICTURE, lambda L: L.Resizing(13, 7)),
    "resizing-cropped": _one(PICTURE, lambda L: L.Resizing(13, 7, crop_to_aspect_ratio=True)),
    "resizing-nearest": _one(PICTURE, lambda L: L.Resizing(13, 7, interpolation="nearest")),
    "normalization": _one(SEQUENCE, lambda L: L.Normalization(mean=[1.0, 2, 3, 4, 5], variance=[1.0, 2, 3, 1, 2])),
    "normalization-scalar": _one(SEQUENCE, lambda L: L.Normalization(axis=None, mean=0.5, variance=2.0)),
    "normalization-invert": _one(SEQUENCE, lambda L: L.Normalization(axis=None, mean=0.5, variance=2.0, invert=True)),
    "normalization-adapted": Case(
        (SEQUENCE,), lambda L, x: _adapted(L.Normalization(), np.random.default_rng(1))(x), is_randomised=False
    ),
    "category-encoding-multi-hot": _one((3, 4), lambda L: L.CategoryEncoding(6, "multi_hot"), integers=6),
    "category-encoding-count": _one((3, 4), lambda L: L.CategoryEncoding(6, "count"), integers=6),
    "category-encoding-one-hot": _one((3, 1), lambda L: L.CategoryEncoding(6, "one_hot"), integers=6),
    "random-layers": Case((PICTURE,), lambda L, x: L.RandomZoom(0.2)(L.RandomRotation(0.1)(L.RandomFlip()(x)))),
    "concatenate": _several((PICTURE, PICTURE), lambda L: L.Concatenate()),
    "concatenate-axis": _several((PICTURE, (2, 4, 10, 4)), lambda L: L.Concatenate(axis=1)),
    "add-broadcast": _several((PICTURE, (2, 1, 1, 4)), lambda L: L.Add()),
    "multiply-ranks": _several((PICTURE, (2, 4)), lambda L: L.Multiply()),
    "subtract": _several((PICTURE, PICTURE), lambda L: L.Subtract()),
    "dot": _several((ROW, ROW), lambda L: L.Dot(1)),
    "dot-normalized": _several((ROW, ROW), lambda L: L.Dot(axes=-1, normalize=True)),
    "dot-matrices": _several(((2, 4, 5), (2, 5, 3)), lambda L: L.Dot((2, 1))),
    "dot-last": _several(((2, 4, 5), (2, 3, 5)), lambda L: L.Dot(-1)),
    "dot-row": _several(((2, 4, 5), (2, 5)), lambda L: L.Dot((2, 1))),
    "dot-wide": _several(((2, 3, 4, 5), (2, 5, 6)), lambda L: L.Dot((3, 1))),
}
for _kind in ("Add", "Average", "Maximum", "Minimum", "Multiply"):
    BOTH[f"{_kind.lower()}-three"] = _several((ROW, ROW, ROW), lambda L, c=_kind: getattr(L, c)())


for _kind in ("LSTM", "GRU", "SimpleRNN"):
    _key = _kind.lower()
    for _label, _options in {
        "last": {},
        "sequences": {"return_sequences": True},
        "states": {"return_sequences": True, "return_state": True},
        "backwards": {"go_backwards": True, "return_sequences": True},
        "no-bias": {"use_bias": False},
        "relu": {"activation": "relu"},
    }.items():
        BOTH[f"{_key}-{_label}"] = _one(SEQUENCE, lambda L, c=_kind, s=_options: getattr(L, c)(6, **s))
    for _mode in ("concat", "sum", "mul", "ave", None):
        BOTH[f"bidirectional-{_key}-{_mode or 'none'}"] = _one(
            SEQUENCE,
            lambda L, c=_kind, m=_mode: L.Bidirectional(getattr(L, c)(4, return_sequences=True), merge_mode=m),
        )
    BOTH |= {
        f"bidirectional-{_key}-last": _one(SEQUENCE, lambda L, c=_kind: L.Bidirectional(getattr(L, c)(4))),
        f"bidirectional-{_key}-states": _one(
            SEQUENCE, lambda L, c=_kind: L.Bidirectional(getattr(L, c)(4, return_state=True))
        ),
        f"{_key}-cell": _one(SEQUENCE, lambda L, c=_kind: L.RNN(getattr(L, f"{c}Cell")(5), return_sequences=True)),
        f"{_key}-masked": Case(
            ((2, 7),),
            lambda L, x, c=_kind: getattr(L, c)(4, return_sequences=True)(L.Embedding(4, 5, mask_zero=True)(x)),
            integers=4,
        ),
        f"{_key}-masked-last": Case(
            ((2, 7),), lambda L, x, c=_kind: getattr(L, c)(4)(L.Embedding(3, 5, mask_zero=True)(x)), integers=3
        ),
        f"bidirectional-{_key}-masked": Case(
            ((2, 7),),
            lambda L, x, c=_kind: L.Bidirectional(getattr(L, c)(4, return_sequences=True))(
                L.Embedding(3, 5, mask_zero=True)(x)
            ),
            integers=3,
        ),
    }
BOTH |= {
    "lstm-initial-masked": Case(
        ((2, 7), (2, 6)),
        lambda L, x, y: L.LSTM(4, return_sequences=True)(
            L.Embedding(3, 5, mask_zero=True)(y),
            initial_state=L.LSTM(4, return_state=True)(L.Embedding(3, 5, mask_zero=True)(x))[1:],
        ),
        integers=3,
    ),
    "lstm-initial": Case((SEQUENCE, (2, 4), (2, 4)), lambda L, x, h, c: L.LSTM(4)(x, initial_state=[h, c])),
    "gru-initial": Case((SEQUENCE, (2, 4)), lambda L, x, h: L.GRU(4, return_sequences=True)(x, initial_state=h)),
    "lstm-sigmoid": _one(SEQUENCE, lambda L: L.LSTM(4, activation="softsign", recurrent_activation="hard_sigmoid")),
    "lstm-gelu": _one(SEQUENCE, lambda L: L.LSTM(4, activation="selu")),
    "gru-before": _one(SEQUENCE, lambda L: L.GRU(4, reset_after=False, return_sequences=True)),
    "gru-before-masked": Case(
        ((2, 7),), lambda L, x: L.GRU(4, reset_after=False)(L.Embedding(3, 5, mask_zero=True)(x)), integers=3
    ),
    "masking": Case((SEQUENCE,), lambda L, x: L.LSTM(4)(L.Masking(0.0)(L.ReLU(threshold=1.2)(x)))),
    "masked-average": Case(
        ((2, 7),), lambda L, x: L.GlobalAveragePooling1D()(L.Embedding(3, 5, mask_zero=True)(x)), integers=3
    ),
    "masked-through": Case(
        ((2, 7),),
        lambda L, x: L.LSTM(3)(
            L.Dropout(0.1)(L.Dense(4)(L.LSTM(4, return_sequences=True)(L.Embedding(3, 5, mask_zero=True)(x))))
        ),
        integers=3,
    ),
    "stacked-cells": _one(SEQUENCE, lambda L: L.RNN([L.LSTMCell(4), L.GRUCell(3)], return_sequences=True)),
    "stacked-cells-backwards": _one(SEQUENCE, lambda L: L.RNN([L.GRUCell(4), L.SimpleRNNCell(3)], go_backwards=True)),
    "encoder-decoder": Case(
        (SEQUENCE, (2, 3, 5)),
        lambda L, x, y: L.LSTM(4, return_sequences=True)(y, initial_state=L.LSTM(4, return_state=True)(x)[1:]),
    ),
    "time-distributed": _one(SEQUENCE, lambda L: L.TimeDistributed(L.Dense(3, activation="relu"))),
    "time-distributed-conv": _one((2, 3, 8, 8, 2), lambda L: L.TimeDistributed(L.Conv2D(4, 3))),
    "time-distributed-flatten": _one((2, 3, 4, 4, 2), lambda L: L.TimeDistributed(L.Flatten())),
    "conv-lstm2d": _one((2, 4, 6, 6, 3), lambda L: L.ConvLSTM2D(4, 3)),
    "conv-lstm2d-same": _one((2, 4, 6, 6, 3), lambda L: L.ConvLSTM2D(4, 3, padding="same", return_sequences=True)),
    "conv-lstm2d-states": _one((1, 4, 7, 6, 3), lambda L: L.ConvLSTM2D(4, 3, strides=2, return_state=True)),
    "conv-lstm1d": _one((2, 4, 8, 3), lambda L: L.ConvLSTM1D(4, 3, padding="same", go_backwards=True)),
    "attention": _several((SEQUENCE, (2, 4, 5)), lambda L: L.Attention()),
    "attention-scale": _several((SEQUENCE, (2, 4, 5), (2, 4, 5)), lambda L: L.Attention(use_scale=True)),
    "attention-concat": _several((SEQUENCE, (2, 4, 5)), lambda L: L.Attention(score_mode="concat")),
    "attention-causal": Case((SEQUENCE, SEQUENCE), lambda L, q, v: L.Attention()([q, v], use_causal_mask=True)),
    "attention-scores": Case((SEQUENCE, SEQUENCE), lambda L, q, v: L.Attention()([q, v], return_attention_scores=True)),
    "attention-masked": Case(
        ((2, 6), (2, 6)),
        lambda L, q, v: L.Attention()([L.Embedding(3, 5, mask_zero=True)(q), L.Embedding(3, 5, mask_zero=True)(v)]),
        integers=3,
    ),
    "additive-attention": _several((SEQUENCE, (2, 4, 5)), lambda L: L.AdditiveAttention()),
    "additive-attention-bare": _several((SEQUENCE, (2, 4, 5)), lambda L: L.AdditiveAttention(use_scale=False)),
    "multi-head": Case((SEQUENCE,), lambda L, x: L.MultiHeadAttention(2, 3)(x, x)),
    "multi-head-cross": Case((SEQUENCE, (2, 4, 6)), lambda L, q, v: L.MultiHeadAttention(2, 3, value_dim=4)(q, v)),
    "multi-head-scores": Case(
        (SEQUENCE,), lambda L, x: L.MultiHeadAttention(2, 3, use_bias=False)(x, x, return_attention_scores=True)
    ),
    "multi-head-causal": Case((SEQUENCE,), lambda L, x: L.MultiHeadAttention(2, 3)(x, x, use_causal_mask=True)),
    "multi-head-mask": Case(
        (SEQUENCE, (2, 7, 7)), lambda L, x, m: L.MultiHeadAttention(2, 3)(x, x, attention_mask=L.ReLU()(m))
    ),
    "multi-head-output": Case((SEQUENCE,), lambda L, x: L.MultiHeadAttention(2, 3, output_shape=7)(x, x)),
    "multi-head-axes": Case(((2, 3, 4, 5),), lambda L, x: L.MultiHeadAttention(2, 3, attention_axes=(1, 2))(x, x)),
    "multi-head-key": Case(
        (SEQUENCE, (2, 4, 6), (2, 4, 3)), lambda L, q, v, k: L.MultiHeadAttention(2, 3)(q, v, key=k)
    ),
    "spectral-normalization": _one(PICTURE, lambda L: L.SpectralNormalization(L.Conv2D(3, 3))),
    "sequential": Case((PICTURE,), model=_sequential),
    "sequential-nested": Case((PICTURE,), model=_nested),
    "shared": Case((ROW, ROW), _shared),
    "shared-network": Case((ROW, ROW), model=_shared_network),
    "several-outputs": Case((ROW,), lambda L, x: [L.Dense(3, name="b")(x), L.Dense(2, name="a")(x), L.ReLU()(x)]),
    "frozen-network": Case((PICTURE,), model=_frozen),
    "time-distributed-network": Case((SEQUENCE,), model=_distributed_network),
}


NEW: dict[str, Case] = {
    "rms-normalization": _one(SEQUENCE, lambda L: L.RMSNormalization()),
    "layer-normalization-rms": _one(SEQUENCE, lambda L: L.LayerNormalization(rms_scaling=True)),
    "group-query": Case((SEQUENCE,), lambda L, x: L.GroupQueryAttention(6, 4, 2)(x, x)),
    "group-query-scores": Case(
        (SEQUENCE, (2, 4, 5)), lambda L, q, v: L.GroupQueryAttention(3, 4, 1)(q, v, return_attention_scores=True)
    ),
    "multi-head-4d": Case(((2, 3, 4, 5),), lambda L, x: L.MultiHeadAttention(2, 3, attention_axes=(2,))(x, x)),
    "pipeline": Case((ROW,), lambda L, x: L.Identity()(L.AlphaDropout(0.2)(x))),
}
for _name in (
    "celu", "glu", "hard_shrink", "hard_silu", "hard_tanh", "log_sigmoid", "log_softmax", "silu", "soft_shrink",
    "sparse_plus", "sparse_sigmoid", "squareplus", "tanh_shrink",
):  # fmt: skip
    if _name != "glu":
        NEW[f"activation-{_name}"] = _one(SEQUENCE, lambda L, name=_name: L.Activation(name), low=-4, high=4)
for _rank, _shape in ((1, LINE), (2, PICTURE), (3, VOLUME)):
    for _kind in ("Average", "Max"):
        for _size in (2, 3, 4):  # TensorFlow ends the process for adaptive maxima of one place
            NEW[f"adaptive-{_kind.lower()}-pooling{_rank}d-{_size}"] = _one(
                _shape, lambda L, c=f"Adaptive{_kind}Pooling{_rank}D", s=_size: getattr(L, c)(s)
            )


for _name in (
    "abs", "arctan", "ceil", "cos", "cosh", "erf", "exp", "floor", "leaky_relu", "negative", "relu", "round", "sigmoid",
    "sign", "sin", "sinh", "softmax", "square", "tan", "tanh", "reciprocal", "gelu", "silu", "expm1",
    "hard_sigmoid", "relu6", "elu", "selu", "softplus", "softsign", "log_sigmoid", "logical_not", "isnan", "hard_silu",
):  # fmt: skip
    NEW[f"ops-{_name.replace('_', '-')}"] = _keras_ops(
        lambda ops, x, n=_name: getattr(ops, n)(ops.abs(x) + 0.1 if n in {"log1p", "rsqrt", "sqrt"} else x), ROW
    )
for _name in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "arctan2", "floor_divide", "mod",
              "equal", "not_equal", "greater", "greater_equal", "less", "less_equal", "matmul"):  # fmt: skip
    NEW[f"ops-{_name.replace('_', '-')}"] = _keras_ops(
        lambda ops, x, y, n=_name: getattr(ops, n)(ops.abs(x) + 0.5, ops.abs(y) + 0.5), (3, 3), (3, 3)
    )
for _name in ("sum", "mean", "max", "min", "prod", "var", "std", "logsumexp", "argmax", "argmin", "any", "all"):
    NEW[f"ops-{_name}"] = _keras_ops(lambda ops, x, n=_name: getattr(ops, n)(x, axis=1), PICTURE)
    if _name not in {"argmax", "argmin"}:
        NEW[f"ops-{_name}-keepdims"] = _keras_ops(
            lambda ops, x, n=_name: getattr(ops, n)(x, axis=(1, 2), keepdims=True), PICTURE
        )
for _name in ("log1p", "log", "rsqrt", "sqrt"):
    NEW[f"ops-{_name}"] = _keras_ops(lambda ops, x, n=_name: getattr(ops, n)(ops.abs(x) + 0.1), ROW)
NEW |= {
    "ops-scalars": _keras_ops(lambda ops, x: (2.0 - x) * 3 / 4 + x**2, ROW),
    "ops-reshape": _keras_ops(lambda ops, x: ops.reshape(x, (-1, 40)), PICTURE),
    "ops-transpose": _keras_ops(lambda ops, x: ops.transpose(x, (0, 3, 1, 2)), PICTURE),
    "ops-concatenate": _keras_ops(lambda ops, x, y: ops.concatenate([x, y], axis=-1), ROW, ROW),
    "ops-stack": _keras_ops(lambda ops, x, y: ops.stack([x, y], axis=1), ROW, ROW),
    "ops-split": _keras_ops(lambda ops, x: ops.split(x, 3, axis=1), ROW),
    "ops-slices": _keras_ops(lambda ops, x: x[:, 1:8:2, ..., None, -1], PICTURE),
    "ops-expand": _keras_ops(lambda ops, x: ops.squeeze(ops.expand_dims(x, 1), 1), ROW),
    "ops-pad": _keras_ops(lambda ops, x: ops.pad(x, ((0, 0), (1, 2))), ROW),
    "ops-tile": _keras_ops(lambda ops, x: ops.tile(x, (1, 2)), ROW),
    "ops-repeat": _keras_ops(lambda ops, x: ops.repeat(x, 2, axis=1), ROW),
    "ops-clip": _keras_ops(lambda ops, x: ops.clip(x, -0.5, 0.7), ROW),
    "ops-where": _keras_ops(lambda ops, x, y: ops.where(x > y, x, 0.5), ROW, ROW),
    "ops-cast": _keras_ops(lambda ops, x: ops.cast(ops.cast(x * 3, "int32"), "float32"), ROW),
    "ops-einsum": _keras_ops(lambda ops, x, y: ops.einsum("bij,bkj->bik", x, y), (2, 3, 4), (2, 5, 4)),
    "ops-take": _keras_ops(lambda ops, x: ops.take(x, [2, 0], axis=1), ROW),
    "ops-flip": _keras_ops(lambda ops, x: ops.flip(x, axis=1), ROW),
    "ops-cumsum": _keras_ops(lambda ops, x: ops.cumsum(x, axis=1), ROW),
    "ops-norm": _keras_ops(lambda ops, x: ops.normalize(x, axis=-1), ROW),
    "ops-swapaxes": _keras_ops(lambda ops, x: ops.swapaxes(x, 1, 2), PICTURE),
    "ops-broadcast": _keras_ops(lambda ops, x: ops.broadcast_to(ops.expand_dims(x, 1), (3, 4, 6)), ROW),
    "ops-resize": _keras_ops(lambda ops, x: ops.image.resize(x, (5, 6)), PICTURE),
}


def _quantised(package: Any) -> Any:
    L = package.layers
    x = package.Input((7,), dtype="int32", name="x0")
    hidden = L.Dense(6, activation="relu")(L.Embedding(9, 5)(x))
    model = package.Model(x, L.Dense(3, use_bias=False)(hidden))
    random = np.random.default_rng(3)
    model.set_weights([random.standard_normal(one.shape).astype(np.float32) for one in model.get_weights()])
    model.quantize("int8")
    return model


for _name in ("log2", "log10", "isfinite", "sparse_plus", "sparse_sigmoid", "squareplus", "tanh_shrink", "hard_shrink",
              "soft_shrink", "glu"):  # fmt: skip
    NEW[f"ops-{_name.replace('_', '-')}"] = _keras_ops(
        lambda ops, x, n=_name: getattr(ops, n)(ops.abs(x) + 0.1 if n.startswith("log") else x), ROW
    )
for _name in ("amax", "amin", "average", "ptp", "count_nonzero", "sort", "argsort", "norm"):
    NEW[f"ops-{_name.replace('_', '-')}"] = _keras_ops(
        lambda ops, x, n=_name: getattr(ops, n)(ops.maximum(x, 0) if n == "count_nonzero" else x, axis=1), ROW
    )
for _mode in ("int", "one_hot", "multi_hot", "count"):
    _shape = (3, 1) if _mode == "one_hot" else ROW
    BOTH[f"discretization-{_mode.replace('_', '-')}"] = _one(
        _shape, lambda L, m=_mode: L.Discretization(bin_boundaries=[-1.0, 0.25, 0.5], output_mode=m)
    )
    BOTH[f"integer-lookup-{_mode.replace('_', '-')}"] = _one(
        _shape, lambda L, m=_mode: L.IntegerLookup(vocabulary=[7, 2, 5], output_mode=m), integers=9
    )
NEW |= {
    "random-crop": _one(PICTURE, lambda L: L.RandomCrop(5, 6)),
    "quantised": Case(((3, 7),), model=_quantised, integers=9, is_randomised=False),
    "ops-top-k": _keras_ops(lambda ops, x: list(ops.top_k(x, 2)), ROW),
    "ops-one-hot": _keras_ops(lambda ops, x: ops.one_hot(ops.cast(ops.abs(x) * 3, "int32"), 4), ROW),
    "ops-threshold": _keras_ops(lambda ops, x: ops.threshold(x, 0.2, -3.0), ROW),
    "ops-divide-no-nan": _keras_ops(lambda ops, x, y: ops.divide_no_nan(x, ops.maximum(y, 0)), ROW, ROW),
    "ops-hstack": _keras_ops(lambda ops, x, y: ops.hstack([x, y]), ROW, ROW),
    "ops-vstack": _keras_ops(lambda ops, x, y: ops.vstack([x, y]), ROW, ROW),
    "ops-moveaxis": _keras_ops(lambda ops, x: ops.moveaxis(x, (1, 3), (3, 2)), PICTURE),
    "ops-roll": _keras_ops(lambda ops, x: ops.roll(x, -2, axis=1), ROW),
    "ops-slice": _keras_ops(lambda ops, x: ops.slice(x, (0, 1), (3, 4)), ROW),
    "ops-unstack": _keras_ops(lambda ops, x: ops.unstack(x, axis=1)[1:3], ROW),
    "ops-take-along-axis": _keras_ops(lambda ops, x: ops.take_along_axis(x, ops.argsort(x, axis=1), axis=1), ROW),
    "ops-tril": _keras_ops(lambda ops, x: ops.tril(x, -1), SEQUENCE),
    "ops-triu": _keras_ops(lambda ops, x: ops.triu(x, 2), SEQUENCE),
    "ops-fliplr": _keras_ops(lambda ops, x: ops.fliplr(x), ROW),
    "ops-flipud": _keras_ops(lambda ops, x: ops.flipud(x), ROW),
    "ops-max-pool": _keras_ops(lambda ops, x: ops.max_pool(x, 2, 2, padding="same"), PICTURE),
    "ops-average-pool": _keras_ops(lambda ops, x: ops.average_pool(x, 3, 2), LINE),
    "ops-norm-one": _keras_ops(lambda ops, x: ops.norm(x, ord=1, axis=-1, keepdims=True), PICTURE),
    "ops-norm-all": _keras_ops(lambda ops, x: ops.norm(x, axis=(1, 2)), PICTURE),
    "ops-dot": _keras_ops(lambda ops, x, y: ops.dot(x, ops.transpose(y)), ROW, ROW),
    "ops-tensordot": _keras_ops(lambda ops, x, y: ops.tensordot(x, y, axes=[[2], [1]]), (2, 3, 4), (2, 4)),
    "ops-tensordot-number": _keras_ops(lambda ops, x, y: ops.tensordot(x, ops.transpose(y), axes=1), (2, 3, 4), (2, 4)),
    "ops-dot-product-attention": _keras_ops(
        lambda ops, q, k: ops.dot_product_attention(q, k, k, is_causal=True), (2, 5, 4, 3), (2, 5, 2, 3)
    ),
    "ops-dot-product-attention-mask": _keras_ops(
        lambda ops, q, k, m: ops.dot_product_attention(q, k, k, mask=m > 0, scale=0.3),
        (2, 4, 2, 3), (2, 5, 2, 3), (2, 2, 4, 5),
    ),
}  # fmt: skip
OLD: dict[str, Case] = {
    "thresholded-relu": _one(ROW, lambda L: L.ThresholdedReLU(0.6)),
    "locally-connected1d": _one(LINE, lambda L: L.LocallyConnected1D(3, 3, strides=2)),
    "locally-connected2d": _one(PICTURE, lambda L: L.LocallyConnected2D(3, (3, 2), activation="relu")),
    "tf-arithmetic": Case((ROW,), lambda L, x: (2.0 - x) * 3 / 4 + x),
    "tf-slices": Case((PICTURE,), lambda L, x: x[:, 1:8:2, :, -1]),
}
for _name in ("LSTM", "GRU"):
    OLD[f"{_name.lower()}-hard"] = _one(
        SEQUENCE, lambda L, c=_name: getattr(L, c)(4, recurrent_activation="hard_sigmoid")
    )
