"""Compiles whole architectures, each in a process of its own, and compares them with their framework in float32 and
float64.

    python architectures.py FOLDER [FOLDER …] [--only TEXT] [--numerics strict] [--page docs/architectures.md]

A folder has cases as `judge.py` describes them, with arrays exact/NAME as well: the outputs that the framework computes
in float64. Their `case.json` names the package and the format. The exit status is 1 if a result is wrong.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from judge import TOLERANCE, by_name, difference

from sateen import runtime
from sateen.frontends import load
from sateen.graph_ir.compile import build
from sateen.graph_ir.ir import Array
from sateen.graph_ir.kernels import KernelPool
from sateen.topi.methods import NUMERICS

LIMIT = 300.0
"""Seconds that an architecture may take."""
WORKERS = 2
CHILD = "--child"

PAGE = """# Architectures

Measured by `nox -s architectures`, on {processors}. Each network is made by the framework, with seeded weights and
statistics of seeded pictures, and saved in the framework's own format. It is compiled cold in a separate process with
two workers, and run once. An error is max|y-r| / max|r| of the worst output. "Error" is the distance from the
framework's float32, of which 1e-4 is allowed. The other two columns say how far each of them is from the framework's
float64; [numerics](design/numerics.md) says why sateen is further away. Seconds are from reading the file to the
artifact.

{counts}

| architecture | package | format | nodes | seconds | error | sateen to float64 | framework to float64 | |
|---|---|---|---|---|---|---|---|---|
{rows}
"""


@dataclass(frozen=True, slots=True)
class Record:
    """A row of the table."""

    name: str
    package: str
    format: str
    nodes: int = 0
    seconds: float = 0.0
    error: float = np.inf
    ours: float = np.inf
    theirs: float = np.inf
    note: str = ""

    @property
    def is_right(self) -> bool:
        return not self.note and self.error <= TOLERANCE


def examined(folder: Path, numerics: str) -> Record:
    """The record of the case in a folder, compiled at a level of numerics."""
    case = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    with np.load(folder / "io.npz", allow_pickle=False) as arrays:
        given, expected, exact = (_of(arrays, role) for role in ("in", "out", "exact"))
    start = time.perf_counter()
    with KernelPool(WORKERS) as workers:
        graph, parameters = load(folder / case["model"], **case.get("options", {}))
        artifact = build(graph, params=parameters, numerics=numerics, workers=workers)
    seconds = time.perf_counter() - start
    model = runtime.load(artifact, threads=WORKERS)
    inputs = by_name(given, [p.name for p in artifact.inputs])
    found = {name: array.numpy() for name, array in model.run(inputs).items()}
    expected, exact = (by_name(outputs, list(found)) for outputs in (expected, exact))
    return Record(
        folder.name,
        case["package"],
        case["format"],
        len(graph.nodes),
        seconds,
        farthest(found, expected),
        farthest(found, exact),
        farthest(expected, exact),
    )


def _of(arrays: Mapping[str, Array], role: str) -> dict[str, Array]:
    return {name.removeprefix(f"{role}/"): array for name, array in arrays.items() if name.startswith(f"{role}/")}


def farthest(found: Mapping[str, Array], expected: Mapping[str, Array]) -> float:
    """The error of the worst output."""
    return max(difference(array, expected[name]) for name, array in found.items())


def examined_in_child(folder: Path, numerics: str) -> Record:
    """The same record; of a child that fails or is too slow, one that says so."""
    case = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    nothing = Record(folder.name, case["package"], case["format"])
    command = [sys.executable, __file__, CHILD, str(folder), numerics]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return Record(nothing.name, nothing.package, nothing.format, note=f"not done within {LIMIT:g} s")
    if result.returncode:
        last = (result.stderr.strip().splitlines() or ["no message"])[-1]
        return Record(nothing.name, nothing.package, nothing.format, note=last)
    return Record(**json.loads(result.stdout.splitlines()[-1]))


def row(record: Record) -> str:
    """A line of the table."""
    name = record.name.partition(".")[2] or record.name
    errors = [f"{e:.1e}" for e in (record.error, record.ours, record.theirs)]
    measured = [str(record.nodes), f"{record.seconds:.1f}", *errors] if not record.note else [""] * 5
    verdict = "" if record.is_right else f"**wrong** {record.note}".strip()
    return f"| {' | '.join([name, record.package, record.format, *measured, verdict])} |"


def counts(records: Sequence[Record]) -> str:
    """What the table amounts to."""
    right, slowest = sum(record.is_right for record in records), max(record.seconds for record in records)
    known = [record for record in records if not record.note]
    far = sum(record.ours > 2 * record.theirs for record in known)
    return (
        f"{right} of {len(records)} are right; the slowest takes {slowest:.1f} s to compile. {far} are more than twice "
        "as far from float64 as their framework is."
    )


def processors() -> str:
    """This machine's processor, as Linux names it."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{len(names)} cores of {names[0]}" if names else "an unnamed processor"


def main() -> int:
    if sys.argv[1:2] == [CHILD]:
        _say(json.dumps(asdict(examined(Path(sys.argv[2]), sys.argv[3]))))
        return 0
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--only", default="", help="architectures with this text in their names")
    parser.add_argument("--numerics", choices=NUMERICS, default="default", help="how far sums may be rearranged")
    parser.add_argument("--page", type=Path, help="write the table to this file")
    options = parser.parse_args()
    cases = [path.parent for folder in options.folders for path in folder.glob("*/case.json")]
    chosen = sorted(case for case in cases if options.only in case.name)
    if not chosen:
        parser.error(f"expected folders of architectures, found none in {', '.join(map(str, options.folders))}")
    records = []
    for folder in chosen:
        records.append(examined_in_child(folder, options.numerics))
        _say(row(records[-1]))
    if options.page is not None:
        rows = "\n".join(map(row, records))
        text = PAGE.format(processors=processors(), counts=counts(records), rows=rows)
        options.page.write_text(text, encoding="utf-8")
    _say(counts(records))
    return 0 if all(record.is_right for record in records) else 1


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
