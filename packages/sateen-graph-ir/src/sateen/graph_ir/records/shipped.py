"""Records that come with sateen: which methods are fastest on machines that it was measured on.

A file per target and machine, compressed, whose first line says what it is for; each other line is a problem with its
methods, fastest first. It is read when a network for such a machine is built, and only what that asks for is parsed.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path

from sateen.graph_ir.ir import Problem
from sateen.graph_ir.passes import Known
from sateen.graph_ir.records.machine import machine_facts
from sateen.graph_ir.records.record import Record
from sateen.graph_ir.records.records import Records
from sateen.runtime.errors import ArgumentError
from sateen.runtime.target import Target
from sateen.tensor_ir import Machine
from sateen.topi.methods import NUMERICS, Method, parse_method

FOLDER = Path(__file__).parent / "measured"


def shipped_name(target: Target, machine: Machine | None = None) -> str:
    """The name of the file for a target and a machine, by default the target's."""
    facts = machine_facts(target, machine)
    told = sha256(f"{target}\n{facts}".encode()).hexdigest()
    return f"{re.sub(r'[^a-z0-9]+', '-', facts.split(',')[0].lower())}-{told[:16]}.jsonl.gz"


class ShippedRecords:
    """The methods measured for a target and a machine, by default the target's, by problem. `digest` is that of their
    file, '' if there is none; `used` says whether any was asked for and known."""

    def __init__(self, target: Target, machine: Machine | None = None, folder: Path = FOLDER) -> None:
        self.digest, self._methods = _read(folder / shipped_name(target, machine))
        self.used = False

    def of(self, problem: Problem) -> Sequence[Method]:
        """The methods of a problem, fastest first; one that its operator does not have any more does not count."""
        texts = self._methods.get(str(problem), ()) if self._methods else ()
        found = []
        for text in texts:
            try:
                found.append(parse_method(text, problem.op.methods))
            except ArgumentError:
                continue
        self.used = self.used or bool(found)
        return found

    def after(self, known: Known) -> Known:
        """These methods where nothing else is known."""
        return lambda problem: known(problem) or self.of(problem)


@cache
def _read(path: Path) -> tuple[str, Mapping[str, Sequence[str]]]:
    """The digest of a file and its methods by problem, as texts."""
    if not path.is_file():
        return "", {}
    content = gzip.decompress(path.read_bytes())
    _, *lines = content.decode().splitlines()
    return sha256(content).hexdigest(), dict(map(json.loads, lines))


def pack(records: Records, target: Target, folder: Path = FOLDER) -> Path:
    """Write the file for a target of what its records say, and give its path. Equal records give equal bytes.

    Of each problem it has the fastest method, and the fastest of each stricter level of numerics.
    """
    lines = {str(problem): _best(own) for problem, own in records.of(target).items()}
    header = {"target": str(target), "machine": machine_facts(target)}
    text = "".join(f"{json.dumps(line)}\n" for line in (header, *sorted(lines.items())))
    folder.mkdir(exist_ok=True)
    path = folder / shipped_name(target)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
    _read.cache_clear()
    return path


def _best(records: Iterable[Record]) -> list[str]:
    """The methods that count at some level of numerics, of records that are fastest first."""
    found: list[Method] = []
    for record in records:
        level = NUMERICS.index(record.method.numerics)
        if all(level < NUMERICS.index(faster.numerics) for faster in found):
            found.append(record.method)
    return list(map(str, found))
