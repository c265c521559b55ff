"""Each family of operators against its limit and onnxruntime: `nox -s bench -- operators [FAMILY…]`.

Networks of one node, compiled as `sateen compile` does, run beside onnxruntime's in turns, one thread each, timed by
the thread's CPU time. What a call costs without a node, measured with a network of one element, is taken off both. The
limit of a node is the time that its bytes take at the measured bandwidth of the cache that holds them, or its
multiply-adds at the measured peak, whichever is longer; a recurrent layer reads its recurrent weights at every step. A
node has met its goal where it runs at 60 % of its limit, or takes at most 1.3 of onnxruntime's time. Without names of
families the page is written.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from statistics import median, quantiles
from time import thread_time
from typing import Any

import numpy as np
import onnx
from operator_cases import Case, cases, data
from page import table, write_part

from sateen import frontends, graph_ir, runtime
from sateen.graph_ir import default_pipeline
from sateen.graph_ir.ir import Graph, Node, Value
from sateen.graph_ir.judge import difference
from sateen.graph_ir.ops import ConvertLayout
from sateen.graph_ir.passes import first_layouts, pass_name
from sateen.tensor_ir import Machine, PeakMeter, build_functions, lower, te
from sateen.tensor_ir.ir.expr import Var, const
from sateen.tensor_ir.ir.stmt import For, LoopKind
from sateen.topi.computations.reductions import reduce
from sateen.topi.schedules import schedule_injective, shape_of
from sateen.topi.types import Layout, View, pack, unpack

Array = np.ndarray[Any, Any]
TARGET = runtime.Target.host()
MACHINE = Machine.of(TARGET)
SAMPLES = 25
onnxruntime: Any = import_module("onnxruntime")  # it has no types
LEAST_SECONDS = 1e-3
ENOUGH_OF_LIMIT = 0.6
MOST_OF_PEER = 1.3


class Call:
    """Something to time, repeated within a sample for as long as a clock needs."""

    def __init__(self, run: Callable[[], object]) -> None:
        self.run = run
        run()
        self.number = 1
        while (seconds := self._measure()) < LEAST_SECONDS:
            self.number = int(self.number * min(10.0, 1.2 * LEAST_SECONDS / max(seconds, 1e-9))) + 1
        self.samples: list[float] = []

    def _measure(self) -> float:
        start = thread_time()
        for _ in range(self.number):
            self.run()
        return thread_time() - start

    def sample(self) -> None:
        self.samples.append(self._measure() / self.number)

    @property
    def seconds(self) -> float:
        return median(self.samples)


def in_turns(*calls: Call) -> None:
    for _ in range(SAMPLES):
        for call in calls:
            call.sample()


@dataclass(frozen=True)
class Bandwidth:
    """The bandwidth of one core for data of a size that it reads or writes repeatedly, in bytes per second."""

    size: float
    read: float
    write: float
    copy: float

    def seconds(self, read: float, written: float) -> float:
        """Bytes that are read and written in equal numbers go at the rate of a copy, the rest alone."""
        both = min(read, written)
        return 2 * both / self.copy + (read - both) / self.read + (written - both) / self.write


def bandwidths() -> list[Bandwidth]:
    """Bandwidths for sizes in powers of two, from half of the first cache to more than all caches hold."""
    size, found = MACHINE.l1_bytes // 2, []
    while size < 4 * MACHINE.l3_bytes:
        found.append(Bandwidth(size, *_streams(size)))
        size *= 2
    return [*found, Bandwidth(float("inf"), *_streams(size))]


def _streams(size: int) -> tuple[float, float, float]:
    """Bytes per second read, written and copied by loops of whole vectors over `size` bytes."""
    count = size // 4
    x, half = (te.placeholder((n,), name="x") for n in (count, count // 2))
    total = reduce(View(x, (count,), Layout.row_major(1)), (0,), True, "max")
    filled = te.compute((count,), lambda i: te.const(1.0, "float32"), name="filled")
    copied = te.compute((count // 2,), lambda i: half[i], name="copied")

    rounds = max(1, (1 << 24) // size)

    def call(output: te.Tensor, inputs: Sequence[te.Tensor], schedule: Callable[..., None]) -> Call:
        s = te.create_schedule(output)
        schedule(s, output, MACHINE)
        arrays = [runtime.empty(shape_of(t), "float32") for t in (*inputs, output)]
        for array in arrays:
            array.numpy()[:] = 1.0
        once = lower(s, [*inputs, output], "stream")
        again = replace(once, body=For(Var("round"), const(0), const(rounds), LoopKind.SERIAL, once.body))
        return Call(build_functions([again]).module.with_threads(1)["stream"].bind(*arrays))

    calls = (
        call(total.view.tensor, [x], total.schedule_on(MACHINE)),
        call(filled, [], schedule_injective),
        call(copied, [half], schedule_injective),
    )
    in_turns(*calls)
    read, write, copy = (rounds * size / c.seconds for c in calls)
    return read, write, copy


def opened(graph: Graph) -> Graph:
    """The graph without conversions of layouts at its ends: inputs and outputs have the layouts of the inside."""
    inputs: dict[Value, Value] = {}
    outputs: dict[Value, Value] = {}
    nodes: list[Node] = []
    readers = graph.consumers()
    for node in graph.nodes:
        (result, *_), source = node.outputs, node.inputs[0]
        if isinstance(node.op, ConvertLayout) and source in graph.inputs and len(readers[source]) == 1:
            inputs[source] = Value(source.name, result.type)
            outputs[result] = inputs[source]
        elif isinstance(node.op, ConvertLayout) and result in graph.outputs and source is not None:
            outputs[result] = outputs.get(source, source)
        else:
            operands = tuple(v if v is None else outputs.get(v, v) for v in node.inputs)
            nodes.append(replace(node, inputs=operands))
    results = tuple(outputs.get(v, v) for v in graph.outputs)
    return Graph(graph.name, tuple(inputs.get(v, v) for v in graph.inputs), graph.parameters, tuple(nodes), results)


def blocked(graph: Graph) -> Graph:
    """Data in blocks of channels, if there are enough channels, and each node in its best layout for that."""
    builder = graph_ir.GraphBuilder(graph.name)
    lanes = MACHINE.lanes()
    found: dict[Value, Value] = {}
    for v in graph.inputs:
        builder.declare(v)
        channels = v.type.shape[1] if v.type.rank >= 3 else 1
        if isinstance(channels, int) and channels % lanes == 0:
            found[v] = builder.add(ConvertLayout(Layout.blocked(v.type.rank, 1, lanes)), v)
    for v, constant in graph.parameters.items():
        found[v] = builder.typed_parameter(v.name, v.type, constant)
    for node in graph.nodes:
        builder.append(replace(node, inputs=tuple(v and found.get(v, v) for v in node.inputs)))
    builder.output(*graph.outputs)
    return first_layouts(builder.finish(), MACHINE)


class Ours:
    """A case compiled by sateen, its data in the layout in which the node runs."""

    def __init__(self, case: Case) -> None:
        graph, params = frontends.from_onnx(case.model())
        self.operations = sum(n.op.operations(n.input_types, [v.type for v in n.outputs]) for n in graph.nodes)
        inputs: dict[str, Layout] = {}
        outputs: list[tuple[tuple[int, ...], Layout]] = []

        def noted(graph: Graph) -> Graph:
            inputs.update((v.name, v.type.memory_layout) for v in graph.inputs)
            outputs.extend((v.type.static_shape, v.type.memory_layout) for v in graph.outputs)
            return graph

        passes = default_pipeline(TARGET)
        if case.blocked:
            place = next(i for i, p in enumerate(passes) if pass_name(p) == "choose_layouts")
            passes = (*passes[:place], blocked, opened, *passes[place + 1 :])
        artifact = graph_ir.build(graph, params=params, pipeline=(*passes, noted))
        model = runtime.load(artifact, threads=1)
        given = {p.name: runtime.array(pack(case.inputs()[p.name], inputs[p.name])) for p in model.inputs}
        self.results = model.run(given)
        self.call = Call(lambda: model.run(given, out=self.results))
        self.outputs = [unpack(a.numpy(), *type_) for a, type_ in zip(self.results.values(), outputs, strict=True)]


class Theirs:
    """A case run by onnxruntime, its inputs and outputs in place."""

    def __init__(self, model: onnx.ModelProto, inputs: dict[str, Array]) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        self.outputs = session.run(None, inputs)
        self.binding = session.io_binding()
        self.values = [onnxruntime.OrtValue.ortvalue_from_numpy(a) for a in (*inputs.values(), *self.outputs)]
        names = [*inputs, *(o.name for o in session.get_outputs())]
        for i, (name, value) in enumerate(zip(names, self.values, strict=True)):
            bind = self.binding.bind_ortvalue_input if i < len(inputs) else self.binding.bind_ortvalue_output
            bind(name, value)
        self.call = Call(lambda: session.run_with_iobinding(self.binding))


def moved(case: Case, outputs: Sequence[Array]) -> tuple[int, int]:
    """The bytes that a node must read and write. A node that selects elements reads only those."""
    written = sum(a.nbytes for a in outputs)
    sizes = [o.data.nbytes for o in case.operands if o is not None]
    picks = case.operator in ("Gather", "GatherElements", "GatherND", "Slice", "Resize")
    first = min(sizes[0], written) if picks else sizes[0]
    return first + sum(sizes[1:]), written


@dataclass(frozen=True)
class Row:
    """The figures of a case; seconds of a node without its call."""

    case: Case
    ours: float
    theirs: float
    limit: float
    bound: str
    spread: float

    @property
    def verdict(self) -> str:
        met = self.limit / self.ours >= ENOUGH_OF_LIMIT or self.ours / self.theirs <= MOST_OF_PEER
        return "met" if met else "missed"

    def cells(self) -> list[str]:
        return [
            self.case.family, self.case.title, f"{1e6 * self.ours:.1f}", f"{1e6 * self.theirs:.1f}",
            f"{self.ours / self.theirs:.2f}", f"{self.spread:.2f}", f"{1e6 * self.limit:.1f}", self.bound,
            f"{100 * self.limit / self.ours:.0f} %", self.verdict,
        ]  # fmt: skip


HEAD = ("family", "node", "ours us", "onnxruntime us", "ratio", "spread", "limit us", "by", "of limit", "verdict")


class Meter:
    """The limits for all cases."""

    def __init__(self) -> None:
        self.bandwidths = bandwidths()
        meter = PeakMeter()
        self.peak = 1e9 * median(meter.sample() for _ in range(SAMPLES))
        tiny = Case("", "Identity", (data(1),))
        ours, theirs = Ours(tiny), Theirs(tiny.model(), tiny.inputs())
        in_turns(ours.call, theirs.call)
        self.overhead = ours.call.seconds, theirs.call.seconds

    def row(self, case: Case) -> Row:
        """Measure one case; its results have to agree."""
        ours, theirs = Ours(case), Theirs(case.model(), case.inputs())
        for a, b in zip(ours.outputs, theirs.outputs, strict=True):
            assert difference(a, b).overall <= 1e-4, f"{case.title}: differs by {difference(a, b)}"
        in_turns(ours.call, theirs.call)
        read, written = moved(case, theirs.outputs)
        bytes_, flops = self.seconds(read, written), ours.operations / self.peak
        if case.family == "recurrent":
            x, _, recurrence = (o.data for o in case.operands[:3] if o is not None)
            bytes_ += (len(x) - 1) * self.seconds(recurrence.nbytes, 0)
        low, _, high = quantiles([a / b for a, b in zip(ours.call.samples, theirs.call.samples, strict=True)], n=4)
        own, other = (
            max(c.seconds - lost, 1e-7) for c, lost in zip((ours.call, theirs.call), self.overhead, strict=True)
        )
        return Row(case, own, other, max(bytes_, flops), "arithmetic" if flops > bytes_ else "memory", high - low)

    def seconds(self, read: float, written: float) -> float:
        """The time of bytes at the bandwidth of the memory that holds them all."""
        return next(b for b in self.bandwidths if read + written <= b.size).seconds(read, written)

    def introduction(self) -> list[str]:
        """The limits and the overheads, as text."""
        rows = [[_size(b.size), *(f"{rate / 1e9:.0f}" for rate in (b.read, b.write, b.copy))] for b in self.bandwidths]
        ours, theirs = (1e6 * seconds for seconds in self.overhead)
        calls = f"A call without a node takes {ours:.1f} us, onnxruntime's {theirs:.1f} us."
        head = ("bytes", "read, GB/s", "write, GB/s", "copy, GB/s")
        return [*table(head, rows), "", f"Peak {self.peak / 1e9:.0f} GFLOP/s. {calls}", ""]


def _size(count: float) -> str:
    """A number of bytes in the largest unit that gives one or more."""
    if count == float("inf"):
        return "more"
    return f"{count / 1024:.0f} KB" if count < 1 << 20 else f"{count / 2**20:.0f} MB"


def main(families: Sequence[str]) -> None:
    """Measure all cases, or those of some families, and print each as it is known; write the page of all."""
    meter = Meter()
    print("\n".join(meter.introduction()), flush=True)
    rows: list[Row] = []
    for case in cases():
        if not families or case.family in families:
            rows.append(meter.row(case))
            print("| " + " | ".join(rows[-1].cells()) + " |", flush=True)
    if not families:
        missed = sum(row.verdict == "missed" for row in rows)
        summary = [f"{len(rows) - missed} of {len(rows)} nodes have met their goal.", ""]
        write_part("operators", [*meter.introduction(), *summary, *table(HEAD, [row.cells() for row in rows])])


if __name__ == "__main__":
    main(sys.argv[1:])
