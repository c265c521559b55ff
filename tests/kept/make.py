"""Compile the artifacts that are kept here: `python tests/kept/make.py` makes those that are missing, and no others.

A kept artifact is what a user has on a disk: compiled once, by the sateen of its day, and run by every later
sateen-runtime. A file made anew would hide that an old one no longer runs, so this program never writes over one; what
another format or operator brings gets a new name. Each is for x86-64-v2 on Linux, a few tens of KB, and has beside it
its inputs and the outputs of the graph interpreter, which sums in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sateen import runtime
from sateen.graph_ir import Graph, GraphBuilder, build, interpret, workloads
from sateen.graph_ir.ops import (
    LSTM,
    Add,
    And,
    ArgMax,
    Cast,
    Concat,
    Conv,
    Divide,
    Equal,
    Gather,
    HardSwish,
    If,
    Less,
    Loop,
    MatMul,
    Modulo,
    Multiply,
    Negative,
    Not,
    ReduceSum,
    Relu,
    Reshape,
    Resize,
    Split,
    Tanh,
    TopK,
    Where,
    Xor,
)
from sateen.graph_ir.workloads.network import Network
from sateen.runtime import DType
from sateen.runtime.artifact import packed

Array = np.ndarray[Any, Any]
FOLDER = Path(__file__).parent
TARGET = "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v2"


def winograd_convolution() -> Graph:
    """3x3 convolutions, the first by Winograd's method, and a pool between them."""
    n = Network("winograd_convolution")
    x = n.conv_relu(n.input("data", "float32", (1, 16, 16, 16)), 16, 3, pad=1)
    return n.end(n.conv_relu(n.max_pool(x, 2, 2), 16, 3, pad=1))


def packed_at_load() -> Graph:
    """A convolution by Winograd's method, whose weight the artifact's code transforms when it is loaded."""
    n = Network("packed_at_load")
    return n.end(n.conv_relu(n.input("data", "float32", (1, 16, 12, 12)), 16, 3, pad=1))


def direct_convolution() -> Graph:
    """Direct convolutions with strides, padding, dilation and a folded batch normalization, in blocked layouts."""
    n = Network("direct_convolution")
    x = n.conv_norm_relu(n.input("data", "float32", (1, 3, 20, 20)), 12, 5, stride=2, pad=2)
    w = n.weight("weight", 7, 12, 3, 3, fan_in=108)
    return n.classify(n.global_average(n.add(Conv(dilations=(2, 2), pads=(2, 2, 2, 2), strides=(1, 1)), x, w)), 10)


def depthwise_convolution() -> Graph:
    n = Network("depthwise_convolution")
    x = n.conv_norm_relu(n.input("data", "float32", (1, 24, 12, 12)), 24, 3, pad=1, groups=24)
    return n.end(n.add(HardSwish(), n.conv(x, 10, 1)))


def transformer_block() -> Graph:
    """Matrix products, softmax, layer normalization, gelu, transposes."""
    return workloads.transformer(length=12, width=32, heads=2)


def lstm_with_state() -> Graph:
    """The states go in and come out, as a caller hands them from one call to the next."""
    n = Network("lstm_with_state")
    x = n.input("data", "float32", (4, 1, 12))
    state, cell = n.input("state", "float32", (1, 1, 16)), n.input("cell", "float32", (1, 1, 16))
    weights = [
        n.weight("weight", 1, 64, 12, fan_in=12),
        n.weight("recurrence", 1, 64, 16, fan_in=16),
        n.weight("bias", 1, 128, fan_in=16),
    ]
    names = ("outputs", "next_state", "next_cell")
    return n.end(*n.add_all(LSTM(hidden_size=16), x, *weights, None, state, cell, names=names))


def integers_and_booleans() -> Graph:
    g = GraphBuilder("integers_and_booleans")
    a, b = g.input("a", "int64", (5, 7)), g.input("b", "int64", (5, 7))
    mask = g.input("mask", "bool", (7,))
    less = g.add(Less(), a, b, name="less")
    both = g.add(Xor(), g.add(And(), less, mask), g.add(Not(), g.add(Equal(), a, b)))
    quotient = g.add(Divide(), a, b)
    chosen = g.add(Where(), both, g.add(Add(), quotient, g.add(Modulo(), a, b)), g.add(Negative(), b))
    g.output(
        less, chosen, g.add(ArgMax(axis=1), chosen), g.add(Cast(DType.of("int32")), g.add(ReduceSum(axes=(0,)), chosen))
    )
    return g.finish()


def half_precision() -> Graph:
    """float16 in memory, float32 inside a kernel."""
    g = GraphBuilder("half_precision")
    random = np.random.default_rng(1)
    x = g.input("data", "float16", (6, 20))
    w = g.parameter("weight", (random.standard_normal((20, 17)) / 4).astype(np.float16))
    g.output(g.add(Tanh(), g.add(MatMul(), x, w)))
    return g.finish()


def parallel_kernels() -> Graph:
    """Kernels large enough to be divided among threads."""
    g = GraphBuilder("parallel_kernels")
    x = g.input("data", "float32", (256, 48))
    w = g.parameter("weight", np.random.default_rng(2).standard_normal((48, 64)).astype(np.float32))
    g.output(g.add(Relu(), g.add(MatMul(), g.add(Tanh(), x), w)))
    return g.finish()


def inputs_and_outputs() -> Graph:
    """Several of both, a scalar among them, joined and divided."""
    g = GraphBuilder("inputs_and_outputs")
    a, b = g.input("a", "float32", (2, 3)), g.input("b", "float32", (2, 5))
    factor = g.input("factor", "float32", ())
    joined = g.add(Multiply(), g.add(Concat(axis=1), a, b), factor, name="joined")
    g.output(
        joined, *g.add_all(Split(axis=1, sizes=(1, 4, 3)), g.add(Tanh(), joined), names=("left", "middle", "right"))
    )
    return g.finish()


