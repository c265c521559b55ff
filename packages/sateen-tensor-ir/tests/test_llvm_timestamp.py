from __future__ import annotations

import numpy as np
import pytest

from sateen.runtime import CodegenError
from sateen.runtime.dtype import DType
from sateen.tensor_ir import build_functions
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.digests import digest
from sateen.tensor_ir.ir.expr import const
from sateen.tensor_ir.ir.stmt import Function, Timestamp, sequence


def _stamps(*places: int) -> Function:
    clock = Buffer("clock", (const(8),), DType.of("int64"), alignment=8)
    return Function("stamps", (clock,), frozenset({clock}), sequence(*(Timestamp(clock, i) for i in places)))


def test_the_clock_runs_forward_and_is_written_where_the_statement_says():
    clock = np.zeros(8, np.int64)
    build_functions([_stamps(2, 3, 6)])(clock)
    assert 0 < clock[2] <= clock[3] <= clock[6]
    assert not clock[[0, 1, 4, 5, 7]].any()


def test_it_prints_on_a_line():
    assert "  timestamp clock[3]\n" in f"{_stamps(3)}\n"


def test_the_place_counts_in_the_digest():
    assert digest(_stamps(3)) == digest(_stamps(3)) != digest(_stamps(4))


@pytest.mark.parametrize(
    ("architecture", "instruction"), [("x86_64", "rdtsc"), ("aarch64", "CNTVCT_EL0"), ("riscv64", "rdtime")]
)
def test_each_architecture_reads_a_clock_of_constant_rate(architecture, instruction):
    target = f"llvm -mtriple={architecture}-linux-gnu"
    assert instruction in build_functions([_stamps(0)], target).assembly()


@pytest.mark.parametrize("triple", ["armv7-linux-gnueabihf", "wasm32-unknown-unknown"])
def test_a_target_without_a_readable_clock_is_refused(triple):
    with pytest.raises(CodegenError, match="the target has no clock that a program can read"):
        build_functions([_stamps(0)], f"llvm -mtriple={triple}")
