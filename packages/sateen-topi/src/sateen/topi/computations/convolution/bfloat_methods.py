"""The direct convolution on data and weights of bfloat16, in float32."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar

from sateen.tensor_ir import Machine
from sateen.topi.computations.convolution import direct
from sateen.topi.computations.convolution.shapes import ConvolutionShapes
from sateen.topi.cost import rounding_cycles
from sateen.topi.methods import Candidate
from sateen.topi.schedules import PAIR
from sateen.topi.types import FLOAT32, Block, Layout


@dataclass(frozen=True, slots=True)
class DirectBfloat(direct.Direct):
    """The direct method on data and weights that are rounded to bfloat16."""

    numerics: ClassVar[str] = "fast"


def bfloat_weight_layout(rank: int, lanes: int, vectors: int) -> Layout:
    """The layout of weights [O, C, …]: panels of output channels, in which pairs of input channels are neighbours."""
    kernel = range(2, rank)
    return Layout((0, 1, *kernel, Block(1, lanes // PAIR), Block(0, lanes * vectors), Block(1, PAIR)))


def candidates(problem: ConvolutionShapes, machine: Machine) -> Iterator[Candidate]:
    """The tiles of the direct method, with two channels in each term; none where the processor has no fast dot
    products, or channels are no whole blocks."""
    lanes, (outputs, channels, *kernel) = machine.lanes(), problem.weight
    if not machine.multiplies_pairs or problem.dtype != FLOAT32 or channels % lanes or outputs < lanes:
        return
    batch, _, *spatial = problem.data
    halved = replace(problem, data=(batch, channels // PAIR, *spatial), weight=(outputs, channels // PAIR, *kernel))
    rounding = rounding_cycles(prod(problem.data), machine)
    for candidate in direct.candidates(halved, machine.of_pairs):
        match candidate.method:
            case direct.Direct(rows=rows, columns=columns, vectors=vectors):
                yield Candidate(DirectBfloat(rows, columns, vectors), candidate.cycles + rounding)
