"""Damages models of all formats and reads them: `python format_mutants.py --count 2000 [--only keras]`.

A mutant must be refused with an error of sateen, or be read; one in ten of those that are read is compiled and run as
well. Each is examined in a child process, within 10 s of processor time and 2 GB of memory, which may open no file
outside the model's folder. Seeds are the files of ../shared/models; `--seeds FOLDER` adds the cases of a generated
suite (`nox -s suites`). `--seed 17` examines one mutant of each format, and `--save FOLDER` keeps those at fault.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from damage import BYTE_DAMAGE, HOSTILE_NUMBERS
from limited_process import EndedError, LimitedProcess, results_of

from sateen import runtime
from sateen.frontends import load
from sateen.frontends.command.arrays import random_inputs
from sateen.graph_ir.compile import build
from sateen.runtime.errors import SateenError

SHARED = Path(__file__).parents[3] / "shared" / "models"
BUILT = 10
"""One in so many of the mutants that can be read is compiled and run."""
LARGEST = 1 << 20
"""The most bytes of a seed, so that reading it takes little of a mutant's time."""


OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "ESPCN_x3.pb": {"shapes": {"IteratorGetNext": (1, 12, 16, 1)}},
    "cifar_resnet20_v1-symbol.json": {"shapes": {"data": (1, 3, 32, 32)}},
    "kws_DS_CNN_S.pb": {"inputs": ["Mfcc"], "shapes": {"Mfcc": (1, 49, 10)}},
    "kws_GRU_S.pb": {"inputs": ["Mfcc"], "shapes": {"Mfcc": (1, 25, 10)}},
    "mtcnn_det2-symbol.json": {"shapes": {"data": (1, 3, 24, 24)}},
    "style_crayon_zoo_predict.pb": {"shapes": {"data_int8_bgra": (1, 32, 32, 4)}},
}
"""What must be said of models so that they can be read."""


