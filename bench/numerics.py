"""The rounding error of an element: `nox -s bench -- numerics`.

Products and convolutions on data with outliers, at each level of numerics and in onnxruntime, against float64. Errors
are the largest over the largest element of all, over that of the row or tile, and over Σ|w||x| of the element.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from page import table, write_part

from sateen import frontends, graph_ir, runtime
from sateen.frontends.onnx.double import layers_in_double
from sateen.frontends.onnx.engines import onnxruntime
from sateen.graph_ir.ir import Array
from sateen.graph_ir.judge import difference, element_difference
from sateen.topi.methods import NUMERICS

TOKENS, DEPTH, COLUMNS = 128, 768, 3072
PIXELS, CHANNELS = 56, 64


@dataclass(frozen=True)
class Case:
    """One node of ONNX and the data it is given."""

    name: str
    x: Array
    weight: Array

    def model(self) -> onnx.ModelProto:
        names = ["x", "w"], ["y"]
        spatial = self.weight.ndim == 4
        node = helper.make_node("Conv", *names, pads=[1] * 4) if spatial else helper.make_node("MatMul", *names)
        graph = helper.make_graph(
            [node],
            "numerics",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.x.shape)],
            [helper.make_empty_tensor_value_info("y")],
            [numpy_helper.from_array(self.weight, "w")],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    def rows(self, folder: Path) -> Iterator[list[str]]:
        """A row for each level, and one for onnxruntime."""
        path, given = folder / "model.onnx", {"x": self.x}
        onnx.save(self.model(), path)
        exact, terms = layers_in_double(path, given, ["y"])
        network, parameters = frontends.from_onnx(path)
        for level in NUMERICS:
            artifact = graph_ir.build(network, params=parameters, numerics=level)
            yield [self.name, level, *_errors(runtime.load(artifact).run(given)["y"].numpy(), exact["y"], terms["y"])]
        yield [self.name, "onnxruntime", *_errors(onnxruntime(path, threads=1)(given)["y"], exact["y"], terms["y"])]


def _errors(found: Array, exact: Array, terms: Array) -> list[str]:
    apart = difference(found, exact.astype(np.float32))
    return [f"{e:.1e}" for e in (apart.overall, apart.local, element_difference(found, exact, terms))]


def cases() -> Iterator[Case]:
    """Data as in trained networks, without and with large elements."""
    random = np.random.default_rng(0)
    x = random.standard_normal((1, TOKENS, DEPTH), np.float32)
    w = random.standard_normal((DEPTH, COLUMNS), np.float32) / np.float32(DEPTH**0.5)
    token, feature, zeros = x.copy(), x.copy(), x.copy()
    token[:, 0] *= 1e3
    feature[..., 7] *= 1e3
    zeros[:, TOKENS // 2 :] = 0
    yield Case("product", x, w)
    yield Case("product, a token 1000 times as large", token, w)
    yield Case("product, a feature 1000 times as large", feature, w)
    yield Case("product, half of the tokens zero", zeros, w)
    x = random.standard_normal((1, CHANNELS, PIXELS, PIXELS), np.float32)
    w = random.standard_normal((CHANNELS, CHANNELS, 3, 3), np.float32) / np.float32(3 * CHANNELS**0.5)
    pixel, channel = x.copy(), x.copy()
    pixel[..., 20, 20] = 1e6
    channel[:, 3] *= 1e5
    yield Case("convolution", x, w)
    yield Case("convolution, inputs far from zero", x + np.float32(1e4), w)
    yield Case("convolution, a pixel of 1e6", pixel, w)
    yield Case("convolution, a channel 1e5 times as large", channel, w)
    scales = np.logspace(-6, 2, CHANNELS, dtype=np.float32).reshape(-1, 1, 1, 1)
    yield Case("convolution, channels of 1e-6 to 100", x, w * scales)


def main() -> None:
    """Measure, and write the part of the page."""
    rows: list[list[str]] = []
    with TemporaryDirectory() as folder:
        for case in cases():
            for row in case.rows(Path(folder)):
                print(" | ".join(row), flush=True)
                rows.append(row)
    head = ["data", "numerics", "of the largest", "of the largest near", "of the terms"]
    write_part("numerics", table(head, rows))


if __name__ == "__main__":
    main()
