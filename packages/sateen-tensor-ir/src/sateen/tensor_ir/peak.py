"""The peak of a machine, measured."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from sateen.runtime import Session, Target, TimeResult, array, empty, time_evaluator
from sateen.tensor_ir.compile import build_functions
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer, Load, Scope
from sateen.tensor_ir.ir.expr import Var, const
from sateen.tensor_ir.ir.stmt import Allocate, For, Function, LoopKind, Store, sequence
from sateen.tensor_ir.ir.types import FLOAT32
from sateen.tensor_ir.targets import Machine


class PeakMeter:
    """Measures the peak of float32 multiply-adds on one core, by chains of them in registers only: on this machine, or
    where a session runs."""

    _time: Callable[..., TimeResult]
    CHAINS = 12
    ROUNDS = 200_000

    def __init__(self, session: Session | None = None) -> None:
        target = Target.host() if session is None else Target.parse(session.info()["target"])
        lanes = Machine.of(target).lanes()
        self._flops = 2 * lanes * self.CHAINS * self.ROUNDS
        built = build_functions([_chains(lanes, self.CHAINS, self.ROUNDS)], target)
        factor, size = np.full(lanes, 0.5, np.float32), lanes * self.CHAINS
        if session is None:
            self._time = partial(time_evaluator, built["fma_chains"], array(factor), empty(size))
        else:
            function = session.load(built.library(), threads=1)["fma_chains"]
            self._time = partial(function.time, session.array(factor), session.empty(size))

    def sample(self) -> float:
        """One measurement, in GFLOP/s."""
        return self._flops / self._time(number=1, repeat=1).samples[0] / 1e9


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
