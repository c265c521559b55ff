"""Reads Keras models: whole ones of Keras 1, 2 and 3, and an architecture with a file of weights."""

from sateen.frontends.keras.reader import KERAS, from_keras

__all__ = ["KERAS", "from_keras"]
