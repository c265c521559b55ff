"""The methods of convolution that suit a problem, by the kind of machine."""

from __future__ import annotations

from math import inf, prod

from sateen.tensor_ir import Machine
from sateen.tensor_ir.targets import Gpu
from sateen.topi.computations.convolution import (
    bfloat_methods,
    by_warp_tiles,
    direct,
    pointwise_by_tiles,
    rectangles,
    winograd_by_threads,
    winograd_methods,
)
from sateen.topi.computations.convolution.shapes import ConvolutionShapes
from sateen.topi.computations.strips import strips
from sateen.topi.methods import Candidate
from sateen.topi.types import FLOAT32


def cpu_candidates(problem: ConvolutionShapes, machine: Machine) -> list[Candidate]:
    """All methods of float32, best first; none if a layout in blocks of channels does not fit."""
    lanes = machine.lanes()
    if problem.dtype != FLOAT32 or lanes == 1 or problem.weight[0] < lanes:
        return []
    if problem.groups > 1 and not problem.is_depthwise and problem.weight[0] // problem.groups % lanes:
        return []
    found = [*direct.candidates(problem, machine)]
    if problem.groups == 1:
        found += winograd_methods.candidates(problem, machine)
        found += bfloat_methods.candidates(problem, machine)
        found += pointwise_by_tiles.candidates(problem, machine)
    return sorted((c for c in found if c.cycles < inf), key=lambda c: c.cycles)


def conv_candidates(problem: ConvolutionShapes, machine: Machine) -> list[Candidate]:
    """All methods for a convolution on a machine, best first."""
    if machine.gpu is None:
        return cpu_candidates(problem, machine)
    found = [*device_candidates(problem, machine.gpu), *by_warp_tiles.candidates(problem, machine.gpu)]
    return sorted(found, key=lambda c: c.cycles)


def device_candidates(problem: ConvolutionShapes, gpu: Gpu) -> list[Candidate]:
    """All methods for a device, best first; none if there is no place for them in shared memory."""
    batch, (outputs, channels, *kernel) = problem.data[0], problem.weight
    *outer, width = problem.output
    if 0 in (batch, channels, *problem.output):
        return []
    if not gpu.runs_in_step:
        return strips(prod([batch, *outer]), outputs, width, channels * prod(kernel), problem.dtype, gpu)
    found = [*rectangles.candidates(problem.on_a_line, gpu), *winograd_by_threads.candidates(problem, gpu)]
    return sorted(found, key=lambda c: c.cycles)
