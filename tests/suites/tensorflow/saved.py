"""SavedModels: modules with a method `call` of named tensors, and Keras models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from graphs import real

Layers = tf.keras.layers


class Dense(tf.Module):
    """Two layers with variables."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = tf.Variable(real(7, 5), name="weight")
        self.bias = tf.Variable(real(5), name="bias")

    def call(self, x: Any) -> Any:
        return {"scores": tf.nn.softmax(tf.matmul(x, self.weight) + self.bias), "hidden": tf.matmul(x, self.weight)}


class Embedding(tf.Module):
    """A table of rows."""

    def __init__(self) -> None:
        super().__init__()
        self.table = tf.Variable(real(10, 4))

    def call(self, places: Any) -> Any:
        return tf.gather(self.table, places)


class Nested(tf.Module):
    """Functions that call functions, with variables and a loop."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Dense(), tf.Variable(real(5, 5))

    @tf.function
    def inner(self, x: Any) -> Any:
        return tf.nn.relu(tf.matmul(x, self.second))

    def call(self, x: Any) -> Any:
        y = self.first.call(x)["hidden"]
        for _ in tf.range(3):
            y = self.inner(y)
        return {"y": self.inner(y)}


class Branch(tf.Module):
    """A choice between variables."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = tf.Variable(real(7)), tf.Variable(real(7))

    def call(self, x: Any) -> Any:
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: x + self.one, lambda: x * self.other)


class TwoInputs(tf.Module):
    def call(self, left: Any, right: Any) -> Any:
        return left + 2.0 * right


MODULES: dict[str, tuple[Any, ...]] = {
    "dense": (Dense, {"x": real(3, 7)}),
    "embedding": (Embedding, {"places": np.array([[1, 9], [0, 4]], "i")}),
    "nested": (Nested, {"x": real(3, 7, low=-0.3, high=0.3)}),
    "branch": (Branch, {"x": real(3, 7)}),
    "inputs": (TwoInputs, {"left": real(2, 3), "right": real(2, 3)}),
}


def network(*layers: Any, shape: tuple[int, ...]) -> Callable[[], Any]:
    """A sequence of layers over inputs of this shape; layers are made when the network is."""
    return lambda: tf.keras.Sequential([tf.keras.Input(shape), *(make() for make in layers)])


PICTURE, SERIES = (9, 11, 4), (6, 5)
LAYERS: dict[str, tuple[Any, ...]] = {
    "dense": (network(lambda: Layers.Dense(5, "relu"), lambda: Layers.Dense(3, "softmax"), shape=(7,)), real(2, 7)),
    "conv": (
        network(
            lambda: Layers.Conv2D(8, 3, 2, "same", activation="relu"),
            Layers.BatchNormalization,
            Layers.MaxPooling2D,
            Layers.Flatten,
            lambda: Layers.Dense(3),
            shape=PICTURE,
        ),
        real(2, *PICTURE),
    ),
    "depthwise": (network(lambda: Layers.DepthwiseConv2D(3, padding="same"), shape=PICTURE), real(2, *PICTURE)),
    "separable": (network(lambda: Layers.SeparableConv2D(6, 3), shape=PICTURE), real(2, *PICTURE)),
    "transposed": (network(lambda: Layers.Conv2DTranspose(6, 3, 2, "same"), shape=PICTURE), real(2, *PICTURE)),
    "conv1d": (network(lambda: Layers.Conv1D(6, 3, padding="causal"), shape=SERIES), real(2, *SERIES)),
    "conv3d": (network(lambda: Layers.Conv3D(4, 2), shape=(4, 5, 6, 3)), real(1, 4, 5, 6, 3)),
    "upsampling": (network(lambda: Layers.UpSampling2D(2, interpolation="bilinear"), shape=PICTURE), real(2, *PICTURE)),
    "global": (network(Layers.GlobalAveragePooling2D, shape=PICTURE), real(2, *PICTURE)),
    "layer_norm": (network(Layers.LayerNormalization, shape=SERIES), real(2, *SERIES)),
    "group_norm": (network(lambda: Layers.GroupNormalization(2), shape=PICTURE), real(2, *PICTURE)),
    "dropout": (network(lambda: Layers.Dropout(0.5), lambda: Layers.Dense(3), shape=(7,)), real(2, 7)),
    "prelu": (network(Layers.PReLU, shape=PICTURE), real(2, *PICTURE)),
    "gelu": (
        network(lambda: Layers.Activation("gelu"), lambda: Layers.Activation("swish"), shape=SERIES),
        real(2, *SERIES),
    ),
    "embedding": (network(lambda: Layers.Embedding(12, 4), shape=(5,)), np.array([[1.0, 4, 11, 0, 3]], "f")),
    "lstm": (network(lambda: Layers.LSTM(4), shape=SERIES), real(2, *SERIES)),
    "lstm_sequence": (network(lambda: Layers.LSTM(4, return_sequences=True), shape=SERIES), real(2, *SERIES)),
    "lstm_backwards": (network(lambda: Layers.LSTM(4, go_backwards=True), shape=SERIES), real(2, *SERIES)),
    "gru": (network(lambda: Layers.GRU(4), shape=SERIES), real(2, *SERIES)),
    "gru_before": (
        network(lambda: Layers.GRU(4, reset_after=False, return_sequences=True), shape=SERIES),
        real(2, *SERIES),
    ),
    "simple_rnn": (network(lambda: Layers.SimpleRNN(4, return_sequences=True), shape=SERIES), real(2, *SERIES)),
    "bidirectional": (
        network(lambda: Layers.Bidirectional(Layers.LSTM(3, return_sequences=True)), shape=SERIES),
        real(2, *SERIES),
    ),
    "conv_lstm": (network(lambda: Layers.ConvLSTM2D(3, 3, padding="same"), shape=(3, 5, 6, 2)), real(1, 3, 5, 6, 2)),
    "unrolled": (network(lambda: Layers.GRU(4, unroll=True), shape=SERIES), real(2, *SERIES)),
    "distributed": (network(lambda: Layers.TimeDistributed(Layers.Dense(3)), shape=SERIES), real(2, *SERIES)),
}


