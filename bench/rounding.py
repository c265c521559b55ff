"""What bfloat16 costs in accuracy: `nox -s bench -- rounding [--models FOLDER]`.

Real networks of ../shared/models with the inputs of their golden files, and ONNX files of FOLDER with random ones. An
input that is a picture is also mirrored, turned upside down, shifted, darkened and brightened. Results with `--numerics
fast` are compared with those of `strict`: how often the largest score is the same one, where an output is scores; the
largest difference over the largest element; the least cosine.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from catalogue import Case, models_of_formats, models_of_others, read_golden
from page import table, write_part

from sateen import runtime
from sateen.frontends import load as read_model
from sateen.frontends.command.arrays import random_inputs
from sateen.graph_ir import build
from sateen.graph_ir.ir import Array, Graph
from sateen.graph_ir.judge import difference
from sateen.graph_ir.ops import BfloatConv, BfloatMatMul
from sateen.graph_ir.passes import PassRun
from sateen.runtime import Model

CLASSIFIERS = (
    "MNISTClassifier_ph1ps", "cifar_resnet20_v1", "fer2013_mini_xception", "kws_DS_CNN_S", "kws_GRU_S", "mnist-8",
    "mnist-lenet", "mlperftiny_kws_ref_model", "mlperftiny_resnet8_cifar10", "mlperftiny_vww_96_float",
    "squeezenet_fp16",
)  # fmt: skip
"""The networks of ../shared/models whose output are scores of classes."""
CLASSES = 1000
"""The scores of networks of FOLDER that classify pictures."""
LEAST_SIDE = 24
"""The least rows and columns of a picture."""

Arrays = Mapping[str, Array]


@dataclass
class Errors:
    """How far results of `fast` are from those of `strict`, over all inputs of a network."""

    has_scores: bool
    inputs: int = 0
    scores: int = 0
    same: int = 0
    difference: float = 0.0
    cosine: float = 1.0

    def add(self, found: Arrays, expected: Arrays) -> None:
        self.inputs += 1
        for name, exact in expected.items():
            if exact.dtype.kind != "f" or not exact.size:
                continue
            a, b = (x[name].astype(np.float64).ravel() for x in (found, expected))
            self.difference = max(self.difference, difference(found[name], exact).overall)
            length = np.linalg.norm(a) * np.linalg.norm(b)
            self.cosine = min(self.cosine, float(a @ b / length) if length else 1.0)
            if self.has_scores:
                self.scores += 1
                self.same += int(a.argmax() == b.argmax())

    def cells(self) -> list[str]:
        agreement = f"{self.same} of {self.scores}" if self.scores else ""
        return [str(self.inputs), agreement, f"{self.difference:.1e}", f"{1 - self.cosine:.1e}"]


@dataclass
class Rounded:
    """The nodes that multiply bfloat16 in the last graph that a pass gave."""

    graph: Graph | None = field(default=None)

    def __call__(self, run: PassRun) -> None:
        self.graph = run.after

    @property
    def nodes(self) -> int:
        assert self.graph is not None
        return sum(isinstance(node.op, BfloatConv | BfloatMatMul) for node in self.graph.nodes)


def variants(given: Arrays) -> Iterator[Arrays]:
    """The inputs, and others made of them where one is a picture."""
    yield given
    for name, array in given.items():
        if array.dtype.kind == "f" and array.ndim == 4 and sum(n >= LEAST_SIDE for n in array.shape) == 2:
            rows, columns = (d for d, n in enumerate(array.shape) if n >= LEAST_SIDE)
            for changed in (
                np.flip(array, columns), np.flip(array, rows), np.roll(array, 8, columns), np.roll(array, -8, rows),
                array * 0.8, array * 1.2,
            ):  # fmt: skip
                yield {**given, name: np.ascontiguousarray(changed, dtype=array.dtype)}


def row(case: Case) -> list[str] | None:
    """The row of a network; None where nothing in it is rounded."""
    golden = read_golden(case.golden, case.inputs) if case.golden is not None else ({}, {})
    inputs, _ = case.arranged(*golden)
    constants = {name: inputs[name] for name in case.constants}
    shapes = {name: array.shape for name, array in inputs.items() if name not in constants} or case.shapes
    graph, parameters = read_model(case.model, shapes=shapes, constants=constants, inputs=case.inputs)
    rounded = Rounded()
    fast = runtime.load(build(graph, params=parameters, numerics="fast", observer=rounded))
    if not rounded.nodes:
        return None
    strict = runtime.load(build(graph, params=parameters, numerics="strict"))
    given = {p.name: inputs[p.name] for p in strict.inputs} if inputs else random_inputs(strict.inputs, 0)
    classifies = any(case.model.name.startswith(name) for name in CLASSIFIERS)
    errors = Errors(classifies or [p.shape for p in strict.outputs] == [(1, CLASSES)])
    for one in variants(given):
        errors.add(*(_results(model, one) for model in (fast, strict)))
    return [case.name, case.format, str(rounded.nodes), *errors.cells()]


def _results(model: Model, given: Arrays) -> dict[str, Array]:
    return {name: value.numpy() for name, value in model.run(given).items()}


def main() -> None:
    """Compare, print each row as it is known, and write the part of the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, metavar="FOLDER", help="more ONNX files, with static inputs")
    given = parser.parse_args()
    cases = [*models_of_others(), *models_of_formats()]
    if given.models is not None:
        cases += [Case(path.stem, path) for path in sorted(given.models.glob("*.onnx"))]
    rows = []
    for case in cases:
        found = None if case.refusal else row(case)
        if found is not None:
            print(" | ".join(found), flush=True)
            rows.append(found)
    head = ["network", "format", "rounded nodes", "inputs", "same largest score", "max\\|d\\|/max\\|r\\|", "1 - cosine"]
    write_part("rounding", table(head, rows))


if __name__ == "__main__":
    main()
