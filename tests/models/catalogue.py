"""The networks that `nox -s models` compiles: where each is, what it is given, what it must find."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from PIL import Image

from sateen.graph_ir.ir import Array

LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"
SHARED = Path(__file__).parents[3] / "shared"
BENCH = SHARED / "bench"

Finding = Callable[[Array], str]
"""What is seen in a network's first output, in words; '' where it is as it must be."""
Arrays = dict[str, Array]


@dataclass(frozen=True, slots=True)
class Case:
    """A row of the table. Without `golden`, onnxruntime judges random inputs; `refusal` is an expected error."""

    name: str
    model: Path
    golden: Path | None = None
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    constants: tuple[str, ...] = ()
    """Inputs that the golden file's data makes constant."""
    finding: Finding | None = None
    refusal: str = ""
    takes_pixels: bool = False
    """Whether its inputs are pixels of 0 to 255: normally distributed noise around 0 is a picture without contrast, of
    which rounding errors of any computation in float32 are a large part."""
    format: str = "ONNX"
    inputs: tuple[str, ...] = ()
    """Inner values at which it begins."""
    arranged: Callable[[Arrays, Arrays], tuple[Arrays, Arrays]] = lambda inputs, outputs: (inputs, outputs)
    """The golden file's arrays by the network's names, in its layout."""
    shown: Callable[[Arrays], Arrays] = dict
    """The network's outputs as the golden file has them."""
    is_quantised: bool = False
    """Whether outputs may be off by one step."""


def top_label(output: Array, expected: str) -> str:
    """Whether the label of the largest element of scores over ImageNet's classes is the expected one."""
    labels = (SHARED / "models/images/synset.txt").read_text(encoding="utf-8").splitlines()
    found = labels[int(output.argmax())]
    return "" if expected in found else f"expected {expected}, found {found}"


def top_digit(output: Array, expected: int) -> str:
    """Whether the largest of ten scores is that of the expected digit."""
    return "" if int(output.argmax()) == expected else f"expected {expected}, found {int(output.argmax())}"


def detected(output: Array, expected: tuple[str, ...]) -> str:
    """Whether each class is found by some box [..., x, y, w, h, objectness, class scores...] of YOLOX."""
    classes = (SHARED / "models/images/coco.names").read_text(encoding="utf-8").splitlines()
    boxes = output.reshape(-1, 5 + len(classes))
    scores = (boxes[:, 4:5] * boxes[:, 5:]).max(axis=0)
    missing = [name for name in expected if scores[classes.index(name)] < 0.3]
    return f"found no {', '.join(missing)}" if missing else ""


FINDINGS: dict[str, Finding] = {
    "squeezenet_fp16.cat": partial(top_label, expected="Egyptian cat"),
    "mnist-8.nine": partial(top_digit, expected=9),
    "yolox_nano.dog": partial(detected, expected=("dog", "bicycle", "car")),
}
REFUSALS = {
    "ort_gpt2_past": "defines '284', which is defined already",
}
SHAPES = {"fns_candy": {"inputImage": (1, 3, 720, 720)}}
TAKE_PIXELS = frozenset({"fns_candy"})
CONSTANTS = {"silero_vad": ("sr",), "silero_vad_op18_ifless": ("sr",)}


def light_models() -> list[Case]:
    """Those of the onnx package, whose weights are constants of one value."""
    return [Case(path.stem, path) for path in sorted(LIGHT.glob("light_*.onnx"))]


def networks_of_benchmarks(folder: Path) -> list[Case]:
    """Those of ../shared/bench, which `draw` makes in `folder`. Raises FileNotFoundError without ../shared."""
    names = sorted(path.stem for path in (BENCH / "skeletons").glob("*.onnx"))
    if not names:
        raise FileNotFoundError(f"{BENCH} is absent")
    return [Case(name, folder / f"{name}.onnx") for name in names]


def draw(case: Case) -> None:
    """Make a network of the benchmarks out of its skeleton, if it is not there."""
    if not case.model.exists():
        command = [sys.executable, str(BENCH / "make_models.py"), str(case.model.parent), case.model.stem]
        subprocess.run(command, check=True, capture_output=True)


