"""Whole networks beside every opponent: `nox -s bench -- models [--models FOLDER] [--only NAME...] [--numerics LEVEL]`.

FOLDER holds ONNX files with static inputs. Without it networks and sizes of input are measured that no estimate was
fitted to (workload_files.UNSEEN). An artifact is compiled by `sateen compile` in a process of its own with an empty
cache, three times, by the estimate alone: records that come with sateen don't count. With one thread and with two
there are three runs, each with new processes of all engines, which take their samples in turns. A time is the median
of the medians of the runs; a ratio is the median of the ratios of the runs, its spread their range. Engines that
compute something else are no opponents. Errors are those against the model in float64, beside the largest element of
all and beside that of the row or tile. With numerics other than the default a network has rows of its own. Those of
fast are in tables of their own, beside OpenVINO as it is by default, which rounds to bfloat16 where we do. A network's
rows are written as soon as they are known, those of others stay.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import readme
from compile_process import Compilation
from page import INTEL, Figure, maker, update_table
from workload_files import unseen_files

from sateen import runtime
from sateen.frontends.command.arrays import random_inputs
from sateen.frontends.command.comparison import AS_FAR, TOLERANCE
from sateen.frontends.command.turns import OURS, Contender, ContenderHere, measure_in_turns
from sateen.frontends.onnx.double import outputs_in_double
from sateen.frontends.onnx.engines import write_for_peers
from sateen.frontends.onnx.peers import PEERS
from sateen.graph_ir.ir import Array
from sateen.graph_ir.judge import Difference, difference
from sateen.topi.methods import NUMERICS

FLOAT32 = ("onnxruntime", "openvino", "ncnn")
OPPONENTS = {"strict": FLOAT32, "default": FLOAT32, "fast": ("openvino-default",)}
"""The engines that compute as precisely as a level of numerics."""
ROUNDED = 0.1
"""The largest difference from float64 of a network that is rounded to bfloat16."""
RUNS = 3
THREADS = (1, 2)
MEGABYTE = 1e6

ASKED = {
    "resnet18_v1": (1.65, 1.42),
    "resnet50_v1": (1.22, 1.3),
    "vgg16": (1.5, 1.35),
    "inceptionv3": (1.2, 1.3),
    "densenet121": (1.6, 1.5),
    "mobilenet1.0": (1.04, 1.08),
    "mobilenetv2_1.0": (1.25, 1.2),
    "squeezenet1.1": (1.25, 1.35),
    "efficientnet_b0": (1.2, 1.22),
    "bert_base_128": (1.1, 1.06),
    "gpt2_64": (1.08, 1.02),
    "vit_b16": (1.08, 1.05),
    "swin_tiny": (1.1, 1.05),
    "convnext_tiny": (1.12, 1.12),
    "lstm_2x512_64": (1.15, 1.15),
    "resnet50_v1_batch8": (1.15, 1.15),
    "bert_base_128_batch8": (1.15, 1.15),
}
"""The fastest opponent's time over ours, on processors of Intel and on others."""
ASKED_OF_FAST = {"resnet50_v1": (1.05, 1.0), "bert_base_128": (1.05, 1.0), "mobilenet1.0": (1.05, 1.0)}
"""The same with numerics fast, of OpenVINO's default."""
LEAST = 1.0
"""The ratio for other networks."""
COMPILE_SECONDS = {"resnet50_v1": 4, "bert_base_128": 5, "vgg16": 6}
"""The most seconds of a cold compilation."""


@dataclass(frozen=True)
class Engine:
    """The result of an engine in one run; `seconds` is None if it refused the network or gave a wrong result."""

    seconds: float | None
    memory_bytes: int
    outputs: Sequence[Array]
    note: str = ""


Run = Mapping[str, Engine]


