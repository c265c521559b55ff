"""Measures the processor of this machine: what its `Machine` says of caches and rates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from math import floor, log10, prod
from statistics import median

import numpy as np

from sateen.runtime import NDArray, Target, array, time_evaluator, time_in_turns
from sateen.tensor_ir.compile import build_functions
from sateen.tensor_ir.ir.stmt import Function
from sateen.tensor_ir.probes import (
    ADDITION,
    CYCLES,
    ELEMENT_BYTES,
    MULTIPLY_ADD,
    TICKS,
    chains,
    handed_over,
    independent_chains,
    reads,
    writes,
)
from sateen.tensor_ir.targets import Machine

_MB = 1 << 20
SAMPLES = 75
"""Samples of each function, in turns; their median counts."""
ROUNDS, WAITS, TURNS = 100_000, 200_000, 100_000
"""Steps of independent chains of multiply-adds, those of a single one, and those of the clock."""
STREAMS = (1, 2, 4, 8)
"""Numbers of places at which memory is read in turn."""
READ_BYTES = 32 * _MB
"""About the bytes that a sample reads from a cache."""
LEAST_MEMORY, MOST_MEMORY = 64 * _MB, 256 * _MB
"""Bounds of what a sample reads from memory: twice the third cache that the system tells of."""
CLEARLY = 1.05
"""More streams are taken where they are so many times as fast."""
FULLY = 0.8
"""Data are in the third cache while they are read at this part of the rate of the smallest that is there."""
CACHED = 1.2
"""Data are in the third cache only if they are read so many times as fast as memory."""


@dataclass(frozen=True, slots=True)
class MeasuredMachine:
    """A machine with measured caches and rates, and what else was measured.

    `clock` is in cycles per second while it computes, `stores` and `stores_to_memory` in bytes per cycle.
    """

    machine: Machine
    clock: float
    stores: float
    stores_to_memory: float


class MachineMeter:
    """Measures this machine for a target that it can run, in some seconds.

    What one core does is counted in the thread's processor time, which other work does not lengthen; what all cores do
    takes the time of a clock on the wall. Numbers are rounded to two digits.
    """

    def __init__(self, cores: int, target: Target | str = "llvm") -> None:
        self._cores = cores
        self._table = machine = Machine.of(target)
        self._lanes = lanes = machine.vector_bytes // ELEMENT_BYTES
        most = max(machine.l3_bytes, LEAST_MEMORY // 2)
        self._memory = min(2 * most, MOST_MEMORY)
        self._sizes = [size for power in range(8) if machine.l2_bytes < (size := _MB << power) <= most]
        self._chains = independent_chains(machine)
        self._functions: dict[str, Function] = {}
        self._bytes: dict[str, int] = {}
        for name, step, count, rounds in (
            ("multiply_adds", MULTIPLY_ADD, self._chains, ROUNDS),
            ("multiply_add", MULTIPLY_ADD, 1, WAITS),
            ("addition", ADDITION, 1, WAITS),
        ):
            self._add(chains(name, step, lanes=lanes, count=count, rounds=rounds))
        self._add(chains("clock", TICKS, lanes=1, count=1, rounds=TURNS, dtype="int64"))
        for name, size in (("l1", machine.l1_bytes // 2), ("l2", machine.l2_bytes // 2)):
            self._add_reads(name, size)
        for size in self._sizes:
            self._add_reads(f"size{size}", size)
        for streams in STREAMS:
            self._add_reads(f"memory{streams}", self._memory, streams=streams)
            if cores > 1:
                self._add_reads(f"together{streams}", self._memory // 2, streams=streams, cores=cores)
        rounds = READ_BYTES // machine.l1_bytes
        self._add(writes("stores", machine.l1_bytes // 2, rounds, lanes=lanes), rounds * machine.l1_bytes // 2)
        self._add(writes("stores_to_memory", self._memory, 1, lanes=lanes), self._memory)
        self._handed = machine.l2_bytes // 4
        if cores > 1:
            for to in (0, 1):
                rounds = READ_BYTES // self._handed
                made = handed_over(f"handed{to}", self._handed, rounds, lanes=lanes, to=to)
                self._add(made, rounds * self._handed)
        self._module = build_functions([*self._functions.values()], target)

    def measure(self, samples: int = SAMPLES) -> MeasuredMachine:
        """Measure everything: the median of some samples."""
        calls = self._calls()
        alone = [name for name in calls if not name.startswith(("together", "handed"))]
        times = dict(zip(alone, time_in_turns([calls[name] for name in alone], repeat=samples), strict=True))
        seconds = {name: median(found.samples) for name, found in times.items()}
        clock = CYCLES * TURNS / seconds["clock"]
        for name in calls.keys() - seconds.keys():
            seconds[name] = time_evaluator(calls[name], repeat=samples).median
        cycles = {name: s * clock for name, s in seconds.items()}
        per_cycle = {name: size / cycles[name] for name, size in self._bytes.items()}
        return self._found(cycles, per_cycle, clock)

    def _found(self, cycles: dict[str, float], per_cycle: dict[str, float], clock: float) -> MeasuredMachine:
        machine, rates = self._table, self._table.rates
        memory = {streams: per_cycle[f"memory{streams}"] for streams in STREAMS}
        streams = _fewest(memory)
        l2 = max(per_cycle["l2"], memory[streams])
        third, held = _third([(size, per_cycle[f"size{size}"]) for size in self._sizes], memory[1], l2)
        together = max((per_cycle.get(f"together{s}", 0.0) * self._cores for s in STREAMS), default=0.0)
        l1 = max(per_cycle["l1"], l2)
        found = replace(
            rates,
            multiply_add_bytes=_rounded(self._chains * ROUNDS * machine.vector_bytes / cycles["multiply_adds"]),
            multiply_add_latency=max(1.0, round(cycles["multiply_add"] / WAITS)),
            addition_latency=max(1.0, round(cycles["addition"] / WAITS)),
            l1=_rounded(l1),
            l2=_rounded(l2),
            l3=_rounded(third),
            memory=_rounded(memory[1]),
            streams=streams,
            memory_in_streams=_rounded(memory[streams]),
            memory_together=_rounded(max(together, memory[streams])),
            shared=rates.shared if self._cores == 1 else _rounded(self._shared(per_cycle, third, l2)),
        )
        l3_bytes = int(held / rates.common_part)
        measured = replace(machine, l3_bytes=l3_bytes, rates=found, source="measured here")
        return MeasuredMachine(
            measured, _rounded(clock), _rounded(per_cycle["stores"]), _rounded(per_cycle["stores_to_memory"])
        )

    def _shared(self, per_cycle: dict[str, float], l3: float, l2: float) -> float:
        """Bytes per cycle that a core writes where another one has read: what handing over takes more than keeping to
        oneself, less what reading from the third cache takes more."""
        more = 1 / per_cycle["handed1"] - 1 / per_cycle["handed0"] - (1 / l3 - 1 / l2)
        return 1 / max(more + 1 / per_cycle["stores"], 1 / l3)

    def _add(self, function: Function, size: int = 0) -> None:
        self._functions[function.name] = function
        if size:
            self._bytes[function.name] = size

    def _add_reads(self, name: str, size: int, *, streams: int = 1, cores: int = 1) -> None:
        """A function that reads `size` bytes per core, of which it counts the bytes of one."""
        rounds = max(1, READ_BYTES // size)
        function = reads(name, size, rounds, lanes=self._lanes, streams=streams, cores=cores)
        self._add(function, rounds * size)

    def _calls(self) -> dict[str, Callable[[], object]]:
        """The functions with arguments; all that read share one array, of pages that have been written."""
        shapes = {
            name: [tuple(int(str(extent)) for extent in p.shape) for p in function.parameters]
            for name, function in self._functions.items()
        }
        longest = max(prod(shape) for of in shapes.values() for shape in of if len(shape) == 1)
        memory = array(np.full(longest, 3, np.int32))
        calls: dict[str, Callable[[], object]] = {}
        for name, function in self._functions.items():
            arguments: list[NDArray] = []
            for parameter, shape in zip(function.parameters, shapes[name], strict=True):
                if parameter.name == "x" and len(shape) == 1:
                    arguments.append(memory[: shape[0]])
                else:
                    arguments.append(
                        array(np.full(shape, 0.5 if parameter.dtype.is_float else 3, parameter.dtype.numpy))
                    )
            calls[name] = self._module[name].bind(*arguments)
        return calls


def _fewest(memory: dict[int, float]) -> int:
    """The number of streams that is fastest, or a smaller one that is hardly slower."""
    best = max(memory.values())
    return min(streams for streams, rate in memory.items() if rate * CLEARLY >= best)


def _third(sizes: Sequence[tuple[int, float]], memory: float, l2: float) -> tuple[float, int]:
    """The rate of the third cache, and the bytes that are read at this rate; without one that of memory, and none."""
    if not sizes or sizes[0][1] < CACHED * memory:
        return min(memory, l2), 0
    held = list(takewhile(lambda found: found[1] >= FULLY * sizes[0][1], sizes))
    return min(max(median(rate for _, rate in held), memory), l2), held[-1][0]


def _rounded(value: float) -> float:
    """Two digits."""
    return round(value, 1 - floor(log10(value)))
