"""Recognises files that no reader takes by their content, for errors, and names programs that convert them."""

from __future__ import annotations

import re
from pathlib import Path

from sateen.frontends.core.pickles import pickle_of_head
from sateen.runtime import ARTIFACT_MAGIC
from sateen.runtime.errors import printable

HEAD_BYTES = 512
"""The number of bytes from which `format_of_head` recognises a file."""
NO_FILE = "no regular file"
"""The name in errors for pipes and devices, which could keep a reader waiting or have no end."""

_PYTORCH = "; torch.export.save writes the network that it belongs to so that sateen reads it (docs/pytorch.md)"
_CHECKPOINT = "a network is in a .meta, or in the folder of a SavedModel"
_VARIABLES = "the variables of a TensorFlow SavedModel; give the folder around them"
_PICKLED = f"a PyTorch file of pickled tensors or objects{_PYTORCH}"
_SCRIPT = f"a TorchScript program{_PYTORCH}"
_STARTS = (
    (0, ARTIFACT_MAGIC, "an artifact of sateen, which is compiled already"),
    (0, b"\x89HDF\r\n\x1a\n", "an HDF5 file, as Keras writes"),
    (4, b"TFL3", "a TensorFlow Lite model"),
    (4, b"ORTM", "a model in onnxruntime's own format"),
    (0, b"\x93NUMPY", "a NumPy array"),
    (0, b"\x7fELF", "a native library"),
    (0, b"GGUF", "a GGUF model"),
    (0, b"\x1f\x8b", "a gzip archive; unpack it, and give the model in it"),
    (0, b"7767517\n", "a network of ncnn"),
    (0, b"version https://git-lfs", "a pointer of Git LFS; `git lfs pull` fetches the model"),
    (0, b"model_checkpoint_path:", f"the list of checkpoints of TensorFlow; {_CHECKPOINT}"),
    (0, b"<!DOCTYPE", "a web page"),
    (0, b"<!doctype", "a web page"),
    (0, b"<html", "a web page"),
    (0, b"<?xml", "XML, as OpenVINO writes"),
    (0, b"{", "JSON, as TensorFlow.js writes"),
    (0, b"\x89PNG\r\n\x1a\n", "a picture (PNG)"),
    (0, b"\xff\xd8\xff", "a picture (JPEG)"),
    (0, b"GIF8", "a picture (GIF)"),
    (8, b"WEBP", "a picture (WebP)"),
    (0, b"II*\0", "a picture (TIFF)"),
    (0, b"MM\0*", "a picture (TIFF)"),
)
_ZIPPED = (
    (".npy", "an archive of NumPy arrays"),
    ("data.pkl", _PICKLED),
    (".data/serialization_id", _PICKLED),
    ("metadata.json", "a Keras model"),
    ("config.json", "a Keras model"),
    (".onnx", "a zip archive with an ONNX model; unpack it"),
)
"""The kinds of zip archives, by the end of the name of their first file."""
_MANIFEST, _ROOT, _MOST_MANIFEST = "Manifest.json", b'"rootModelIdentifier"', 1 << 20
"""The list of files of a CoreML package, what it names, and the most bytes of it that are looked at."""
_SHARD = re.compile(r"(.+)\.data-\d{5}-of-\d{5}")
"""The name of a file with the data of a TensorFlow checkpoint, which is nothing but numbers."""
_FOLDERS = {
    "checkpoint": f"a folder with a checkpoint of TensorFlow; {_CHECKPOINT}",
    "config.json": "a folder with a model of Hugging Face; `optimum-cli export onnx` makes an ONNX model of it",
    "variables.index": _VARIABLES,
}
"""The kinds of folders, by a file in them."""


def format_of_folder(path: Path) -> str:
    """The kind of a folder."""
    within = next((around for around in list(path.parents)[:2] if _is_manifest(around / _MANIFEST)), None)
    if within is not None:
        return f"a folder within a CoreML package; give the package, {printable(str(within))}"
    return next((kind for name, kind in _FOLDERS.items() if (path / name).exists()), "a folder")


def _is_manifest(path: Path) -> bool:
    """Whether a file is the list of files of a CoreML package."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return _ROOT in file.read(_MOST_MANIFEST)
    except OSError:
        return False


def format_of_file(path: Path, data: bytes) -> str:
    """The kind of a file, of which a file beside it may tell; '' if unknown."""
    shard = _SHARD.fullmatch(path.name)
    if shard is not None and path.with_name(f"{shard.group(1)}.index").is_file():
        return _VARIABLES if shard.group(1) == "variables" else f"the data of a TensorFlow checkpoint; {_CHECKPOINT}"
    if path.name == _MANIFEST and _ROOT in data:
        return "the list of files of a CoreML package (.mlpackage); give the folder around it"
    return format_of(data)


def format_of_head(head: bytes) -> str:
    """The kind of a file with this beginning that is no message of Protocol Buffers; '' if unknown."""
    if not head:
        return "an empty file"
    for offset, start, name in _STARTS:
        if head[offset:].startswith(start):
            return name
    if head.startswith(b"PK\x03\x04"):
        return _zipped(head)
    if pickled := pickle_of_head(head):
        return pickled
    if head[8:10] == b'{"' and head[5:8] == b"\0\0\0":
        return "weights in safetensors, which have no network; give them with one: load('net.pt2', 'net.safetensors')"
    if head.startswith(b"BM") and head[6:10] == bytes(4):  # reserved, behind the size of the file
        return "a picture (BMP)"
    return ""


def format_of(data: bytes) -> str:
    """The kind of bytes that no reader takes; '' if unknown."""
    if data.startswith(b"PK\x03\x04") and b"/code/__torch__" in data:
        return _SCRIPT
    return format_of_head(data[:HEAD_BYTES]) or _text(data[:HEAD_BYTES])


def _zipped(head: bytes) -> str:
    """The name of the first file follows the header of 30 bytes, which holds its length at byte 26 (APPNOTE)."""
    name = head[30 : 30 + int.from_bytes(head[26:28], "little")].decode("utf-8", "replace")
    kind = next((kind for end, kind in _ZIPPED if name.endswith(end)), "")
    return kind or f"a zip archive, as PyTorch and Keras write{_PYTORCH}"


def _text(head: bytes) -> str:
    try:
        text = head.decode()
    except UnicodeDecodeError:
        return ""
    return "text" if text.isprintable() or "\n" in text else ""
