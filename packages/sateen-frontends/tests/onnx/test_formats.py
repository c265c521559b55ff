"""What is said of files that are no ONNX models."""

from pathlib import Path

import pytest

from sateen.frontends import from_onnx
from sateen.runtime.errors import FrontendError


def field(number: int, content: bytes | int) -> bytes:
    """A field of a message of Protocol Buffers: a number below 128, or bytes."""
    is_number = isinstance(content, int)
    key = number << 3 | (0 if is_number else 2)
    head = bytes([key & 0x7F | 0x80, key >> 7]) if key > 0x7F else bytes([key])
    return head + (bytes([content]) if isinstance(content, int) else bytes([len(content)]) + content)


def zipped(name: bytes) -> bytes:
    """The beginning of an archive whose first file has this name."""
    return b"PK\x03\x04" + bytes(22) + len(name).to_bytes(2, "little") + bytes(2) + name


TENSORFLOW_NODE = field(1, b"x") + field(2, b"Placeholder")
CAFFE2_OPERATOR = field(1, b"x") + field(2, b"y") + field(4, b"Relu")


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (field(1, TENSORFLOW_NODE) + field(1, TENSORFLOW_NODE), "a TensorFlow graph"),
        (field(1, TENSORFLOW_NODE) * 10_000, "a TensorFlow graph"),
        (field(1, 1) + field(2, field(1, b"tags") + field(2, b"graph")), "a TensorFlow SavedModel"),
        (field(1, 4) + field(2, b"\x0a\x01x") + field(500, b"layers"), "a CoreML model"),
        (field(1, b"net") + field(100, field(1, b"data")), "a Caffe model"),
        (field(1, b"net") + field(2, CAFFE2_OPERATOR), "a network of Caffe2"),
        (field(2, CAFFE2_OPERATOR), "a network of Caffe2"),
        (b"\x1c\0\0\0TFL3rest", "a TensorFlow Lite model"),
        (b"\x89HDF\r\n\x1a\nrest", "an HDF5 file, as Keras writes"),
        (b"\x80\x02}q\0.", "a Python pickle, as PyTorch writes"),
        (zipped(b"archive/data.pkl"), "a PyTorch file"),
        (zipped(b"metadata.json"), "a Keras model"),
        (zipped(b"net.onnx"), "a zip archive with an ONNX model; unpack it"),
        (zipped(b"other"), "a zip archive, as PyTorch and Keras write"),
        (b"\x10\0\0\0\0\0\0\0" + b'{"w": 1}', "weights in safetensors, which have no network"),
        (b"version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS; `git lfs pull` fetches the model"),
        (b"<!DOCTYPE html>", "a web page"),
        (b'name: "net"\nlayer {\n}\n', "a network of Caffe as text"),
        (b"no model\n", "text"),
    ],
)
def test_what_a_file_is_instead_is_told(content: bytes, found: str) -> None:
    with pytest.raises(FrontendError) as caught:
        from_onnx(content)
    assert str(caught.value) == f"the given bytes: expected an ONNX model, found {found}"


@pytest.mark.parametrize("content", [b"\xff\xfe\xfd", field(7, b"\xff") + b"\xff"])
def test_what_is_not_known_is_left_to_protobuf(content: bytes) -> None:
    with pytest.raises(FrontendError, match="expected an ONNX model, found what protobuf can't parse"):
        from_onnx(content)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("saved_model.pb", "a folder with a TensorFlow SavedModel"),
        ("Manifest.json", "a folder with a CoreML package"),
        ("other", "a folder"),
    ],
)
def test_a_folder_is_refused_by_what_is_in_it(tmp_path: Path, name: str, found: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(FrontendError) as caught:
        from_onnx(tmp_path)
    assert str(caught.value).splitlines()[0] == f"expected a file with an ONNX model, found {str(tmp_path)!r}, {found}"
