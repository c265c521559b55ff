"""Recognises pickles of Python by how they begin, for errors: they are programs, which no reader runs."""

from __future__ import annotations

import re
import zlib

_BINARY = re.compile(rb"\x80[\x02-\x05]|[\])}]q\0")
"""Protocols 2 to 5 begin with their number; a container of protocol 1 is followed by its place in the memo."""
_TEXT = re.compile(rb"\([dlt]p?\d+\n|[ci][\w.]+\n[\w.]+\n(p\d+\n|q.|\()", re.DOTALL)
"""Protocols 0 and 1: a container, or a name of a module and of a class, and its place in the memo."""
_ZLIB = b"x"
"""The first byte of what zlib compresses, as joblib does on request."""
_MAKERS = (
    (b"lightgbm", "a pickled model of LightGBM; onnxmltools makes an ONNX model of it"),
    (b"xgboost", "a pickled model of XGBoost; onnxmltools makes an ONNX model of it"),
    (b"sklearn", "a pickled estimator of scikit-learn; skl2onnx makes an ONNX model of it"),
)
"""What is pickled, by a module that its beginning names; xgboost.sklearn is XGBoost's."""


_UNKNOWN = (
    "a Python pickle; of PyTorch's models torch.export.save makes a program that sateen reads (docs/pytorch.md), of "
    "those of scikit-learn, LightGBM and XGBoost their exporters make ONNX models"
)
"""A pickle that names no known module."""


def pickle_of_head(head: bytes) -> str:
    """The kind of a pickle with this beginning, '' if it is none."""
    if head.startswith(_ZLIB):
        head = _inflated(head)
    if not _BINARY.match(head) and not _TEXT.match(head):
        return ""
    return next((kind for module, kind in _MAKERS if module in head), _UNKNOWN)


def _inflated(head: bytes) -> bytes:
    """The beginning of what is compressed, as long as the given one at most."""
    try:
        return zlib.decompressobj().decompress(head, len(head))
    except zlib.error:
        return b""
