"""Ensembles of trees beside onnxruntime: `nox -s bench -- forests`.

Seeded trees of the sizes that scikit-learn, LightGBM and XGBoost write, for a row, a batch and a table of rows. Both
engines take their samples in turns, on one thread, and must give the same sums. A ratio is the median of the ratios.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
from graph import spread
from onnx import ModelProto, TensorProto, helper
from page import Figure, write_figures

from sateen import runtime
from sateen.frontends import from_onnx
from sateen.graph_ir import build

Engine = Callable[[np.ndarray], np.ndarray]
Columns = dict[str, Any]
"""Attributes of an ensemble: lists, of a number or a word for each node."""

FEATURES = 30
ROWS = (1, 100, 10_000)
SAMPLES = 30
DIFFERENT = 1_000
"""The rows of a sample. They differ: the processor learns the ways of one row that is asked for again and again."""


@dataclass(frozen=True)
class Forest:
    """An ensemble: so many trees with as many levels, each of whose nodes decides with this probability."""

    trees: int
    levels: int
    decides: float
    targets: int = 1

    def model(self) -> ModelProto:
        """The ensemble as a TreeEnsembleRegressor of ai.onnx.ml 3, with float32 features."""
        rng = np.random.default_rng(0)
        nodes: Columns = {f"nodes_{name}": [] for name in NODE}
        leaves: Columns = {f"target_{name}": [] for name in LEAF}
        for tree in range(self.trees):
            self._grow(tree, nodes, leaves, rng)
        ensemble = helper.make_node(
            "TreeEnsembleRegressor", ["x"], ["y"], "ensemble", domain="ai.onnx.ml", n_targets=self.targets, **nodes,
            **leaves,
        )  # fmt: skip
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", FEATURES])
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", self.targets])
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
        return helper.make_model(helper.make_graph([ensemble], "forest", [x], [y]), opset_imports=opsets, ir_version=8)

    def _grow(self, tree: int, nodes: Columns, leaves: Columns, rng: np.random.Generator) -> None:
        """A tree, level by level: its nodes are numbered in the order in which they are reached."""
        level, made = [0], 1
        for depth in range(self.levels + 1):
            following: list[int] = []
            for node in level:
                splits = depth < self.levels and (depth < 2 or rng.random() < self.decides)
                children = (made, made + 1) if splits else (0, 0)
                if splits:
                    following += children
                    made += 2
                else:
                    for name, value in zip(LEAF, (tree, node, node % self.targets, rng.normal()), strict=True):
                        leaves[f"target_{name}"].append(value)
                mode = "BRANCH_LEQ" if splits else "LEAF"
                told = (tree, node, int(rng.integers(FEATURES)), float(rng.normal()), mode, *children)
                for name, field in zip(NODE, told, strict=True):
                    nodes[f"nodes_{name}"].append(field)
            level = following


NODE = ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")
LEAF = ("treeids", "nodeids", "ids", "weights")
FORESTS = {
    "boosted, 100 trees of 6 levels": Forest(100, 6, 0.95),
    "boosted, 1,000 trees of 6 levels": Forest(1000, 6, 0.95),
    "bagged, 100 trees of 20 levels": Forest(100, 20, 0.75),
    "bagged, 100 trees of 10 levels, 10 targets": Forest(100, 10, 0.9, 10),
}


def compared(name: str, forest: Forest, rows: int) -> Figure:
    """The time of onnxruntime over ours."""
    model = forest.model()
    graph, params = from_onnx(model, dims={"rows": rows})
    ours = runtime.load(build(graph, params=params), threads=1)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    theirs = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    shape = (max(1, DIFFERENT // rows), rows, FEATURES)
    tables = list(np.random.default_rng(1).standard_normal(shape, np.float32))
    engines: list[Engine] = [lambda x: theirs.run(None, {"x": x})[0], lambda x: ours.run({"x": x})["y"].numpy()]
    np.testing.assert_allclose(engines[1](tables[0]), engines[0](tables[0]), rtol=1e-4, atol=1e-4)
    pairs = [[_seconds(run, tables) for run in engines] for _ in range(SAMPLES)]
    ratios = [a / b for a, b in pairs]
    detail = "{:.4g} ms and {:.4g} ms".format(*(1e3 * median(column) for column in zip(*pairs, strict=True)))
    called = f"{name}, {rows} row{'s' * (rows > 1)}, onnxruntime over ours"
    return Figure(called, 1.0, median(ratios), spread(ratios), "", detail)


def _seconds(run: Engine, tables: Sequence[np.ndarray]) -> float:
    """The time of a call."""
    start = perf_counter()
    for table in tables:
        run(table)
    return (perf_counter() - start) / len(tables)


def main() -> None:
    """Measure all, print each line as it is known, write the page."""
    measured = []
    for name, forest in FORESTS.items():
        for rows in ROWS:
            measured.append(compared(name, forest, rows))
            print(measured[-1].row(), flush=True)
    write_figures("forests", measured)


if __name__ == "__main__":
    main()
