"""The networks that `nox -s models` compiles: where each is, what it is given, what it must find."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import onnx

from sateen.graph_ir.ir import Array

LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"
SHARED = Path(__file__).parents[3] / "shared"
BENCH = SHARED / "bench"

Finding = Callable[[Array], str]
"""What is seen in a network's first output, in words; '' where it is as it must be."""


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


def read_golden(path: Path) -> tuple[dict[str, Array], dict[str, Array]]:
    """Inputs and outputs of a golden file, which calls them in/NAME and out/NAME."""
    with np.load(path, allow_pickle=False) as arrays:
        sides: dict[str, dict[str, Array]] = {"in": {}, "out": {}}
        for key in arrays.files:
            side, name = key.split("/", 1)
            sides[side][name] = arrays[key]
    return sides["in"], sides["out"]
