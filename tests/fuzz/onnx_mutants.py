"""Damages ONNX models, compiles and runs them: `python onnx_mutants.py --count 10000`, or `--seed 17` for one.

A mutant must be refused with a FrontendError, or compile and give what onnxruntime or the evaluator of the onnx package
gives; a neutral one, which means the same as its model, must compile and give the same. Each is examined in a child
process, within 10 s of processor time and 2 GB of memory, and judged in another. `--models FILE...` adds models of your
own to the built-in ones; `--save FOLDER` keeps the mutants at fault.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Self

from damage import BYTE_DAMAGE, MEANING, STRUCTURE
from judging import Compiler, Outcome, unequal, verdict
from limited_process import EndedError, LimitedProcess, results_of
from neutral import NEUTRAL, Files
from onnx import TensorProto
from seed_models import Seed, draw, draw_compilable, seed_models


@dataclass(frozen=True, slots=True)
class Mutant:
    """A damaged model; `origin` is the model that a neutral one was, None if it is not neutral."""

    model: bytes
    origin: bytes | None = None
    files: Files = field(default_factory=dict)
    changes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of a mutant, and whether that is a fault of sateen."""

    seed: int
    outcome: str
    text: str = ""
    is_fault: bool = False


def mutant(seed: int, seeds: list[Seed]) -> Mutant:
    """The mutant of a seed: a tenth are neutral, a fifth damaged in their bytes."""
    rng = Random(seed)
    if seed % 10 == 0:
        model = draw_compilable(seeds, rng)
        origin = model.SerializeToString()
        files: Files = {}
        changes = rng.sample(NEUTRAL, rng.randrange(1, 4))
        for change in changes:
            change(model, rng, files)
        return Mutant(model.SerializeToString(), origin, files, tuple(c.__name__ for c in changes))
    model = draw(seeds, rng)
    if seed % 10 <= 2:
        data, harm = bytearray(model.SerializeToString()), rng.choice(BYTE_DAMAGE)
        harm(data, rng)
        return Mutant(bytes(data), changes=(harm.__name__,))
    damages = rng.choices(STRUCTURE if seed % 10 <= 5 else MEANING, k=rng.choice((1, 1, 2, 3)))
    for damage in damages:
        if not model.graph.initializer:
            model.graph.initializer.add(name="filler", data_type=TensorProto.INT64, int64_data=[1], dims=[1])
        if model.graph.node and model.graph.input and model.opset_import:
            damage(model, rng)
    return Mutant(model.SerializeToString(), changes=tuple(d.__name__ for d in damages))


class Examiner:
    """Examines mutants in a process that compiles and one that judges."""

    def __init__(self, seeds: list[Seed], cache: Path) -> None:
        self._seeds = seeds
        self._compile = LimitedProcess(Compiler(cache).examine)
        self._judge = LimitedProcess(verdict)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._compile.close()
        self._judge.close()

    def examine(self, seed: int) -> Finding:
        subject = mutant(seed, self._seeds)
        try:
            found = self._compile(subject.model, subject.files, seed)
            original = None if subject.origin is None else self._compile(subject.origin, {}, seed)
        except EndedError as error:
            return Finding(seed, str(error).splitlines()[0], str(error), is_fault=True)
        if original is not None:
            return _compared(seed, original, found)
        if found.kind != "run":
            return Finding(seed, found.kind, found.text, is_fault=found.kind in {"fault", "late"})
        try:
            outcome, why = self._judge(subject.model, found.inputs, found.outputs)
        except EndedError as error:
            outcome, why = "unjudged", str(error)
        named = f"right by {why}" if outcome == "right" else outcome
        return Finding(seed, named, why, is_fault=outcome == "wrong")


def _compared(seed: int, original: Outcome, found: Outcome) -> Finding:
    """A neutral mutant against its model."""
    if original.kind != found.kind:
        return Finding(seed, "neutral refused", f"{original.kind} became {found.kind}: {found.text}", is_fault=True)
    wrong = unequal(list(found.outputs.values()), list(original.outputs.values()))
    return Finding(seed, "neutral wrong" if wrong else f"neutral {found.kind}", wrong, is_fault=bool(wrong))


def examine_all(seeds: list[Seed], numbers: Iterable[int], jobs: int) -> Iterator[Finding]:
    """The findings of all mutants, in the order of their ends."""
    with TemporaryDirectory() as cache:
        yield from results_of(_examine_some, numbers, jobs, seeds, Path(cache))


def _examine_some(numbers: list[int], seeds: list[Seed], cache: Path) -> Iterator[Finding]:
    with Examiner(seeds, cache) as examiner:
        yield from map(examiner.examine, numbers)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, help="examine this one and print all that is known of it")
    parser.add_argument("--models", type=Path, nargs="*", default=[])
    parser.add_argument("--save", type=Path, help="a folder for the mutants at fault")
    options = parser.parse_args()
    seeds = seed_models(options.models)
    numbers = range(options.first, options.first + options.count) if options.seed is None else [options.seed]
    start = time.monotonic()
    outcomes: Counter[str] = Counter()
    faults = 0
    for finding in examine_all(seeds, numbers, options.jobs if options.seed is None else 1):
        outcomes[finding.outcome] += 1
        if finding.is_fault or options.seed is not None:
            faults += finding.is_fault
            changes = ", ".join(mutant(finding.seed, seeds).changes)
            say(f"--- seed {finding.seed} ({changes}): {finding.outcome}\n{finding.text}")
            if options.save is not None:
                save(options.save, finding.seed, mutant(finding.seed, seeds))
    say("\n".join(f"{count:6} {outcome}" for outcome, count in sorted(outcomes.items())))
    say(f"{outcomes.total()} mutants, {faults} at fault, {time.monotonic() - start:.0f} s")
    if outcomes.total() < len(numbers):
        say(f"expected {len(numbers)} mutants: a process of this program ended early")
    return 1 if faults or outcomes.total() < len(numbers) else 0


def save(folder: Path, seed: int, subject: Mutant) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{seed}.onnx").write_bytes(subject.model)
    for name, content in subject.files.items():
        (folder / name).write_bytes(content)


def say(text: str) -> None:
    """A line on standard output, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
