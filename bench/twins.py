"""Networks written for channels last beside their twins for channels first: `nox -s bench -- twins`.

Both compute the same from the same weights and pictures. Their runs are taken in turns, on one thread. A network is as
fast as its twin if the ratio of medians is at most 1.03. Besides the transposes that the picture and the result need,
none may be left.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import thread_time

import numpy as np
from graph import spread
from page import Figure, write_figures

from sateen import runtime
from sateen.graph_ir import Graph, build, default_pipeline, run_pipeline, workloads
from sateen.graph_ir.compile import lower_network
from sateen.graph_ir.ops import Transpose
from sateen.runtime import Model, Target

NETWORKS: dict[str, Callable[[], Graph]] = {
    "densenet": workloads.densenet,
    "inception v3": workloads.inception_v3,
    "mobilenet": workloads.mobilenet,
    "mobilenet v2": workloads.mobilenet_v2,
    "resnet-18": workloads.resnet,
    "resnet-50": lambda: workloads.resnet(50),
    "squeezenet": workloads.squeezenet,
    "vgg-16": workloads.vgg,
}
RUNS = 40
MOST = 1.03
"""The largest ratio of the time of a network to that of its twin."""


def transposed_bytes(graph: Graph) -> int:
    """The bytes that transposes move in the network as it is compiled, those of the picture apart."""
    network = lower_network(run_pipeline(graph, default_pipeline(Target.of("llvm"))), Target.of("llvm")).graph
    nodes = [node for group in network.nodes for node in group.op.body.nodes]  # type: ignore[attr-defined]
    pictures = {v.type.bytes for v in graph.inputs}
    moved = [node.outputs[0].type.bytes for node in nodes if isinstance(node.op, Transpose)]
    return sum(size for size in moved if size not in pictures)


def _seconds(model: Model, inputs: dict[str, np.ndarray]) -> float:
    start = thread_time()
    model.run(inputs)
    return thread_time() - start


def compared(name: str, graph: Graph) -> Figure:
    """The time of the network for channels last over that of its twin."""
    twin = workloads.channels_last(graph)
    (picture,) = graph.inputs
    first = np.random.default_rng(0).standard_normal(picture.type.static_shape, np.float32)
    last = np.ascontiguousarray(first.transpose(0, 2, 3, 1))
    models = [runtime.load(build(one), threads=1) for one in (twin, graph)]
    arrays = [{picture.name: last}, {picture.name: first}]
    found = [next(iter(m.run(a).values())).numpy() for m, a in zip(models, arrays, strict=True)]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-3, atol=1e-5 * float(np.abs(found[0]).max()))
    pairs = [[_seconds(m, a) for m, a in zip(models, arrays, strict=True)] for _ in range(RUNS)]
    ours, theirs = (median(column) for column in zip(*pairs, strict=True))
    detail = f"{1e3 * ours:.1f} ms and {1e3 * theirs:.1f} ms; {transposed_bytes(twin)} bytes transposed within"
    return Figure(f"{name}, channels last over channels first", MOST, ours / theirs, spread([a / b for a, b in pairs]),
                  "", detail, at_most=True)  # fmt: skip


def main() -> None:
    """Measure all networks, print each line as it is known, write the page."""
    measured = []
    for name, network in NETWORKS.items():
        measured.append(compared(name, network()))
        print(measured[-1].row(), flush=True)
    write_figures("twins", measured)


if __name__ == "__main__":
    main()
