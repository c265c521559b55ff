"""Makes Caffe models of one layer each, and what they compute: by OpenCV's dnn, or else by Caffe's definition.

    python make.py FOLDER

OpenCV reads Caffe's files, but lacks some layers and differs in others; those have a definition.
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
from cases import CASES, Case
from definitions import Array


def network(case: Case) -> str:
    names = [f"x{i}" for i in range(len(case.inputs))]
    dims = ["".join(f" dim: {n}" for n in shape) for shape in case.inputs]
    heads = "".join(f'input: "{name}"\ninput_shape {{{dim} }}\n' for name, dim in zip(names, dims, strict=True))
    tops = "".join(f' top: "y{i}"' for i in range(case.tops))
    bottoms = "".join(f' bottom: "{name}"' for name in names)
    return f'name: "net"\n{heads}layer {{ name: "layer" type: "{case.type}"{bottoms}{tops} {case.parameters} }}\n'


def weights(case: Case, arrays: Sequence[Array]) -> bytes:
    blobs = b"".join(encoded(7, blob_of(array, case.legacy)) for array in arrays)
    layer = encoded(1, b"layer") + encoded(2, case.type.encode()) + blobs
    return encoded(1, b"net") + encoded(100, layer)


def blob_of(array: Array, legacy: bool) -> bytes:
    """A blob with its shape, or with the four dimensions that were there before shapes."""
    data = encoded(5, array.astype("<f4").tobytes())
    if legacy:
        shape = (1,) * (4 - array.ndim) + array.shape
        return b"".join(varint(number << 3) + varint(extent) for number, extent in enumerate(shape, 1)) + data
    return data + encoded(7, encoded(1, b"".join(map(varint, array.shape))))


def encoded(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(number: int) -> bytes:
    low = number & 0x7F
    return struct.pack("B", low | 0x80) + varint(number >> 7) if number > 0x7F else struct.pack("B", low)


def by_opencv(text: str, data: bytes, inputs: Sequence[Array]) -> Array:
    net = cv2.dnn.readNetFromCaffe(np.frombuffer(text.encode(), np.uint8), np.frombuffer(data, np.uint8))
    for i, array in enumerate(inputs):
        net.setInput(array, f"x{i}")
    return net.forward()


def make(folder: Path, name: str, case: Case) -> None:
    random = np.random.default_rng(sum(name.encode()))
    inputs = [random.uniform(case.low, case.high, shape).astype(np.float32) for shape in case.inputs]
    if -1 in case.given:
        inputs[-1] = np.ascontiguousarray(case.given[-1])
    inputs = [np.round(array) for array in inputs] if case.whole else inputs
    arrays = [random.uniform(0.1 if case.positive else -1, 1, shape).astype(np.float32) for shape in case.blobs]
    arrays = [case.given.get(i, array) for i, array in enumerate(arrays)]
    text, data = network(case), weights(case, arrays)
    if case.definition is None:
        found: Array | Sequence[Array] = by_opencv(text, data, inputs)
    else:
        found = case.definition(*inputs, *arrays)
    outputs = found if isinstance(found, (list, tuple)) else [found]
    path = folder / name
    path.mkdir(parents=True)
    (path / "net.prototxt").write_text(text, encoding="utf-8")
    (path / "net.caffemodel").write_bytes(data)
    kept = {f"in/x{i}": array for i, array in enumerate(inputs)}
    kept |= {f"out/y{i}": np.asarray(array, np.float32) for i, array in enumerate(outputs)}
    np.savez(path / "io.npz", **kept)
    (path / "case.json").write_text(
        json.dumps({"model": "net.prototxt", "weights": "net.caffemodel"}), encoding="utf-8"
    )


def main() -> None:
    folder = Path(sys.argv[1])
    for name, case in CASES.items():
        make(folder, name, case)


if __name__ == "__main__":
    main()
