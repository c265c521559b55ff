"""Damages artifacts of networks on devices and loads them: `python artifact_mutants.py --count 20000`.

A mutant has its digests, as one that somebody made on purpose has. It must be refused with an error of sateen, or be
loaded: then its memory fits the device, and launches have kernels and places that are there. Nothing of it is run: an
artifact is a program. Each is examined in a child process, within 10 s of processor time and 2 GB of memory, on a
device that only keeps accounts. `--seed 17` examines one mutant and tells all of it.
"""

from __future__ import annotations

import argparse
import copy
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any
from unittest.mock import patch

from damage import BYTE_DAMAGE, HOSTILE_NUMBERS
from limited_process import EndedError, LimitedProcess, results_of

from sateen import runtime
from sateen.runtime import Artifact, Device, DType, Parameter, Step
from sateen.runtime.actions import BlockCopy, Choice, Conditional, DeviceBlocks, HostCall, Repeat
from sateen.runtime.artifact import packed
from sateen.runtime.devices import DeviceDescription, MemoryPart, OpenDevice
from sateen.runtime.devices.driver import DriverError, Fault
from sateen.runtime.errors import SateenError
from sateen.runtime.launches import BlockPlace, NetworkLaunch

KERNELS = b"kernel void double_(global float *x) {}\nkernel void add(global float *x, global float *y, long n) {}\n"
MEMORY = 1 << 24


class Accounts:
    """A connection that does nothing but check what it is given."""

    def __init__(self, device: Device) -> None:
        self.description = DeviceDescription(
            device=device, name="Accounts", driver="fuzz 1", units=1, warp=32, block_threads=256,
            block_axes=(256, 256, 64), grid_axes=(65535, 65535, 65535), shared_bytes=1 << 14, memory_bytes=MEMORY,
            allocation_bytes=MEMORY >> 2, place_alignment=4, shares_memory=False, has_float64=True, has_float16=False,
        )  # fmt: skip
        self.sizes: dict[int, int] = {}
        self.made = 0

    def allocate(self, size: int) -> int:
        if sum(self.sizes.values()) + size > MEMORY:
            raise DriverError(Fault.MEMORY, "full")
        self.made += 1
        self.sizes[self.made] = size
        return self.made

    def free(self, handle: int) -> None:
        del self.sizes[handle]

    def _check(self, part: MemoryPart) -> None:
        assert part.size is not None
        assert 0 <= part.offset <= part.offset + part.size <= self.sizes[part.handle], f"{part} of {self.sizes}"

    def write(self, queue: int, to: MemoryPart, address: int) -> None:
        self._check(to)

    def read(self, queue: int, address: int, start: MemoryPart) -> object:
        self._check(start)
        return 0

    def copy(self, queue: int, to: MemoryPart, start: MemoryPart) -> None:
        self._check(to)
        self._check(start)

    def load(self, code: bytes) -> object:
        return re.findall(r"kernel void (\w+)", code.decode("latin-1"))

    def unload(self, kernels: object) -> None: ...

    def prepare(
        self,
        kernels: Any,
        name: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        parts: Sequence[MemoryPart],
        scalars: Sequence[int],
    ) -> object:
        if name not in kernels:
            raise DriverError(Fault.CODE, "no such kernel")
        for part in parts:
            self._check(part)
        assert all(1 <= n <= 256 for n in block)
        assert all(0 <= n <= 65535 for n in grid)
        assert all(-(1 << 63) <= n < 1 << 63 for n in scalars)
        return name

    def launch(self, queue: int, prepared: object) -> None:
        raise AssertionError("nothing is run")

    def discard(self, prepared: object) -> None: ...

    def wait(self, queue: int, event: object) -> None: ...

    def record(self, queue: int) -> object:
        return 0

    def is_reached(self, event: object) -> bool:
        return True

    def seconds(self, first: object, second: object) -> float:
        return 0.0

    def forget(self, event: object) -> None: ...

    def close(self) -> None: ...


def simple() -> Artifact:
    """Two launches on one device."""
    x, y = (Parameter(name, DType.of("float32"), (16,), None, 4, is_output=name == "y") for name in "xy")
    places = [BlockPlace(block, 0, 64) for block in range(4)]
    return Artifact(
        "fuzz 1", "opencl", (x,), (y,), 4096, b"", bytes(256), steps=(step("first"), step("second")), kernels=KERNELS,
        actions=(
            NetworkLaunch("double_", (2, 1, 1), (8, 1, 1), (places[0],), (), 0),
            NetworkLaunch("add", (1, 1, 1), (16, 1, 1), (places[0], places[1]), (5,), 1, 512),
        ),
    )  # fmt: skip


def deciding() -> Artifact:
    """Every kind of action, on two devices and the host."""
    host, device, other = Device.of("cpu"), Device.of("opencl"), Device.of("opencl(1)")
    launch = NetworkLaunch("double_", (2, 1, 1), (8, 1, 1), (BlockPlace(3, 64, 64),), (), 0)
    number, flag, most = BlockPlace(7, 0, 8), BlockPlace(7, 8, 1), BlockPlace(7, 16, 8)
    row, rows = BlockPlace(3, 0, 16), BlockPlace(3, 256, 64)
    actions = (
        BlockCopy(BlockPlace(7, 64, 64), BlockPlace(0, 0, 64), 0),
        Choice(flag, (launch,), (Choice(flag, (), (launch, launch)),), 0),
        Repeat(4, number, (launch, BlockCopy(BlockPlace(5, 0, 64), BlockPlace(3, 0, 64))), ((row, rows),), 1),
        Conditional(flag, most, number, (launch,), 1),
    )
    placed = (
        DeviceBlocks(device, (0, 1), 128, 4096),
        DeviceBlocks(other, (), 64, 1024),
        DeviceBlocks(host, (), 64, 256),
    )
    whole = simple()
    return Artifact(
        "fuzz 1", "opencl", whole.inputs, whole.outputs, 4096, b"", bytes(256), steps=whole.steps, kernels=KERNELS,
        actions=actions, placed=placed,
    )  # fmt: skip


