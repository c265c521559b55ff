"""What schedules want to know of a machine, and what its limits are when measured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sateen.runtime.dtype import DType
from sateen.runtime.module import Function as LoadedFunction
from sateen.runtime.ndarray import NDArray, array, empty
from sateen.runtime.target import Target
from sateen.runtime.timing import time_evaluator
from sateen.tensor_ir.build import build_functions
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer, Scope
from sateen.tensor_ir.ir.expr import FLOAT32, Load, Var, const
from sateen.tensor_ir.ir.stmt import Allocate, For, Function, LoopKind, Store, sequence


@dataclass(frozen=True, slots=True)
class Machine:
    """Sizes that bound a schedule: vector registers, their width in bytes, and the caches of one core in bytes."""

    vector_bytes: int
    vector_registers: int
    l1_bytes: int
    l2_bytes: int
    l3_bytes: int

    @staticmethod
    def of(target: Target | str = "llvm") -> Machine:
        """The machine of a target. Caches are read from this machine when the target is it, else typical sizes."""
        complete = Target.of(target)
        vector_bytes, registers = _vectors(complete)
        caches = _host_caches() if complete == Target.host() else {}
        return Machine(
            vector_bytes, registers, caches.get(1, 32 << 10), caches.get(2, 512 << 10), caches.get(3, 4 << 20)
        )

    def lanes(self, dtype: DType | str = FLOAT32) -> int:
        """Elements of a type in one vector register."""
        return max(1, self.vector_bytes // DType.of(dtype).bytes)


def _vectors(target: Target) -> tuple[int, int]:
    """Width in bytes and number of vector registers."""
    architecture = target.architecture
    if architecture == "x86_64":
        if target.has_feature("avx512f"):
            return 64, 32
        return (32, 16) if target.has_feature("avx2") else (16, 16)
    if architecture == "aarch64":
        return 16, 32
    return 16, 16


def _host_caches() -> dict[int, int]:
    """Data caches of the first processor by level, in bytes; what the system does not tell is absent."""
    sizes: dict[int, int] = {}
    for entry in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        kind, level, size = ((entry / name).read_text().strip() for name in ("type", "level", "size"))
        if kind in ("Data", "Unified") and size.endswith("K"):
            sizes[int(level)] = int(size[:-1]) << 10
    return sizes


class PeakMeter:
    """Measures the peak of float32 multiply-adds on one core of this machine: chains of them in registers only."""

    CHAINS = 12
    ROUNDS = 200_000

    def __init__(self) -> None:
        lanes = Machine.of("llvm").lanes()
        self._flops = 2 * lanes * self.CHAINS * self.ROUNDS
        self._function: LoadedFunction = build_functions([_chains(lanes, self.CHAINS, self.ROUNDS)])["fma_chains"]
        self._data: list[NDArray] = [array(np.full(lanes, 0.5, np.float32)), empty((lanes * self.CHAINS,), "float32")]

    def sample(self) -> float:
        """One measurement, in GFLOP/s."""
        result = time_evaluator(self._function, *self._data, number=1, repeat=1)
        return self._flops / result.samples[0] / 1e9


def _chains(lanes: int, chains: int, rounds: int) -> Function:
    """x[i] = x[i] * a + a, `rounds` times, for independent vectors x[i]."""
    a = Buffer("a", (const(lanes),), FLOAT32)
    out = Buffer("out", (const(lanes * chains),), FLOAT32)
    x = Buffer("x", (const(lanes * chains),), FLOAT32, Scope.REGISTER)

    def vectors(body: object, buffer: Buffer) -> For:
        chain, lane = Var("chain"), Var("lane")
        index = (ex.add(ex.multiply(chain, lanes), lane),)
        factor = Load(a, (lane,), FLOAT32)
        values = {
            "start": factor,
            "step": ex.add(ex.multiply(Load(x, index, FLOAT32), factor), factor),
            "store": Load(x, index, FLOAT32),
        }
        inner = For(lane, const(0), const(lanes), LoopKind.VECTORIZED, Store(buffer, index, values[str(body)]))
        return For(chain, const(0), const(chains), LoopKind.UNROLLED, inner)

    loop = For(Var("round"), const(0), const(rounds), LoopKind.SERIAL, vectors("step", x))
    body = Allocate(x, sequence(vectors("start", x), loop, vectors("store", out)))
    return Function("fma_chains", (a, out), frozenset({out}), body)
