"""Strips: on a processor that is a device of OpenCL, a thread computes some rows of many neighbouring columns.

It reads the operands of a product or a convolution where they are, the columns one behind the other, which its compiler
makes vectors of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sateen.runtime.dtype import DType
from sateen.tensor_ir import te
from sateen.tensor_ir.ir import IterVar
from sateen.tensor_ir.targets import Gpu
from sateen.topi.methods import Candidate, Method
from sateen.topi.schedules import OWN_COLUMNS, own_columns

ROWS = (16, 8, 4, 2, 1)
COLUMNS = (32, 64, 16, 8, 4)
"""The rows and columns that a strip may have, the preferred ones first where estimates are equal."""
SPILLED = 1.5
"""The vectors of sums that a strip may have for each register: less costs more than a few spills, not than many."""


@dataclass(frozen=True, slots=True)
class Strips(Method):
    """A thread computes rows x columns. The rows of a convolution are output channels, its columns are positions along
    the last dimension."""

    rows: int
    columns: int


def strips(batch: int, rows: int, columns: int, terms: int, dtype: DType, gpu: Gpu) -> list[Candidate]:
    """The strips of a batch of results of `rows` x `columns` that the registers hold, best first.

    Each term takes a multiply-add for each vector, a load for each row and a load for each vector of columns.
    """
    wide = own_columns([dtype])
    most = gpu.thread_registers if wide == OWN_COLUMNS else wide
    found = []
    for r in dict.fromkeys(min(rows, n) for n in ROWS):
        for c in dict.fromkeys(min(columns, n) for n in COLUMNS):
            if r * c > gpu.thread_registers or max(r, c) > most:
                continue
            if r * _registers(c, gpu) > SPILLED * gpu.thread_registers / gpu.vector:
                continue
            vectors = -(-c // gpu.vector)
            count = batch * -(-rows // r) * -(-columns // c)
            found.append(Candidate(Strips(r, c), count / gpu.units * terms * (r * vectors + r + vectors)))
    return sorted(found, key=lambda c: c.cycles)


def _registers(columns: int, gpu: Gpu) -> int:
    """The registers of a row's sums: compilers cut a rest of columns into powers of two, each in a register of its
    own."""
    return columns // gpu.vector + (columns % gpu.vector).bit_count()


def bind_strips(host: te.Stage, loops: Sequence[IterVar], rows: IterVar, columns: IterVar) -> IterVar:
    """Give each iteration of `loops` to a thread, which computes a strip; returns the loop over threads."""
    host.reorder(*loops, rows, columns)
    host.unroll(rows)
    host.unroll(columns)
    one = host.fuse(*loops)
    host.bind(one, te.thread_axis("blockIdx.x"))
    return one