class Network:
    """A network with all its measurements, in a folder for the files."""

    def __init__(self, model: Path, folder: Path, samples: int, numerics: str) -> None:
        self.model, self.numerics = model.stem, numerics
        self.engines = (OURS, *OPPONENTS[numerics])
        self.name = self.model if numerics == "default" else f"{self.model} ({numerics})"
        self.artifact = folder / "network.sateen"
        chosen = ("--numerics", numerics, "--no-shipped-records")
        self.compilations = [Compilation(model, self.artifact, folder / f"cache{i}", *chosen) for i in range(RUNS)]
        loaded = runtime.read_artifact(self.artifact)
        self.inputs = random_inputs(loaded.inputs, 0)
        exact = outputs_in_double(model, self.inputs)
        self._exact = [exact[p.name].astype(p.dtype.numpy) for p in loaded.outputs]
        strict = folder / "strict.sateen"
        Compilation(model, strict, folder / "cache0", "--numerics", "strict", "--no-shipped-records")
        strictly = self._error([a.numpy() for a in runtime.load(strict).run(self.inputs).values()])
        rounding = AS_FAR * strictly.overall if strictly else 0.0  # what any engine in float32 may be off
        self._allowed = ROUNDED if numerics == "fast" else max(TOLERANCE, rounding)
        readable = folder / "network.onnx"
        write_for_peers(model, readable, {name: array.shape for name, array in self.inputs.items()}, {})
        self.runs = {n: [self._run(readable, n, samples) for _ in range(RUNS)] for n in THREADS}
        theirs = self.runs[THREADS[0]][0]
        self.errors = [self._error(theirs[OURS].outputs), strictly, self._error(theirs[self.engines[1]].outputs)]

    def _run(self, readable: Path, threads: int, samples: int) -> Run:
        with ExitStack() as stack:
            contenders = [
                stack.enter_context(ContenderHere(e, self.artifact if e == OURS else readable, threads, self.inputs))
                for e in self.engines
            ]
            measure_in_turns(contenders, samples)
            return {c.name: self._result(c) for c in contenders}

    def _result(self, contender: Contender) -> Engine:
        if contender.refusal and contender.name == OURS:
            raise SystemExit(f"{self.name}: {contender.refusal}")
        if contender.refusal:
            print(f"{self.name}: {contender.name} refuses: {contender.refusal}", flush=True)
            return Engine(None, 0, (), "refuses")
        if contender.difference(self._exact) > self._allowed:
            return Engine(None, contender.memory_bytes, contender.outputs, "other numbers")
        return Engine(contender.time.median, contender.memory_bytes, contender.outputs)

    def _error(self, found: Sequence[Array]) -> Difference | None:
        """The largest error of all outputs; None without outputs."""
        apart = [difference(y, r) for y, r in zip(found, self._exact, strict=True)] if found else []
        return Difference(max(d.overall for d in apart), max(d.local for d in apart)) if apart else None

    def times(self) -> Iterator[list[str]]:
        """A row for each number of threads: milliseconds of every engine."""
        for threads, runs in self.runs.items():
            yield [self.name, str(threads), *(_milliseconds([run[name] for run in runs]) for name in self.engines)]

    def figures(self) -> Iterator[Figure]:
        """The goals and the measured figures."""
        for threads, runs in self.runs.items():
            ratios = [self._fastest_opponent(run) / _seconds(run, OURS) for run in runs]
            name = f"{self.name}, {threads} thread{'s' * (threads > 1)}, the fastest over ours"
            yield Figure(name, asked(self.model, self.numerics), median(ratios), max(ratios) - min(ratios), "")
        if self.model in COMPILE_SECONDS:
            seconds = [c.seconds for c in self.compilations]
            detail = f"{median(c.cpu_seconds for c in self.compilations):.1f} s of processor time"
            width = max(seconds) - min(seconds)
            name = f"{self.name}, ONNX to artifact, cold"
            yield Figure(name, COMPILE_SECONDS[self.model], median(seconds), width, "s", detail, at_most=True)

    def _fastest_opponent(self, run: Run) -> float:
        return min(_seconds(run, name) for name in self.engines[1:])

    def costs(self) -> list[str]:
        """A row: compile time and memory, the artifact's size, memory of each engine when it runs, errors."""
        first = self.runs[THREADS[0]][0]
        return [
            self.name,
            f"{median(c.seconds for c in self.compilations):.1f}",
            f"{max(c.most_bytes for c in self.compilations) / MEGABYTE:.0f}",
            f"{self.artifact.stat().st_size / MEGABYTE:.1f}",
            *(
                f"{first[name].memory_bytes / MEGABYTE:.0f}" if first[name].memory_bytes else ""
                for name in self.engines
            ),
            *(f"{d.overall:.1e}, {d.local:.1e}" if d else "" for d in self.errors),
        ]


def asked(model: str, numerics: str) -> float:
    """The ratio that is asked of a network on this processor."""
    by_intel, others = (ASKED_OF_FAST if numerics == "fast" else ASKED).get(model, (LEAST, LEAST))
    return by_intel if maker() == INTEL else others


def _seconds(run: Run, name: str) -> float:
    """The time of an engine; infinite if it has none."""
    seconds = run[name].seconds
    return float("inf") if seconds is None else seconds


def _milliseconds(results: Sequence[Engine]) -> str:
    seconds = [r.seconds for r in results if r.seconds is not None]
    return f"{1e3 * median(seconds):.2f}" if len(seconds) == len(results) else results[-1].note


def measure(files: Sequence[Path], samples: int, numerics: str, part: str = "network") -> None:
    """Measure networks, print each line as it is known, write it to the tables of a part of the page."""
    for file in files:
        with TemporaryDirectory() as folder:
            network = Network(file, Path(folder), samples, numerics)
            times, figures, costs = list(network.times()), [f.cells() for f in network.figures()], [network.costs()]
        for row in (*times, *figures, *costs):
            print(" | ".join(row), flush=True)
        suffix = ", fast" if numerics == "fast" else ""
        update_table(f"{part} times{suffix}", ["network", "threads", *(f"{e} ms" for e in network.engines)], times)
        update_table(f"{part} figures", ["figure", "asked", "measured", "spread", "verdict", ""], figures)
        engines = [f"{e} MB" for e in network.engines]
        errors = ["error", "error, strict", f"error of {network.engines[1]}"]
        head = ["network", "compile s", "compile MB", "artifact MB", *engines, *errors]
        update_table(f"{part} costs{suffix}", head, costs)
    readme.write()


def main() -> None:
    """Find the networks and measure them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, metavar="FOLDER", help="where the ONNX files are")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="measure these, without .onnx; the default is all")
    parser.add_argument("--samples", type=int, default=10, help="of each engine in each run")
    parser.add_argument("--numerics", choices=NUMERICS, default="default", help="of ours")
    given = parser.parse_args()
    for peer in OPPONENTS[given.numerics]:
        PEERS[peer].require()
    with TemporaryDirectory() as written:
        folder = given.models or unseen_files(Path(written))
        files = {path.stem: path for path in sorted(folder.glob("*.onnx"))}
        names = given.only or list(files)
        if unknown := [name for name in names if name not in files]:
            parser.error(f"expected some of {', '.join(files)}; found {', '.join(unknown)}")
        measure([files[name] for name in names], given.samples, given.numerics)


if __name__ == "__main__":
    main()
