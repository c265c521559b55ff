"""The peak of a machine, measured."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from sateen.runtime import Session, Target, TimeResult, array, empty, time_evaluator
from sateen.tensor_ir.compile import build_functions
from sateen.tensor_ir.probes import MULTIPLY_ADD, chains, independent_chains
from sateen.tensor_ir.targets import Machine


class PeakMeter:
    """Measures the peak of float32 multiply-adds on one core, by chains of them in registers only: on this machine, or
    where a session runs."""

    _time: Callable[..., TimeResult]
    ROUNDS = 200_000

    def __init__(self, session: Session | None = None) -> None:
        target = Target.host() if session is None else Target.parse(session.info()["target"])
        machine = Machine.of(target)
        lanes, count = machine.lanes(), independent_chains(machine)
        self._flops = 2 * lanes * count * self.ROUNDS
        function = chains("fma_chains", MULTIPLY_ADD, lanes=lanes, count=count, rounds=self.ROUNDS)
        built = build_functions([function], target)
        factor, size = np.full(lanes, 0.5, np.float32), lanes * count
        if session is None:
            self._time = partial(time_evaluator, built["fma_chains"], array(factor), empty(size))
        else:
            there = session.load(built.library(), threads=1)["fma_chains"]
            self._time = partial(there.time, session.array(factor), session.empty(size))

    def sample(self) -> float:
        """One measurement, in GFLOP/s."""
        return self._flops / self._time(number=1, repeat=1).samples[0] / 1e9