def running_sum() -> Graph:
    """A state that the caller hands on; the tests of sateen-runtime have a copy of the file."""
    g = GraphBuilder("running_sum")
    x, total = g.input("x", "float32", (2, 3)), g.input("total", "float32", (2, 3))
    weight = g.parameter("weight", np.array([[1, 2, 0], [0, 1, -1], [3, 0, 1]], np.float32))
    y = g.add(Relu(), g.add(MatMul(), x, weight), name="y")
    g.output(y, g.add(Add(), y, total, name="next_total"))
    return g.finish()


def sorting() -> Graph:
    g = GraphBuilder("sorting")
    x = g.input("data", "float32", (3, 40))
    values, places = g.add_all(TopK(k=6, axis=1), x, names=("values", "places"))
    g.output(values, places, g.add(Gather(axis=1), x, g.parameter("columns", np.array([39, 0, 7]))))
    return g.finish()


def resizing() -> Graph:
    g = GraphBuilder("resizing")
    x = g.input("data", "float32", (1, 2, 6, 5))
    g.output(
        g.add(Resize(sizes=(1, 2, 13, 9), mode="linear"), x, name="linear"),
        g.add(Resize(sizes=(1, 2, 12, 10), mode="nearest", coordinate_transformation="asymmetric"), x, name="nearest"),
        g.add(Resize(sizes=(1, 2, 4, 8), mode="cubic"), x, name="cubic"),
    )
    return g.finish()


def branches() -> Graph:
    """Two choices between a product of matrices and a tanh, of which one takes each branch."""
    one, other = GraphBuilder("product"), GraphBuilder("tanh")
    weight = one.parameter("weight", np.random.default_rng(3).standard_normal((4, 4)).astype(np.float32))
    one.output(one.add(Relu(), one.add(MatMul(), one.input("x", "float32", (3, 4)), weight)))
    other.output(other.add(Tanh(), other.input("x", "float32", (3, 4))))
    choose = If(one.finish(), other.finish())
    g = GraphBuilder("branches")
    condition, x = g.input("condition", "bool", ()), g.input("data", "float32", (3, 4))
    chosen = g.add(choose, condition, g.add(Add(), x, x), name="chosen")
    g.output(chosen, g.add(choose, g.add(Not(), condition), chosen, name="other"))
    return g.finish()


def loop() -> Graph:
    """Iterations that hand on a value, read another, and give one each."""
    body = GraphBuilder("body")
    body.input("iteration", "int64", ())
    state, step = body.input("state", "float32", (2, 3)), body.input("step", "float32", (2, 3))
    following = body.add(Tanh(), body.add(Add(), state, step), name="following")
    body.output(following, body.add(Multiply(), following, step, name="given"))
    g = GraphBuilder("loop")
    values = g.input("state", "float32", (2, 3)), g.input("step", "float32", (2, 3))
    g.output(*g.add_all(Loop(body.finish(), count=5, carried=1), *values, names=("last", "all")))
    return g.finish()


def unknown_section() -> Graph:
    """The file has a section of a name that no reader knows, which is not required."""
    g = GraphBuilder("unknown_section")
    x = g.input("data", "float32", (4, 4))
    g.output(g.add(Reshape(shape=(16,)), g.add(Relu(), x)))
    return g.finish()


NETWORKS: Mapping[str, Callable[[], Graph]] = {
    f.__name__: f
    for f in (
        winograd_convolution,
        packed_at_load,
        direct_convolution,
        depthwise_convolution,
        transformer_block,
        lstm_with_state,
        integers_and_booleans,
        half_precision,
        parallel_kernels,
        inputs_and_outputs,
        running_sum,
        sorting,
        resizing,
        branches,
        loop,
        unknown_section,
    )
}


def drawn(graph: Graph) -> dict[str, Array]:
    """Inputs from a seed: floats of a normal distribution, integers from 1 to 9, booleans."""
    random = np.random.default_rng(0)
    arrays = {}
    for v in graph.inputs:
        dtype, shape = v.type.dtype, v.type.static_shape
        if dtype.is_float:
            arrays[v.name] = np.asarray(random.standard_normal(shape)).astype(dtype.numpy)
        else:
            low, high = (0, 2) if dtype.is_bool else (1, 10)
            arrays[v.name] = random.integers(low, high, shape).astype(dtype.numpy)
    return arrays


def make(name: str, graph: Graph) -> None:
    """Write NAME.sateen and NAME.npz."""
    artifact = build(graph, TARGET)
    content = artifact.to_bytes()
    if name == "unknown_section":
        content = with_section(artifact, "notes of a later version", b"ignored")
    inputs = drawn(graph)
    arrays = {f"in/{n}": a for n, a in inputs.items()}
    arrays |= {f"out/{n}": a for n, a in interpret(graph, inputs).items()}
    np.savez_compressed(FOLDER / f"{name}.npz", allow_pickle=False, **arrays)
    (FOLDER / f"{name}.sateen").write_bytes(content)


def with_section(artifact: runtime.Artifact, name: str, data: bytes) -> bytes:
    """The file of an artifact with one more section, which is not required."""
    sections = {"library": artifact.library, "parameters": artifact.parameters, name: data}
    return packed(artifact.fields(), sections, optional=(name,))


if __name__ == "__main__":
    for name, network in NETWORKS.items():
        if not (FOLDER / f"{name}.sateen").exists():
            make(name, network())
