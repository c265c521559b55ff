"""Compiles real networks and verifies them: `python verify_models.py [--only TEXT] [--page docs/models.md]`.

With `--target opencl` they run on a device of that kind, and the page is docs/models-devices.md.

Each network is a child process with a time limit, so that one can't stop the rest. The exit status is 1 if one is
wrong.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from catalogue import Case, draw, light_models, models_of_formats, models_of_others, networks_of_benchmarks
from device_page import device_page, device_row
from examine import HOST, Record

LIMIT = 180.0
"""Seconds that a network may take."""

PAGE = """# Networks

Measured by `nox -s models`, on {processors}: each network is compiled cold in a
separate process with two workers, run once and compared with what the model's own framework gave (OpenCV for Caffe
and Darknet, the twin of TensorFlow for the pose network of CoreML), or with onnxruntime. The error is
max|y-r| / max|r| of the worst output; 1e-4 is allowed, four units in the last place for float16 outputs, and one step
for quantised ones. The local
error is relative to the largest element near each, in its row or tile; it is not judged, since a small sum of large
terms loses accuracy in any order. Seconds are from reading the file to the artifact. The workspace holds all
intermediate values and the storage of kernels; the bound is the most bytes of them that live at one time, a lower
bound for any plan. Peak is the largest memory of the compiler's process and both workers, sampled fifty times a
second; shared memory counts once. The weights of the light models are all equal, and so are their class scores.
[Networks on devices](models-devices.md) has the same networks on devices of OpenCL and WebGPU.

{counts}

{tables}
"""


def examine_in_child(case: Case, folder: Path, limit: float, target: str = HOST) -> Record:
    """The record of a case; of a child that crashes or is too slow, one that says so."""
    command = [sys.executable, str(Path(__file__).with_name("examine.py")), case.name, str(folder), target]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit)
    except subprocess.TimeoutExpired:
        return Record(case.name, case.model.name, case.format, note=f"not done within {limit:g} s")
    if result.returncode != 0:
        last = (result.stderr.strip().splitlines() or ["no message"])[-1]
        return Record(
            case.name, case.model.name, case.format, note=f"the process ended with {result.returncode}: {last}"
        )
    return Record(**json.loads(result.stdout.splitlines()[-1]))


def row(record: Record) -> str:
    """A line of the table."""
    note = record.note.splitlines()[0].replace("|", "\\|") if record.note else ""
    cells = [record.name, str(record.nodes)]
    if record.library_bytes:
        cells += [f"{record.seconds:.1f}", f"{record.library_bytes / 1024:.0f}"]
        cells += [f"{n / 1e6:.2f}" for n in (record.workspace_bytes, record.least_bytes)]
        cells += [f"{record.peak_bytes / 1e6:.0f}"]
    else:
        cells += [""] * 5
    cells += ["" if math.isnan(e) else f"{e:.1e}" for e in (record.error, record.local_error)]
    verdict = note if record.is_right else f"**wrong**: {note}"
    return f"| {' | '.join([*cells, verdict])} |"


def page(records: Sequence[Record]) -> str:
    """The page of documentation."""
    formats = dict.fromkeys(record.format for record in records)
    tables = [table(name, [record for record in records if record.format == name]) for name in formats]
    return PAGE.format(processors=processors(), counts=counts(records), tables="\n\n".join(tables))


def table(name: str, records: Sequence[Record]) -> str:
    """The rows of a format, under its name."""
    head = "| network | nodes | seconds | library KB | workspace MB | bound MB | peak MB | error | local error | |"
    return "\n".join([f"## {name}", head, "|---" * 10 + "|", *map(row, records)])


def counts(records: Sequence[Record]) -> str:
    """What the table amounts to: a row is a network with one of its golden files, so a network may have several."""
    computed = [record for record in records if not record.refused]
    networks, right = len({record.model for record in computed}), sum(record.is_right for record in computed)
    refused = [record.model for record in records if record.refused and record.is_right]
    told = f"{right} of {len(computed)} results of {networks} networks are right."
    if not refused:
        return told
    must = "is refused, as it must be" if len(refused) == 1 else "are refused, as they must be"
    return f"{told} {len(refused)} {must}: {', '.join(refused)}."


def processors() -> str:
    """This machine's processor, as Linux names it."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{len(names)} cores of {names[0]}" if names else "an unnamed processor"


def say(text: str) -> None:
    """A line on standard output, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def collect(folder: Path) -> tuple[list[Case], bool]:
    """The cases that can be had, and whether those are all; says what is missing."""
    cases, is_complete = light_models(), True
    for more in (partial(networks_of_benchmarks, folder), models_of_others, models_of_formats):
        try:
            cases += more()
        except FileNotFoundError as error:
            say(f"skipped: {error}")
            is_complete = False
    return cases, is_complete


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="networks with this text in their names")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds per network")
    parser.add_argument("--target", action="append", default=[], help="kinds of devices on which to run them")
    parser.add_argument("--page", type=Path, help="write the table to this file, if no networks are missing")
    parser.add_argument("--folder", type=Path, help="keep the networks of the benchmarks here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        cases, is_complete = collect(folder)
        examined: dict[str, list[Record]] = {target: [] for target in options.target or [HOST]}
        for target, records in examined.items():
            show = row if target == HOST else device_row
            for case in cases:
                if options.only in case.name:
                    draw(case)
                    records.append(examine_in_child(case, folder, options.limit, target))
                    say(show(records[-1]) if records[-1].is_right else f"{show(records[-1])}\n{records[-1].note}")
    if options.page is not None and is_complete:
        text = device_page(examined, processors(), counts) if options.target else page(examined[HOST])
        options.page.write_text(text, encoding="utf-8")
    wrong = [record.name for records in examined.values() for record in records if not record.is_right]
    for records in examined.values():
        say(f"{counts(records)}{' Wrong: ' + ', '.join(wrong) if wrong else ''}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
