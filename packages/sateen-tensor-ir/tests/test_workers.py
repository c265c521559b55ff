from __future__ import annotations

import os

from sateen.tensor_ir import te
from sateen.tensor_ir.codegen.workers import CompilerPool
from sateen.tensor_ir.lower import lower


def _function():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] * 2.0, name="B")
    return lower(te.create_schedule(B), [A, B], "twice")


def test_an_interrupt_from_the_terminal_does_not_reach_workers():
    with CompilerPool(1) as pool:
        (worker,) = pool._workers
        assert os.getpgid(worker.process.pid) != os.getpgid(0)
        (code,) = pool.compile([_function()])
        assert code.symbols == ("twice",)
    assert worker.process.returncode == 0