def attention() -> Any:
    """Self-attention with a residual."""
    x = tf.keras.Input(SERIES)
    y = Layers.MultiHeadAttention(2, 3)(x, x)
    return tf.keras.Model(x, Layers.LayerNormalization()(Layers.Add()([x, y])))


def inception() -> Any:
    """Branches that are joined."""
    x = tf.keras.Input(PICTURE)
    branches = [
        Layers.Conv2D(3, 1)(x),
        Layers.Conv2D(4, 5, padding="same")(x),
        Layers.AveragePooling2D(3, 1, "same")(x),
    ]
    return tf.keras.Model(x, Layers.Concatenate()(branches))


def two_results() -> Any:
    x = tf.keras.Input(SERIES)
    y = Layers.Dense(4)(x)
    return tf.keras.Model(x, {"first": Layers.Softmax()(y), "second": Layers.GlobalMaxPooling1D()(y)})


LAYERS |= {
    "attention": (attention, real(2, *SERIES)),
    "inception": (inception, real(2, *PICTURE)),
    "results": (two_results, real(2, *SERIES)),
}


class Subclassed(tf.keras.Model):
    """Layers in a list, and a weight of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.first = Layers.Dense(4, "relu")
        self.others = [Layers.Dense(3), Layers.BatchNormalization(), Layers.Dense(3)]
        self.scale = self.add_weight(shape=(3,), name="scale")

    def call(self, x: Any) -> Any:
        y = self.first(x)
        for layer in self.others:
            y = layer(y)
        return y * self.scale


LAYERS["subclassed"] = (Subclassed, real(2, 7))

SAVED = ("dense", "conv", "separable", "lstm", "bidirectional", "attention", "inception", "results", "subclassed")
"""Those of LAYERS that tf.saved_model.save writes, too, which names their variables by the attributes of objects."""


def recurrent(kind: Any, **options: Any) -> Callable[[], Any]:
    return lambda: kind(4, return_sequences=True, return_state=True, **options)


CUDNN: dict[str, tuple[Any, ...]] = {
    "lstm": (recurrent(Layers.LSTM), None, False),
    "lstm_time": (recurrent(Layers.LSTM), None, True),
    "lstm_lengths": (recurrent(Layers.LSTM), (6, 3), False),
    "lstm_backwards": (recurrent(Layers.LSTM, go_backwards=True), None, False),
    "gru": (recurrent(Layers.GRU), None, False),
    "gru_lengths": (recurrent(Layers.GRU), (2, 5), True),
}
"""Layers that Keras gives to cuDNN, lengths of sequences, and whether time comes first."""

V1 = tf.compat.v1


def _dense(x: Any) -> Any:
    weight = V1.get_variable("dense/weight", [7, 5], use_resource=False)
    return tf.nn.relu(tf.matmul(x, weight) + V1.get_variable("dense/bias", [5], use_resource=True))


def _conv(x: Any) -> Any:
    kernel = V1.get_variable("kernel", [3, 3, 4, 6], use_resource=False)
    scale, offset = (V1.get_variable(name, [6], use_resource=False) for name in ("scale", "offset"))
    y = tf.nn.conv2d(x, kernel, 2, "SAME")
    return tf.nn.relu(V1.nn.fused_batch_norm(y, scale, offset, offset * 0.1, scale * scale + 1.0, is_training=False)[0])


def _switched(x: Any) -> Any:
    """A network with a switch between training and inference."""
    training = V1.placeholder_with_default(False, [], name="training")
    weight = V1.get_variable("weight", [7, 5], use_resource=False)
    return V1.cond(training, lambda: tf.nn.dropout(tf.matmul(x, weight), 0.5), lambda: tf.matmul(x, weight))


TRAINED: dict[str, tuple[Any, ...]] = {
    "dense": (_dense, real(3, 7), "checkpoint"),
    "dense_saved": (_dense, real(3, 7), "saved"),
    "conv": (_conv, real(1, *PICTURE), "checkpoint"),
    "conv_saved": (_conv, real(1, *PICTURE), "saved"),
    "switched": (_switched, real(3, 7), "checkpoint"),
}
