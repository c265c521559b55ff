"""Random typed ONNX graphs, compiled, run and judged: `python graphs.py --count 5000`, or `--seed 17` for one.

A graph must be refused by the frontend, or compile and give what onnxruntime gives, as far as rounding allows. Each is
compiled in a child process, within limits of time and memory, and judged in another. Of each kind of fault, the first
is made smaller and kept with its inputs in the folder of `--save`.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

import numpy as np
from graph_judging import Compiled, GraphCompiler, graph_verdict
from graph_operators import FAMILIES
from limited_process import EndedError, LimitedProcess, results_of
from onnx import ModelProto
from random_graphs import RandomGraph, draw_graph
from shrinking import shrunk

SECONDS = 60.0
"""Processor time of a graph."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of a graph, and whether that is a fault of sateen."""

    seed: int
    outcome: str
    text: str = ""
    is_fault: bool = False
    operators: tuple[str, ...] = ()


class Examiner:
    """Examines graphs in a process that draws and judges, and one that compiles."""

    def __init__(self, cache: Path) -> None:
        self._compile = LimitedProcess(GraphCompiler(cache).run, SECONDS)
        self._judge = LimitedProcess(graph_verdict, SECONDS)
        self._draw = LimitedProcess(_draw, SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in (self._compile, self._judge, self._draw):
            process.close()

    def graph(self, seed: int) -> RandomGraph:
        """Raises EndedError where a judge dies on a node."""
        model, inputs = self._draw(seed)
        return RandomGraph(ModelProto.FromString(model), inputs)

    def examine(self, graph: RandomGraph, seed: int) -> Finding:
        model = graph.model.SerializeToString()
        operators = tuple(node.op_type for node in graph.model.graph.node)
        try:
            found: Compiled = self._compile(model, graph.inputs, seed)
        except EndedError as error:
            return Finding(seed, str(error).splitlines()[0], str(error), is_fault=True, operators=operators)
        if found.kind != "run":
            return Finding(seed, found.kind, found.text, is_fault=found.kind == "fault", operators=operators)
        try:
            outcome, why = self._judge(model, graph.inputs, found.outputs, found.loss)
        except EndedError as error:
            outcome, why = "unjudged", str(error)
        named = f"right: {why}" if outcome == "right" else outcome
        return Finding(seed, named, f"{found.text}: {why}", is_fault=outcome == "wrong", operators=operators)


def _draw(seed: int) -> tuple[bytes, dict[str, np.ndarray]]:
    graph = draw_graph(seed, FAMILIES)
    return graph.model.SerializeToString(), graph.inputs


def examine_all(seeds: Iterable[int], jobs: int, save: Path | None) -> Iterator[Finding]:
    """The findings of all seeds, in the order of their ends."""
    with TemporaryDirectory() as cache:
        yield from results_of(_examine_some, seeds, jobs, Path(cache), save)


def _examine_some(seeds: list[int], cache: Path, save: Path | None) -> Iterator[Finding]:
    kept: set[str] = set()
    with Examiner(cache) as examiner:
        for seed in seeds:
            try:
                graph = examiner.graph(seed)
            except EndedError as error:
                yield Finding(seed, "a judge ended", str(error))
                continue
            finding = examiner.examine(graph, seed)
            yield finding
            alike = re.sub(r"\d+", "", _kind(finding))
            if finding.is_fault and save is not None and alike not in kept:
                kept.add(alike)
                small = shrunk(graph, lambda g, f=finding: _is_same(f, examiner.examine(g, f.seed)))
                write(save, seed, small, examiner.examine(small, seed).text)


def _is_same(first: Finding, second: Finding) -> bool:
    """Whether both are the same kind of fault."""
    return second.is_fault and _kind(first) == _kind(second)


def _kind(finding: Finding) -> str:
    """The outcome, and the class of an error or the output that is wrong."""
    if finding.outcome not in {"fault", "wrong"}:
        return finding.outcome
    _, what = finding.text.split(": ")[:2]
    return f"{finding.outcome} {what.partition(' ')[0]}"


def write(folder: Path, seed: int, graph: RandomGraph, text: str) -> None:
    """A model, its inputs and what was found, beside each other."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{seed}.onnx").write_bytes(graph.model.SerializeToString())
    np.savez(folder / f"{seed}.npz", **{name: array.view(np.uint16) if array.dtype.kind == "V" else array
                                        for name, array in graph.inputs.items()})  # fmt: skip
    (folder / f"{seed}.txt").write_text(f"{text}\n\n{graph.model.graph}\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, help="examine this one and print all that is known of it")
    parser.add_argument("--save", type=Path, help="a folder for the graphs at fault, made smaller")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.count) if options.seed is None else [options.seed]
    start = time.monotonic()
    outcomes: Counter[str] = Counter()
    operators: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    faults = 0
    for finding in examine_all(seeds, options.jobs if options.seed is None else 1, options.save):
        outcomes[finding.outcome] += 1
        operators.update(finding.operators)
        refusals.update([_reason(finding.text)] if finding.outcome == "refused" else [])
        if finding.is_fault or options.seed is not None:
            faults += finding.is_fault
            say(f"--- seed {finding.seed}: {finding.outcome}\n{finding.text}")
    say("\n".join(f"{count:6} {name}" for name, count in operators.most_common()))
    say("\n".join(f"{count:6} {outcome}" for outcome, count in sorted(outcomes.items())))
    say("\n".join(f"{count:6} refused: {reason}" for reason, count in refusals.most_common()))
    say(f"{outcomes.total()} graphs, {faults} at fault, {time.monotonic() - start:.0f} s")
    if outcomes.total() < len(seeds):
        say(f"expected {len(seeds)} graphs: a process of this program ended early")
    return 1 if faults or outcomes.total() < len(seeds) else 0


def _reason(text: str) -> str:
    """The line of a report that gives the first reason, without numbers and names."""
    lines = [line.strip() for line in text.splitlines()]
    return re.sub(r"'[^']*'", "'…'", re.sub(r"-?\d+", "N", next((x for x in lines if " x " in x), lines[0])))[:160]


def say(text: str) -> None:
    """A line on standard output, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