def calling() -> Artifact:
    """A call of the host, whose library is not there."""
    whole = deciding()
    call = HostCall("part_0", (BlockPlace(7, 64, 64),), 1)
    return Artifact(
        "fuzz 1", "opencl", whole.inputs, whole.outputs, 4096, b"", bytes(256), steps=whole.steps, kernels=KERNELS,
        actions=(*whole.actions, call), placed=whole.placed,
    )  # fmt: skip


def step(name: str) -> Step:
    return Step(name, (name,), (name,), (), (), 0, 128)


SEEDS = (simple, deciding, calling)


def places_in(tree: Any) -> list[tuple[Any, Any]]:
    """Every list and object of a tree with each of its keys."""
    found, left = [], [tree]
    while left:
        one = left.pop()
        keys = range(len(one)) if isinstance(one, list) else list(one)
        found += [(one, key) for key in keys]
        left += [one[key] for key in keys if isinstance(one[key], (list, dict))]
    return found


def harm(tree: dict[str, Any], rng: Random) -> str:
    """Damage one place of a manifest; what was done."""
    parts = {name: tree[name] for name in ("launches", "placed") if name in tree}
    found = places_in(parts if parts and rng.random() < 0.7 else tree)
    holder, key = rng.choice(found)
    way = rng.choice(("number", "number", "number", "kind", "remove", "double", "swap", "graft", "nest"))
    told = f"{way} at {key!r} of {sorted(holder) if isinstance(holder, dict) else len(holder)}"
    match way:
        case "number":
            numbers = [(o, k) for o, k in found if isinstance(o[k], int)]
            holder, key = rng.choice(numbers) if numbers else (holder, key)
            holder[key] = rng.choice((*HOSTILE_NUMBERS, 64, 65, 4096, 2**48, 2**70, -(2**70)))
        case "kind":
            holder[key] = rng.choice((None, True, 0.5, 1e300, "", "x" * 1000, [], {}, [[]], -0.0))
        case "remove":
            del holder[key]
        case "double" if isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        case "swap" if isinstance(holder, list):
            other = rng.randrange(len(holder))
            holder[key], holder[other] = holder[other], holder[key]
        case "graft":
            other, there = rng.choice(found)
            holder[key] = copy.deepcopy(other[there])
        case "nest":
            for _ in range(rng.choice((1, 30, 40, 150))):
                flag = [7, 8, 1] if rng.random() < 0.5 else [0, 0, 1]
                holder[key] = {"if": flag, "then": [holder[key]], "else": [], "step": 0}
    return told


def mutant(seed: int) -> tuple[bytes, str]:
    """A damaged artifact, and what was done to it."""
    rng = Random(seed)
    chosen = rng.choice(SEEDS)
    artifact = chosen()
    fields: dict[str, Any] = json.loads(json.dumps(artifact.fields()))
    told = [harm(fields, rng) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
    sections = {"library": b"", "parameters": bytes(256), "kernels": KERNELS}
    if rng.random() < 0.1:
        data = bytearray(KERNELS)
        rng.choice(BYTE_DAMAGE)(data, rng)
        sections["kernels"] = bytes(data)
    content = bytearray(packed(fields, sections))
    if rng.random() < 0.05:
        rng.choice(BYTE_DAMAGE)(content, rng)
    return bytes(content), f"{chosen.__name__}: {'; '.join(told)}"


def examine(content: bytes) -> tuple[str, str]:
    """What becomes of a mutant."""
    with patch("sateen.runtime.model.open_device", lambda device: OpenDevice(Accounts(device))):
        try:
            artifact = runtime.read_artifact(content)
        except SateenError as error:
            return "refused", f"{type(error).__name__}: {error}"
        try:
            runtime.load(artifact)
        except SateenError as error:
            return "not loaded", f"{type(error).__name__}: {error}"
    return "loaded", ""


def examine_some(numbers: list[int]) -> Iterator[tuple[int, str, str]]:
    process = LimitedProcess(examine)
    for seed in numbers:
        content, told = mutant(seed)
        try:
            outcome, text = process(content)
        except EndedError as error:
            outcome, text = "fault", str(error)
        yield seed, outcome, f"{told}\n{text}"
    process.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, help="examine this one and print all that is known of it")
    options = parser.parse_args()
    numbers = range(options.first, options.first + options.count) if options.seed is None else [options.seed]
    outcomes = Counter[str]()
    for seed, outcome, text in results_of(examine_some, numbers, options.jobs if options.seed is None else 1):
        outcomes[outcome] += 1
        if outcome == "fault" or options.seed is not None:
            sys.stdout.write(f"--- {seed}: {outcome}\n{text}\n")
    counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
    sys.stdout.write(f"{outcomes.total()} mutants: {counts}\n")
    return 1 if outcomes["fault"] or outcomes.total() < len(numbers) else 0


if __name__ == "__main__":
    sys.exit(main())
