"""Recognises a TensorFlow Lite model by its content: the identifier of the format, at byte 4."""

from sateen.frontends.core.source import Source

IDENTIFIER = b"TFL3"
"""The version 3 of the format, which all files have since 2017."""


def is_tflite(source: Source) -> bool:
    return source.data[4:8] == IDENTIFIER
