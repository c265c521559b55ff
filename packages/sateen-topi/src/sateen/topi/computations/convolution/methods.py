"""The methods of convolution that suit a problem, by the kind of machine."""

from __future__ import annotations

from math import inf

from sateen.runtime.device import DeviceKind
from sateen.tensor_ir import Machine
from sateen.topi.computations.convolution import direct, winograd_methods
from sateen.topi.computations.convolution.shapes import ConvolutionShapes
from sateen.topi.methods import Candidate


def cpu_candidates(problem: ConvolutionShapes, machine: Machine) -> list[Candidate]:
    """All methods, best first; none if a layout in blocks of channels does not fit."""
    lanes = machine.lanes()
    if lanes == 1 or problem.weight[0] < lanes:
        return []
    found = [*direct.candidates(problem, machine), *winograd_methods.candidates(problem, machine)]
    return sorted((c for c in found if c.cycles < inf), key=lambda c: c.cycles)


CANDIDATES = {DeviceKind.CPU: cpu_candidates}
"""The candidates by the kind of machine."""