def models_of_others() -> list[Case]:
    """Those of ../shared/models/onnx, a case per golden file. Raises FileNotFoundError without ../shared."""
    folder = SHARED / "models/onnx"
    paths = sorted(folder.glob("*.onnx"))
    if not paths:
        raise FileNotFoundError(f"{folder} is absent")
    return [case for path in paths for case in _cases_of(path)]


def _cases_of(path: Path) -> Iterator[Case]:
    goldens = [file for file in sorted(path.parent.glob("*.npz")) if file.name.split(".")[0] == path.stem]
    shapes, constants, refusal = SHAPES.get(path.stem, {}), CONSTANTS.get(path.stem, ()), REFUSALS.get(path.stem, "")
    for golden in goldens:
        yield Case(golden.stem, path, golden, shapes, constants, FINDINGS.get(golden.stem), refusal)
    if not goldens:
        yield Case(path.stem, path, None, shapes, constants, None, refusal, path.stem in TAKE_PIXELS)


def models_of_formats() -> list[Case]:
    """Those of ../shared/models in other formats than ONNX. Raises FileNotFoundError without ../shared."""
    folder = SHARED / "models"
    if not (folder / "caffe").is_dir():
        raise FileNotFoundError(f"{folder} is absent")
    quantised: dict[str, Any] = {"is_quantised": True}
    pose: dict[str, Any] = {"name": "pose_hourglass.mlmodel", "arranged": _pose}
    sound: dict[str, Any] = {"inputs": SOUND, "constants": SOUND[1:]}
    return [
        _case("caffe/mtcnn_det1.prototxt", "caffe/mtcnn_det1.cvio"),
        _case("caffe/ultraface_slim-320.prototxt", "caffe/ultraface_slim-320.cvio", renamed={"data": "input"}),
        _case("coreml/MNISTClassifier_ph1ps.mlmodel", finding=partial(top_digit, expected=9), arranged=_nine),
        _case("coreml/pose_hourglass.mlmodel", "tensorflow/pose_hourglass.pb.tfio", **pose),
        _case("darknet/yolo-fastest-1.1.cfg", "darknet/yolo-fastest-1.1.cvio", shown=_boxes),
        _case("keras/fer2013_mini_xception.hdf5", "keras/fer2013_mini_xception.hdf5.kerasio", arranged=_by_place),
        _case("keras/mlperftiny_resnet8_cifar10.h5", "keras/mlperftiny_resnet8_cifar10.h5.kerasio", arranged=_by_place),
        _case("mxnet/cifar_resnet20_v1-symbol.json", "mxnet/cifar_resnet20_v1.bird.mxio"),
        _case("mxnet/cifar_resnet20_v1-symbol.json", "mxnet/cifar_resnet20_v1.cat.mxio"),
        _case("mxnet/mtcnn_det2-symbol.json", "mxnet/mtcnn_det2.mxio"),
        _case("tensorflow/ESPCN_x3.pb", "tensorflow/ESPCN_x3.pb.tfio"),
        *(_case(f"tensorflow/{name}.pb", f"tensorflow/{name}.pb.tfio", inputs=("Mfcc",)) for name in KEYWORDS),
        *(
            _case(f"tensorflow/{name}.pb", f"tensorflow/{name}.pb.tfio", name=f"{name}.sound", **sound)
            for name in KEYWORDS
        ),
        _case("tensorflow/pose_hourglass.pb", "tensorflow/pose_hourglass.pb.tfio"),
        _case("tflite/mlperftiny_kws_ref_model.tflite", "tflite/mlperftiny_kws_ref_model.tflite.liteio", **quantised),
        _case("tflite/mlperftiny_vww_96_float.tflite", "tflite/mlperftiny_vww_96_float.tflite.liteio"),
        _case(
            "tflite/mobilenet_v1_0.25_128_quant.tflite", "tflite/mobilenet_v1_0.25_128_quant.tflite.liteio", **quantised
        ),
    ]


