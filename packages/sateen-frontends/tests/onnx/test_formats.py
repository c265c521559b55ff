"""What is said of files that are no ONNX models."""

import pickle
import zlib
from collections import OrderedDict
from pathlib import Path

import pytest

from sateen.frontends import from_onnx
from sateen.runtime import ARTIFACT_MAGIC
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


PYTORCH = "; torch.export.save writes the network that it belongs to so that sateen reads it (docs/pytorch.md)"

PICKLE = (
    "a Python pickle; of PyTorch's models torch.export.save makes a program that sateen reads (docs/pytorch.md), of "
    "those of scikit-learn, LightGBM and XGBoost their exporters make ONNX models"
)
SKLEARN = "a pickled estimator of scikit-learn; skl2onnx makes an ONNX model of it"
XGBOOST = "a pickled model of XGBoost; onnxmltools makes an ONNX model of it"


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"\x1c\0\0\0TFL3rest", "a TensorFlow Lite model"),
        (b"\x89HDF\r\n\x1a\nrest", "an HDF5 file, as Keras writes"),
        (b"\x80\x02}q\0.", PICKLE),
        (b"\x80\x04\x95\xbf\0\0\0\0\0\0\0\x8c\x1bsklearn.linear_model", SKLEARN),
        (pickle.dumps([1, 2], 0), PICKLE),
        (pickle.dumps({"w": 1.5}, 0), PICKLE),
        (pickle.dumps(OrderedDict(w=1.5), 0), PICKLE),
        (pickle.dumps(OrderedDict(w=1.5), 1), PICKLE),
        (pickle.dumps([1, 2], 1), PICKLE),
        (b"ccopy_reg\n_reconstructor\np0\n(csklearn.svm._classes\nSVC\np1\n", SKLEARN),
        (zlib.compress(pickle.dumps("xgboost.sklearn")), XGBOOST),
        (b"x^2 + y\n", "text"),
        (b"cats\ndogs\n", "text"),
        (zipped(b"archive/data.pkl"), f"a PyTorch file of pickled tensors or objects{PYTORCH}"),
        (zipped(b"net/data.pkl") + b"net/code/__torch__.py", f"a TorchScript program{PYTORCH}"),
        (zipped(b"metadata.json"), "a Keras model"),
        (zipped(b"net.onnx"), "a zip archive with an ONNX model; unpack it"),
        (zipped(b"other"), f"a zip archive, as PyTorch and Keras write{PYTORCH}"),
        (
            b"\x10\0\0\0\0\0\0\0" + b'{"w": 1}',
            "weights in safetensors, which have no network; give them with one: load('net.pt2', 'net.safetensors')",
        ),
        (b"version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS; `git lfs pull` fetches the model"),
        (b"<!DOCTYPE html>", "a web page"),
        (b"no model\n", "text"),
        (b"\x89PNG\r\n\x1a\nrest", "a picture (PNG)"),
        (b"\xff\xd8\xff\xe0rest", "a picture (JPEG)"),
        (b"BM\x36\0\x0c\0\0\0\0\0\x36\0\0\0", "a picture (BMP)"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "a picture (WebP)"),
        (ARTIFACT_MAGIC, "an artifact of sateen, which is compiled already"),
    ],
)
def test_what_a_file_is_instead_is_told(content: bytes, found: str) -> None:
    with pytest.raises(FrontendError) as caught:
        from_onnx(content)
    assert str(caught.value) == f"the given bytes: expected an ONNX model, found {found}"


@pytest.mark.parametrize("kept", [0.3, 0.7, 0.99])
def test_a_model_that_is_cut_short_is_told_by_how_much(tmp_path: Path, kept: float) -> None:
    whole = field(8, field(2, 17)) + field(1, 8) + field(2, b"us") + field(7, field(2, b"net" * 30))
    path = tmp_path / "net.onnx"
    left = int(len(whole) * kept)
    path.write_bytes(whole[:left])
    with pytest.raises(FrontendError) as caught:
        from_onnx(path)
    assert str(caught.value).splitlines()[0] == (
        f"{path}: expected an ONNX model, found one that is cut short: {left} bytes where {len(whole)} are announced; "
        "copy it again"
    )


@pytest.mark.parametrize("content", [b"\xff\xfe\xfd", field(7, b"\xff") + b"\xff"])
def test_what_is_not_known_is_left_to_protobuf(content: bytes) -> None:
    with pytest.raises(FrontendError, match="expected an ONNX model, found what protobuf can't parse"):
        from_onnx(content)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("other", "a folder"),
    ],
)
def test_a_folder_is_refused_by_what_is_in_it(tmp_path: Path, name: str, found: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(FrontendError) as caught:
        from_onnx(tmp_path)
    assert str(caught.value).splitlines()[0] == f"{tmp_path}: expected an ONNX model, found {found}"
