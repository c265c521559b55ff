"""A machine as JSON, which `sateen doctor --measure` writes and `--machine FILE` reads (docs/machines.md).

A file may come from anywhere: every name and number is checked, and what a machine can't be is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn

from sateen.runtime.device import DeviceKind
from sateen.runtime.display import did_you_mean
from sateen.runtime.errors import ArgumentError
from sateen.runtime.files import open_regular
from sateen.runtime.target import Target
from sateen.tensor_ir.targets.machine import Machine
from sateen.tensor_ir.targets.rates import Rates

FORMAT = "sateen machine 1"
MOST_BYTES = 64 << 10
"""The most bytes of a file."""
_KEYS = ("format", "processor", "architecture", "vector_bytes", "caches", "rates")
_LIMITS: Mapping[str, tuple[float, float]] = {
    "multiply_add_bytes": (0.25, 4096),
    "multiply_add_latency": (1, 64),
    "addition_latency": (1, 64),
    "load_bytes": (1, 1024),
    "streams": (1, 64),
    "serial_elements": (1, 1 << 40),
    "own_part": (0.01, 1),
    "common_part": (0.01, 1),
    "exposed": (0, 4),
    "panel_exposed": (0, 4),
    "streamed": (0, 4),
    "latency_exposed": (0, 4),
    "narrow": (0, 4),
    "unasked": (0, 1),
    "in_turn": (0, 1),
    "wide_row": (1, 4096),
    **dict.fromkeys(("l1", "l2", "l3", "memory", "memory_in_streams", "memory_together"), (0.001, 4096)),
    **dict.fromkeys(("shared", "moved", "load_cycles", "overflow"), (0.001, 4096)),
}
"""The least and the greatest value of a rate; of the others 0 and a million."""
_OTHER_LIMITS = (0, 1e6)
_CACHES = ((1 << 10, 16 << 20), (1 << 10, 256 << 20), (0, 4 << 30))
_NO_MORE_THAN = (
    ("memory", "l3"),
    ("l3", "l2"),
    ("l2", "l1"),
    ("memory", "memory_in_streams"),
    ("memory_in_streams", "memory_together"),
)
_TYPES = {f.name: f.type for f in fields(Rates)}


def machine_json(machine: Machine, target: Target, measured: Mapping[str, float] | None = None) -> str:
    """The text of a file for a machine of a target; `measured` are numbers that are only shown."""
    told: dict[str, Any] = {
        "format": FORMAT,
        "processor": machine.processor,
        "architecture": target.architecture,
        "vector_bytes": machine.vector_bytes,
        "caches": [machine.l1_bytes, machine.l2_bytes, machine.l3_bytes],
        "rates": asdict(machine.rates),
    }
    return json.dumps(told | ({"measured": dict(measured)} if measured else {}), indent=2) + "\n"


def read_machine(path: Path | str, target: Target | str) -> Machine:
    """The machine of a target, with the caches and rates of a file; rates that it leaves out are the target's own.

    Raises ArgumentError for a file that is none, for a value that no machine has, and for a target whose vectors it
    was not measured with.
    """
    try:
        with open_regular(Path(path)) as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise ArgumentError(f"{path}: expected the file of a machine: {error.strerror}") from None
    try:
        return parse_machine(content, target)
    except ArgumentError as error:
        raise ArgumentError(f"{path}: {error}") from None


def parse_machine(content: str | bytes, target: Target | str) -> Machine:
    """As `read_machine`, from the content of a file."""
    if len(content) > MOST_BYTES:
        raise ArgumentError(f"expected at most {MOST_BYTES} bytes of a machine, found more")
    try:
        told = json.loads(content, object_pairs_hook=_unique, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"expected a machine as JSON: {error}") from None
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        found = told.get("format") if isinstance(told, dict) else type(told).__name__
        raise ArgumentError(f"expected the format {FORMAT!r}, found {found!r:.64}")
    _require_keys(told, _KEYS, "a machine", optional=("measured",))
    complete = Target.of(target)
    if complete.device_kind is not DeviceKind.CPU:
        raise ArgumentError(f"expected the target of a processor for a machine of a file, found {complete.kind!r}")
    own = Machine.of(complete)
    _require_same(told, "architecture", complete.architecture)
    _require_same(told, "vector_bytes", own.vector_bytes)
    _require_numbers(told.get("measured", {}))
    processor = told["processor"]
    if not isinstance(processor, str) or not 0 < len(processor) <= 100 or not processor.isprintable():
        raise ArgumentError(f"expected processor as a printable name of up to 100 characters, found {processor!r:.64}")
    caches = told["caches"]
    if not isinstance(caches, list) or len(caches) != len(_CACHES):
        raise ArgumentError(f"expected caches as a list of {len(_CACHES)} numbers of bytes, found {caches!r:.64}")
    l1, l2, l3 = (
        int(_number(f"bytes of cache {level}", size, limits, whole=True))
        for level, (size, limits) in enumerate(zip(caches, _CACHES, strict=True), 1)
    )
    if l2 < l1:
        raise ArgumentError(f"expected a second cache no smaller than the first of {l1} bytes, found {l2}")
    rates = replace(own.rates, **_rates(told["rates"]))
    for less, more in _NO_MORE_THAN:
        if getattr(rates, less) > getattr(rates, more):
            raise ArgumentError(
                f"expected {less} no greater than {more}, {getattr(rates, more):g}, found {getattr(rates, less):g}"
            )
    return replace(own, l1_bytes=l1, l2_bytes=l2, l3_bytes=l3, rates=rates, processor=processor, source="a file")


def machine_digest(machine: Machine) -> str:
    """SHA-256 of what a file may change of a machine, in hexadecimal."""
    told = [machine.l1_bytes, machine.l2_bytes, machine.l3_bytes, asdict(machine.rates)]
    return sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _rates(value: object) -> dict[str, Any]:
    """The rates of a file, each of its type and within its limits."""
    if not isinstance(value, dict):
        raise ArgumentError(f"expected rates as an object, found {type(value).__name__}")
    _require_keys(value, (), "rates", optional=tuple(_TYPES))
    found: dict[str, Any] = {}
    for name, given in value.items():
        if _TYPES[name] == "bool":
            if not isinstance(given, bool):
                raise ArgumentError(f"expected {name} as true or false, found {given!r:.64}")
            found[name] = given
        else:
            whole = _TYPES[name] == "int"
            number = _number(name, given, _LIMITS.get(name, _OTHER_LIMITS), whole=whole)
            found[name] = int(number) if whole else number
    return found


def _number(name: str, value: object, limits: tuple[float, float], *, whole: bool) -> float:
    least, most = limits
    is_number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    if not is_number or not least <= value <= most:  # type: ignore[operator]
        kind = "a whole number" if whole else "a number"
        raise ArgumentError(f"expected {name} as {kind} of {least:g} to {most:g}, found {value!r:.64}")
    assert isinstance(value, int | float)
    return value


def _require_numbers(measured: object) -> None:
    """What else was measured is only for readers: numbers by name."""
    if (
        not isinstance(measured, dict)
        or len(measured) > len(_TYPES)
        or not all(type(value) in (int, float) and isfinite(value) for value in measured.values())
    ):
        raise ArgumentError(f"expected measured as up to {len(_TYPES)} finite numbers by name, found {measured!r:.64}")


def _require_keys(told: Mapping[str, object], keys: tuple[str, ...], what: str, optional: tuple[str, ...]) -> None:
    if missing := [key for key in keys if key not in told]:
        raise ArgumentError(f"expected {what} to have {', '.join(missing)}, found none")
    known = (*keys, *optional)
    if unknown := [key for key in told if key not in known]:
        close = did_you_mean(unknown[0], known)
        raise ArgumentError(f"expected {what} to have {', '.join(known)} alone, found {unknown[0]!r:.64}{close}")


def _require_same(told: Mapping[str, object], name: str, own: object) -> None:
    if type(told[name]) is not type(own) or told[name] != own:
        raise ArgumentError(f"expected {name} {own!r}, that of the target, found {told[name]!r:.64}")


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(n for n in names if names.count(n) > 1)!r:.64} is given twice")
    return found


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"expected finite numbers, found {text}")
