"""Figures of the graph compiler and the artifact: `nox -s bench -- graph [--models FOLDER]`.

The networks are those of sateen.graph_ir.workloads with seeded weights, written as ONNX files; of a FOLDER, the first
file whose name begins with resnet18, resnet50, squeezenet or vgg16 is taken in place of each, and one that begins with
bert is compiled, too. `sateen compile` runs in a process of its own with an empty cache (cold), then with what that
left there (warm); its time is that of the whole process, its memory the largest sum over the processes of the tree,
pages that they share counted once. Ratios are of medians of samples that are taken in turns.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from time import perf_counter, process_time, thread_time
from typing import Any

import numpy as np
import onnx
import onnxruntime  # type: ignore[import-untyped]
from compile_process import Compilation
from onnx import TensorProto, helper
from page import Figure, write_figures
from workload_files import IR_VERSION, OPSET, chain_file, network_file, products_file

from sateen import runtime
from sateen.frontends import from_onnx
from sateen.graph_ir import Graph, GraphBuilder, build, default_pipeline, run_pipeline, workloads
from sateen.graph_ir.compile import lower_network
from sateen.graph_ir.ops import Relu
from sateen.runtime import Target, VerifiedFiles

MEGABYTE = 1 << 20

CONVOLUTIONAL: dict[str, Callable[[], Graph]] = {
    "alexnet": workloads.alexnet,
    "densenet": workloads.densenet,
    "googlenet": workloads.googlenet,
    "inception v3": workloads.inception_v3,
    "mobilenet": workloads.mobilenet,
    "mobilenet v2": workloads.mobilenet_v2,
    "nin": workloads.nin,
    "resnet-18": workloads.resnet,
    "resnet-50": lambda: workloads.resnet(50),
    "squeezenet": workloads.squeezenet,
    "vgg-16": workloads.vgg,
}


def spread(samples: list[float]) -> float:
    """The distance between the quartiles."""
    low, _, high = quantiles(samples, n=4)
    return high - low


def _compile_times(what: str, model: Path, asked: dict[str, float], folder: Path) -> Iterator[Figure]:
    """The seconds of three processes with an empty cache (cold), or with what the one before left there (warm)."""
    runs: dict[str, list[Compilation]] = {name: [] for name in asked}
    for index in range(3):
        cache = folder / f"{model.stem}-cache{index}"
        for found in runs.values():
            found.append(Compilation(model, folder / f"{model.stem}.sateen", cache, sampled=False))
    for name, found in runs.items():
        seconds = [run.seconds for run in found]
        detail = f"{median(run.cpu_seconds for run in found):.1f} s of processor time"
        width = max(seconds) - min(seconds)
        yield Figure(
            f"{what}, ONNX to artifact, {name}", asked[name], median(seconds), width, "s", detail, at_most=True
        )


def compile_figures(file: Callable[[str], Path], models: Path | None, folder: Path) -> Iterator[Figure]:
    """ResNet-50, BERT where there is a file of it, many nodes and many products; VGG-16's memory, the code of
    SqueezeNet."""
    yield from _compile_times("ResNet-50", file("resnet50"), {"cold": 4, "warm": 1.5}, folder)
    for bert in [] if models is None else sorted(models.glob("bert*.onnx"))[:1]:
        yield from _compile_times("BERT", bert, {"cold": 5, "warm": 1.5}, folder)
    yield from _compile_times("10,000 small nodes", chain_file(10_000, folder), {"cold": 5}, folder)
    yield from _compile_times("300 products, no two of a shape", products_file(300, folder), {"cold": 15}, folder)
    most = [
        Compilation(file("vgg16"), folder / "vgg16.sateen", folder / f"vgg{i}").most_bytes / (1 << 30) for i in range(2)
    ]
    yield Figure(
        "VGG-16, peak memory of the compiler's processes", 2, max(most), max(most) - min(most), "GB", at_most=True
    )
    Compilation(file("squeezenet"), folder / "squeezenet.sateen", folder / "squeezenet-cache")
    artifact = runtime.read_artifact(folder / "squeezenet.sateen")
    code = len(artifact.library) / 1024
    yield Figure("SqueezeNet, code without parameters", 150, code, 0, "KB", at_most=True)


def one_node_figures(folder: Path) -> Iterator[Figure]:
    """A model of one node, from the file to the artifact, in a process that has compiled before."""
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (4, 64)) for name in ("x", "y")]
    seconds = []
    for index in range(12):  # a bound that is new each time, so that nothing is known from before
        bound = helper.make_tensor("bound", TensorProto.FLOAT, (), [float(index)])
        graph = helper.make_graph(
            [helper.make_node("Max", ["x", "bound"], ["y"])], "one", values[:1], values[1:], [bound]
        )
        opsets = [helper.make_opsetid("", OPSET)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION), str(folder / "one.onnx"))
        start = process_time()
        network, parameters = from_onnx(folder / "one.onnx")
        build(network, params=parameters).save(folder / "one.sateen")
        seconds.append(process_time() - start)
    yield Figure(
        "a model of one node, ONNX to artifact", 0.2, median(seconds[1:]), spread(seconds[1:]), "s", at_most=True
    )


def loading_figures(trained: Path, packed: Path, folder: Path) -> Iterator[Figure]:
    """Artifacts of ResNet-50, whose pages the system has in memory: one that packs parameters, and one that has them
    packed."""

    def milliseconds(artifact: Path, verified: VerifiedFiles | None) -> list[float]:
        samples = []
        for _ in range(15):
            start = perf_counter()
            runtime.load(artifact, verified=verified).close()
            samples.append(1e3 * (perf_counter() - start))
        return samples

    before = process_time()
    first = milliseconds(trained, None)
    worked = 1e3 * (process_time() - before) / len(first)
    detail = f"{trained.stat().st_size / MEGABYTE:.0f} MB, {worked:.0f} ms of processor time"
    yield Figure("ResNet-50, first load", 120, median(first), spread(first), "ms", detail, at_most=True)
    notes = VerifiedFiles(folder / "verified")
    runtime.load(packed, verified=notes).close()
    again = milliseconds(packed, notes)
    detail = f"{packed.stat().st_size / MEGABYTE:.0f} MB, packed"
    yield Figure("ResNet-50, load when verified before", 15, median(again), spread(again), "ms", detail, at_most=True)


def call_figures() -> Iterator[Figure]:
    """Model.run on NumPy arrays, with fresh outputs, less the bound call of the same function."""
    g = GraphBuilder("tiny")
    g.output(g.add(Relu(), g.input("x", "float32", (4, 4))))
    model = runtime.load(build(g.finish()))
    x = np.zeros((4, 4), np.float32)
    module = runtime.load_module(model.artifact.library)
    blocks = [runtime.empty(p.shape, "uint8") for p in module["run"].signature.parameters[-2:]]  # type: ignore[arg-type]
    bound = module["run"].bind(x, runtime.empty((4, 4)), *blocks)

    def microseconds(call: Callable[[], object]) -> float:
        start = thread_time()
        for _ in range(1000):
            call()
        return 1e3 * (thread_time() - start)

    costs = [microseconds(lambda: model.run({"x": x})) - microseconds(bound) for _ in range(30)]
    yield Figure("a call with tiny inputs, beyond the kernels", 20, median(costs), spread(costs), "us", at_most=True)


def peer_figures(file: Callable[[str], Path]) -> Iterator[Figure]:
    """ResNet-18 beside onnxruntime, one thread each."""
    path = file("resnet18")
    graph, parameters = from_onnx(path)
    model = runtime.load(build(graph, params=parameters), threads=1)
    (parameter,) = model.inputs
    data = np.random.default_rng(0).standard_normal(parameter.shape, np.float32)  # type: ignore[arg-type]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    calls: list[Callable[[], Any]] = [
        lambda: model.run({parameter.name: data}),
        lambda: session.run(None, {parameter.name: data}),
    ]
    pairs = [[_cpu_seconds(call) for call in calls] for _ in range(25)]
    ours, theirs = (median(column) for column in zip(*pairs, strict=True))
    ratios = [a / b for a, b in pairs]
    detail = f"{1e3 * ours:.1f} ms and {1e3 * theirs:.1f} ms"
    yield Figure("ResNet-18, time over onnxruntime's, one thread", 1.5, ours / theirs, spread(ratios), "", detail, True)


def _cpu_seconds(call: Callable[[], object]) -> float:
    start = thread_time()
    call()
    return thread_time() - start


def memory_figures() -> Iterator[Figure]:
    """The planned workspace over the most bytes that live at one time, kernels' scratch counted in both."""
    target = Target.of("llvm")
    ratios = {}
    for name, network in CONVOLUTIONAL.items():
        plan = lower_network(run_pipeline(network(), default_pipeline(target)), target).plan
        ratios[name] = plan.workspace_bytes / plan.least_bytes
    worst = max(ratios, key=lambda name: ratios[name])
    detail = f"largest of {len(ratios)} convolutional networks: {worst}"
    yield Figure("planned memory over its bound", 1.15, ratios[worst], 0, "", detail, at_most=True)


def figures(models: Path | None, folder: Path) -> Iterator[Figure]:
    def file(name: str) -> Path:
        return network_file(name, folder, models)

    yield from compile_figures(file, models, folder)
    yield from one_node_figures(folder)
    packed = folder / "packed.sateen"
    Compilation(file("resnet50"), packed, folder / "cache0", "--parameters", "packed")
    yield from loading_figures(folder / f"{file('resnet50').stem}.sateen", packed, folder)
    yield from call_figures()
    yield from peer_figures(file)
    yield from memory_figures()


def main() -> None:
    """Measure everything, print each line as it is known, write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, metavar="FOLDER", help="ONNX files to take in place of the workloads")
    models: Path | None = parser.parse_args().models
    measured = []
    with TemporaryDirectory() as folder:
        for figure in figures(models, Path(folder)):
            measured.append(figure)
            print(figure.row(), flush=True)
    write_figures("graph", measured)


if __name__ == "__main__":
    main()