@dataclass(frozen=True, slots=True)
class Seed:
    """The files of a model, by their paths in its folder; `model` is given to `load`, and perhaps `weights`."""

    format: str
    files: Mapping[str, bytes]
    model: str
    weights: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of a mutant, and whether that is a fault of sateen."""

    format: str
    seed: int
    outcome: str
    text: str = ""
    is_fault: bool = False


def shared_seeds() -> Iterator[Seed]:
    """The models of ../shared, with their pairs. Raises FileNotFoundError without ../shared."""
    if not SHARED.is_dir():
        raise FileNotFoundError(f"{SHARED} is absent; give seeds by --seeds")
    pairs = {".prototxt": ".caffemodel", ".cfg": ".weights", "_predict.pb": "_init.pb"}
    for path in sorted(SHARED.rglob("*")):
        if path.suffix in {".npz", ".gz", ".md", ".caffemodel", ".weights", ".params"} or not path.is_file():
            continue
        names = [path.name]
        for end, other in pairs.items():
            if path.name.endswith(end):
                names.append(path.name.removesuffix(end) + other)
        if path.name.endswith("-symbol.json"):
            names += [params.name for params in path.parent.glob(path.name.replace("symbol.json", "*.params"))]
        files = {name: (path.parent / name).read_bytes() for name in names}
        format_ = path.parent.name
        if format_ not in {"images", "onnx"} and not path.name.endswith("_init.pb"):
            yield Seed(format_, files, path.name, "", OPTIONS.get(path.name, {}))


def suite_seeds(folder: Path) -> Iterator[Seed]:
    """The cases of a generated suite."""
    for told in sorted(folder.glob("*/case.json")):
        case = json.loads(told.read_text(encoding="utf-8"))
        paths = [path for path in told.parent.rglob("*") if path.is_file() and path.name not in {"case.json", "io.npz"}]
        files = {str(path.relative_to(told.parent)): path.read_bytes() for path in paths}
        yield Seed(folder.name, files, case["model"], case.get("weights", ""), case.get("options", {}))


def mutant(seed: int, seeds: list[Seed]) -> tuple[Seed, str]:
    """A damaged model, and what was done to it."""
    rng = Random(seed)
    chosen = rng.choice(seeds)
    name = rng.choice(sorted(chosen.files))
    data = bytearray(chosen.files[name])
    is_text = name.endswith((".prototxt", ".cfg", ".json", ".pbtxt"))
    harms = rng.choices(TEXT_DAMAGE if is_text else (*BYTE_DAMAGE, number), k=rng.choice((1, 1, 2)))
    for harm in harms:
        if data:
            harm(data, rng)
    told = f"{name} of {chosen.model}: {', '.join(harm.__name__ for harm in harms)}"
    return Seed(chosen.format, {**chosen.files, name: bytes(data)}, chosen.model, chosen.weights, chosen.options), told


def number(data: bytearray, rng: Random) -> None:
    """A number of 1, 2, 4 or 8 bytes becomes another, near the beginning as likely as anywhere."""
    size = rng.choice((1, 2, 4, 8))
    start = rng.randrange(min(len(data), rng.choice((64, 4096, len(data)))))
    value = rng.choice(HOSTILE_NUMBERS) & (1 << 8 * size) - 1
    data[start : start + size] = value.to_bytes(size, "little")


def text_number(data: bytearray, rng: Random) -> None:
    found = list(re.finditer(rb"-?\d+(\.\d+)?", bytes(data)))
    if found:
        place = rng.choice(found)
        data[place.start() : place.end()] = str(rng.choice((*HOSTILE_NUMBERS, 0.5, "nan", "x"))).encode()


def text_line(data: bytearray, rng: Random) -> None:
    """A line is left out, doubled, or put elsewhere."""
    lines = bytes(data).splitlines(keepends=True)
    line = lines.pop(rng.randrange(len(lines)))
    for _ in range(rng.randrange(3)):
        lines.insert(rng.randrange(len(lines) + 1), line)
    data[:] = b"".join(lines)


def text_word(data: bytearray, rng: Random) -> None:
    """A word becomes another one of the file."""
    found = list(re.finditer(rb"\w+", bytes(data)))
    if len(found) > 1:
        place, other = rng.sample(found, 2)
        data[place.start() : place.end()] = other.group()


TEXT_DAMAGE: tuple[Callable[[bytearray, Random], None], ...] = (
    text_number, text_number, text_line, text_word, text_word, *BYTE_DAMAGE,
)  # fmt: skip

_OPENED: list[str] = []


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and isinstance(arguments[0], str | bytes):
        _OPENED.append(arguments[0].decode() if isinstance(arguments[0], bytes) else arguments[0])


def examine(subject: Seed, builds: bool) -> tuple[str, str]:
    """What becomes of a mutant, in a folder of its own."""
    with TemporaryDirectory() as folder:
        for name, content in subject.files.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        _OPENED.clear()
        try:
            outcome = _read(subject, Path(folder), builds)
        except SateenError as error:
            outcome = "refused", f"{type(error).__name__}: {error}"
        outside = [
            path for path in _OPENED if not path.startswith((folder, sys.prefix, sys.base_prefix, "/proc", "/sys"))
        ]
        if outside := [path for path in outside if not _is_ours(path)]:
            return "outside", f"opened {', '.join(outside[:5])}"
        return outcome


def _is_ours(path: str) -> bool:
    """Whether a file belongs to sateen's sources or to the system, and is opened whatever the model says; or is a plain
    name, which is looked up in a folder that is open already."""
    if "/" not in path and path not in {"", ".", ".."}:
        return True
    return (
        "/site-packages/" in path or "/packages/sateen" in path or path.startswith(("/dev", "/etc", "/usr", "/memfd"))
    )


def _read(subject: Seed, folder: Path, builds: bool) -> tuple[str, str]:
    weights = folder / subject.weights if subject.weights else None
    graph, parameters = load(folder / subject.model, weights, **subject.options)
    if not builds:
        return "read", ""
    sizes = {d: 1 for v in graph.inputs for d in v.type.symbols}
    artifact = build(graph, params=parameters, dims=sizes)
    runtime.load(artifact, threads=1).run(random_inputs(artifact.inputs, 0))
    return "run", ""


def examine_some(numbers: list[int], seeds: list[Seed]) -> Iterator[Finding]:
    process = LimitedProcess(examine)
    for seed in numbers:
        subject, told = mutant(seed, seeds)
        try:
            outcome, text = process(subject, seed % BUILT == 0)
        except EndedError as error:
            yield Finding(subject.format, seed, str(error).splitlines()[0], f"{told}\n{error}", is_fault=True)
            continue
        yield Finding(subject.format, seed, outcome, f"{told}\n{text}", is_fault=outcome == "outside")
    process.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000, help="mutants of each format")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="this format")
    parser.add_argument("--seed", type=int, help="examine this one and print all that is known of it")
    parser.add_argument(
        "--seeds", type=Path, nargs="*", default=[], help="cases of suites, in folders called by format"
    )
    parser.add_argument("--save", type=Path, help="a folder for the mutants at fault")
    options = parser.parse_args()
    seeds = [seed for folder in options.seeds for seed in suite_seeds(folder)] or list(shared_seeds())
    seeds = [seed for seed in seeds if sum(map(len, seed.files.values())) <= LARGEST * 2]
    formats = [name for name in dict.fromkeys(seed.format for seed in seeds) if options.only in name]
    numbers = range(options.first, options.first + options.count) if options.seed is None else [options.seed]
    sys.addaudithook(_watch)
    faults = 0
    for format_ in formats:
        start, outcomes = time.monotonic(), Counter[str]()
        own = [seed for seed in seeds if seed.format == format_]
        for finding in results_of(examine_some, numbers, options.jobs if options.seed is None else 1, own):
            outcomes[finding.outcome] += 1
            if finding.is_fault or options.seed is not None:
                faults += finding.is_fault
                say(f"--- {format_} {finding.seed}: {finding.outcome}\n{finding.text}")
                if options.save is not None:
                    save(options.save / f"{format_}-{finding.seed}", mutant(finding.seed, own)[0])
        counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
        say(f"{format_}: {outcomes.total()} mutants: {counts}, {time.monotonic() - start:.0f} s")
        faults += outcomes.total() < len(numbers)
    say(f"{faults} at fault")
    return 1 if faults or not formats else 0


def save(folder: Path, subject: Seed) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in subject.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def say(text: str) -> None:
    """A line on standard output, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