FORMATS = {
    "caffe": "Caffe", "coreml": "CoreML", "darknet": "Darknet", "keras": "Keras", "mxnet": "MXNet",
    "tensorflow": "TensorFlow", "tflite": "TensorFlow Lite",
}  # fmt: skip
"""The names of formats, by folder."""
KEYWORDS = ("kws_DS_CNN_S", "kws_GRU_S")
"""Networks of spoken words, with Mfcc between the sound and the network."""
SOUND = ("decoded_sample_data", "decoded_sample_data:1")
"""What decoding of a sound file gives: samples, and how many there are a second."""


def _case(
    model: str,
    golden: str = "",
    *,
    name: str = "",
    renamed: Mapping[str, str] = {},  # never written to
    **more: Any,
) -> Case:
    """A model of ../shared/models. Its values are called as in the golden file, but for those `renamed`."""
    folder = SHARED / "models"

    def by_name(inputs: Arrays, outputs: Arrays) -> tuple[Arrays, Arrays]:
        return {renamed.get(key, key): array for key, array in inputs.items()}, outputs

    path = folder / f"{golden}.npz" if golden else None
    more = {"arranged": by_name, "format": FORMATS[Path(model).parts[0]], **more}
    return Case(name or Path(golden or model).stem, folder / model, path, **more)


def _by_place(inputs: Arrays, outputs: Arrays) -> tuple[Arrays, Arrays]:
    """Keras has no names of tensors: those of layers are input_1, and the last one's."""
    return {"input_1": inputs["0"]}, {"0": outputs["0"]}


def _pose(inputs: Arrays, outputs: Arrays) -> tuple[Arrays, Arrays]:
    """The twin's picture and planes, with channels first."""
    picture, planes = inputs["image"], outputs["hourglass_out_3"]
    first = {"image__0": np.ascontiguousarray(picture.transpose(0, 3, 1, 2))}
    return first, {"hourglass_out_3__0": planes[0].transpose(2, 0, 1)}


def _nine(_inputs: Arrays, _outputs: Arrays) -> tuple[Arrays, Arrays]:
    """A picture of the digit 9."""
    with Image.open(SHARED / "models/images/mnist_nine.bmp") as picture:
        pixels = np.asarray(picture.convert("L").resize((28, 28)), np.float32)
    return {"image": pixels[None, None]}, {}


def _boxes(outputs: Arrays) -> Arrays:
    """Planes of detectors [1, 3 · 85, H, W] as OpenCV gives them: a row for each place and box, with centre, extents,
    objectness and the scores above 0.2."""
    anchors = {
        "yolo_121": [(115, 73), (119, 199), (242, 238)], "yolo_130": [(12, 18), (37, 49), (52, 132)]
    }  # fmt: skip
    return {name: _decoded(planes[0], np.array(anchors[name], np.float32)) for name, planes in outputs.items()}


def _decoded(planes: Array, anchors: Array) -> Array:
    _, rows, columns = planes.shape
    x, y, w, h, objectness, *classes = planes.reshape(len(anchors), -1, rows, columns).swapaxes(0, 1)
    place = [(x + np.arange(columns)) / columns, (y + np.arange(rows)[:, None]) / rows]
    extent = [np.exp(side) * anchors[:, i, None, None] / np.float32(320) for i, side in enumerate((w, h))]
    scores = objectness * np.stack(classes)
    decoded = np.stack([*place, *extent, objectness, *np.where(scores > 0.2, scores, 0)], -1)  # [boxes, H, W, 85]
    return decoded.transpose(1, 2, 0, 3).reshape(-1, decoded.shape[-1]).astype(np.float32)


def read_golden(path: Path, begun: tuple[str, ...] = ()) -> tuple[Arrays, Arrays]:
    """Inputs and outputs of a golden file, which calls them in/NAME and out/NAME; inputs that are inner values, called
    `begun`, may be mid/NAME there."""
    with np.load(path, allow_pickle=False) as arrays:
        sides: dict[str, Arrays] = {"in": {}, "out": {}, "mid": {}}
        for key in arrays.files:
            side, name = key.split("/", 1)
            sides[side][name.removesuffix(":0")] = arrays[key]
    given = {**sides["mid"], **sides["in"]}
    return {name: given[name] for name in begun or sides["in"]}, sides["out"]
