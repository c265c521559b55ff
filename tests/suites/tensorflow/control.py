"""Graphs with loops and choices, as TensorFlow 1 and 2 write them: a function of tensors, and arrays for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from graphs import real

V1 = tf.compat.v1


def _repeated(x: Any) -> Any:
    """A loop of known length."""
    return tf.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y * 0.5 + x), [0, x])


def _until(x: Any) -> Any:
    """A loop whose length depends on data."""
    return tf.while_loop(lambda y: tf.reduce_sum(y) < 100.0, lambda y: (y * 2.0 + 1.0,), [x])


def _nested(x: Any) -> Any:
    def inner(i: Any, y: Any) -> Any:
        _, z = tf.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z + x), [0, y])
        return i + 1, z * 0.5

    return tf.while_loop(lambda i, y: i < 4, inner, [0, x])


def _chosen_in_loop(x: Any) -> Any:
    def body(i: Any, y: Any) -> Any:
        return i + 1, tf.cond(tf.reduce_sum(y) > 0.0, lambda: y - 3.0, lambda: y + x)

    return tf.while_loop(lambda i, y: i < 4, body, [0, x])


def _loop_in_choice(p: Any, x: Any) -> Any:
    return tf.cond(p, lambda: tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y + x), [0, x])[1], lambda: -x)


def _two_results(p: Any, x: Any) -> Any:
    return tf.cond(p, lambda: (x + 1.0, x * 2.0), lambda: (x - 1.0, tf.zeros_like(x)))


def _nested_choice(p: Any, x: Any) -> Any:
    return tf.cond(p, lambda: tf.cond(x[0, 0] > 0.0, lambda: x + 1.0, lambda: x - 1.0), lambda: tf.ones([2, 3]))


def _stacked(x: Any) -> Any:
    """A list that a loop fills."""
    array = tf.TensorArray(tf.float32, 4, element_shape=[3])
    written = tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, a.write(i, x[i] * 2.0)), [0, array])[1]
    return written.stack()


def _unstacked(x: Any) -> Any:
    """A list that a loop reads backwards."""
    array = tf.TensorArray(tf.float32, 4).unstack(x)
    return tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, y * 0.5 + array.read(3 - i)), [0, tf.zeros([3])])[1]


def _scan(x: Any) -> Any:
    return tf.scan(lambda total, row: total + row * 2.0, x)


def _map(x: Any) -> Any:
    return tf.map_fn(lambda row: tf.reduce_sum(row) * row, x)


def _dynamic_rnn(x: Any) -> Any:
    """A layer over time as TensorFlow 1 unrolls it."""
    weight, recurrence = real(3, 5), real(5, 5, low=-0.5, high=0.5)
    time = tf.transpose(x, [1, 0, 2])
    inputs = tf.TensorArray(tf.float32, 6).unstack(time)
    outputs = tf.TensorArray(tf.float32, 6)

    def body(i: Any, state: Any, out: Any) -> Any:
        state = tf.tanh(tf.matmul(inputs.read(i), weight) + tf.matmul(state, recurrence))
        return i + 1, state, out.write(i, state)

    _, last, out = tf.while_loop(lambda i, *_: i < 6, body, [0, tf.zeros([2, 5]), outputs])
    return tf.transpose(out.stack(), [1, 0, 2]), last


def _switch_case(i: Any, x: Any) -> Any:
    return tf.switch_case(i, [lambda: x + 1.0, lambda: x * 2.0])


TRUE, FALSE = np.array(True), np.array(False)
PICTURE = real(2, 3)
CONTROL: dict[str, tuple[Any, ...]] = {
    "while_counted": (_repeated, PICTURE),
    "while_data": (_until, PICTURE),
    "while_nested": (_nested, PICTURE),
    "while_cond": (_chosen_in_loop, PICTURE),
    "while_scan": (_scan, real(4, 3)),
    "while_map": (_map, real(4, 3)),
    "while_stack": (_stacked, real(4, 3)),
    "while_unstack": (_unstacked, real(4, 3)),
    "while_rnn": (_dynamic_rnn, real(2, 6, 3)),
    "cond_true": (lambda p, x: tf.cond(p, lambda: x + 1.0, lambda: x * 2.0), TRUE, PICTURE),
    "cond_false": (lambda p, x: tf.cond(p, lambda: x + 1.0, lambda: x * 2.0), FALSE, PICTURE),
    "cond_two": (_two_results, FALSE, PICTURE),
    "cond_nested": (_nested_choice, TRUE, PICTURE),
    "cond_constants": (_nested_choice, FALSE, PICTURE),
    "cond_while": (_loop_in_choice, TRUE, PICTURE),
    "cond_known": (lambda x: tf.cond(tf.constant(True), lambda: x + 1.0, lambda: x * 2.0), PICTURE),
    "switch_case": (_switch_case, np.array(1, "i"), PICTURE),
}
