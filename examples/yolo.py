"""Objects in a picture: a darknet network found, compiled and run, its boxes decoded, and drawn into the picture.

    python yolo.py [NETWORK.cfg PICTURE NAMES [RESULT.png]]

Without arguments it takes yolo-fastest and the picture of a dog in ../shared, where these exist.
"""

import importlib.util
import sys
import tempfile
from pathlib import Path

import numpy as np

from sateen import frontends, runtime
from sateen.graph_ir.compile import build

MODELS = Path(__file__).resolve().parents[2] / "shared" / "models"
USUAL = (MODELS / "darknet/yolo-fastest-1.1.cfg", MODELS / "images/dog.jpg", MODELS / "images/coco.names")
THRESHOLD, OVERLAP = 0.4, 0.45
"""The least score of a box, and the most of it that a better one of its class may cover."""


def main() -> None:
    given = [Path(argument) for argument in sys.argv[1:]]
    network, picture, names = given[:3] or USUAL
    missing = [str(path) for path in (network, picture, names) if not path.exists()]
    if missing or importlib.util.find_spec("PIL") is None:
        print(f"skipped: there is no {' and no '.join(missing) or 'Pillow'}")
        return
    with tempfile.TemporaryDirectory() as folder:
        found = find(network, picture, names, given[3] if len(given) > 3 else Path(folder) / "found.png")
    assert given or {"dog", "car", "bicycle"} <= found, found


def find(network: Path, picture: Path, names: Path, result: Path) -> set[str]:
    """Draw the objects in a picture, and return what they are called."""
    from PIL import Image, ImageDraw  # noqa: PLC0415  # an optional package

    graph, parameters = frontends.load(network)
    model = runtime.load(build(graph, params=parameters))
    _, _, height, width = graph.inputs[0].type.static_shape
    image = Image.open(picture).convert("RGB")
    pixels = np.asarray(image.resize((width, height), Image.Resampling.BILINEAR), np.float32) / 255
    outputs = model.run({"data": np.ascontiguousarray(pixels.transpose(2, 0, 1)[None])})
    heads = zip(detectors(network), outputs.values(), strict=True)
    rows = np.concatenate([decoded(planes.numpy()[0], anchors, (width, height)) for anchors, planes in heads])

    labels, draw = names.read_text(encoding="utf-8").splitlines(), ImageDraw.Draw(image)
    size, found = np.array(image.size * 2), set()
    for box, score, label in best(rows):
        left, top, right, bottom = (box * size).round().astype(int).tolist()
        print(f"{labels[label]:10} {score:.0%}  at {left}, {top} to {right}, {bottom}")
        draw.rectangle((left, top, right, bottom), outline="red", width=3)
        draw.text((left + 4, top + 4), f"{labels[label]} {score:.0%}", fill="red")
        found.add(labels[label])
    image.save(result)
    return found


def detectors(network: Path) -> list[np.ndarray]:
    """The anchors of each [yolo] section, as width and height in pixels of the network's input."""
    found = []
    for section in network.read_text(encoding="utf-8").split("[yolo]")[1:]:
        lines = (line.split("=") for line in section.split("[")[0].splitlines() if "=" in line)
        options = {key.strip(): value.strip() for key, value in lines}
        anchors = np.fromstring(options["anchors"], sep=",").reshape(-1, 2)
        found.append(anchors[np.fromstring(options["mask"], sep=",", dtype=int)])
    return found


def decoded(planes: np.ndarray, anchors: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Rows [left, top, right, bottom, score of each class …] of planes [boxes · (5 + classes), H, W], the picture being
    of width and height 1 (Redmon and Farhadi, YOLOv3, section 2.1)."""
    _, rows, columns = planes.shape
    x, y, w, h, objectness, *classes = planes.reshape(len(anchors), -1, rows, columns).swapaxes(0, 1)
    x = (x + np.arange(columns)) / columns
    y = (y + np.arange(rows)[:, None]) / rows
    w = np.exp(w) * anchors[:, 0, None, None] / size[0] / 2
    h = np.exp(h) * anchors[:, 1, None, None] / size[1] / 2
    scores = [objectness * each for each in classes]
    return np.stack([x - w, y - h, x + w, y + h, *scores], -1).reshape(-1, 4 + len(classes))


def best(rows: np.ndarray) -> list[tuple[np.ndarray, float, int]]:
    """Boxes with their scores and classes, best first, without those that a better one of their class covers."""
    labels, scores = rows[:, 4:].argmax(1), rows[:, 4:].max(1)
    kept: list[int] = []
    for i in np.argsort(-scores):
        if scores[i] < THRESHOLD:
            break
        if all(labels[i] != labels[j] or overlap(rows[i, :4], rows[j, :4]) <= OVERLAP for j in kept):
            kept.append(int(i))
    return [(rows[i, :4].clip(0, 1), float(scores[i]), int(labels[i])) for i in kept]


def overlap(a: np.ndarray, b: np.ndarray) -> float:
    """The common area of two boxes as a part of both."""
    common = np.prod((np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])).clip(0))
    return float(common / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - common))


if __name__ == "__main__":
    main()
