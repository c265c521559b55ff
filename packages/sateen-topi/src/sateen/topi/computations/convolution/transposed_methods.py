"""The methods of transposed convolutions in blocks of channels: register tiles, with an estimate of each."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, prod

from sateen.tensor_ir import Machine
from sateen.topi.computations.convolution.direct import Direct
from sateen.topi.computations.convolution.shapes import ConvolutionShapes, panels
from sateen.topi.cost import bytes_per_cycle, convolution_cycles, tile_cycles
from sateen.topi.methods import Candidate
from sateen.topi.schedules import balanced
from sateen.topi.types import FLOAT32


def transposed_candidates(problem: ConvolutionShapes, extents: tuple[int, ...], machine: Machine) -> list[Candidate]:
    """All tiles of float32 that fit the registers, best first, for an output of `extents`; none if a layout in blocks
    of channels does not fit. The weight of the problem is [C, O/groups, …]."""
    lanes = machine.lanes()
    is_blocked = lanes > 1 and problem.weight[1] % lanes == 0 and machine.gpu is None
    if not is_blocked or problem.dtype != FLOAT32 or 0 in problem.data:
        return []
    found = (Candidate(m, _cycles(problem, extents, m, machine)) for m in _tiles(problem, extents, machine))
    return sorted((c for c in found if c.cycles < inf), key=lambda c: c.cycles)


def _tiles(problem: ConvolutionShapes, extents: tuple[int, ...], machine: Machine) -> Iterator[Direct]:
    """Tiles of whole strides: columns that are a stride apart have the same elements of the kernel."""
    stride = problem.window.strides[-1]
    for vectors in panels(problem.weight[1], machine.lanes()):
        most = max(1, machine.tile_positions(vectors) // stride)
        for phases in dict.fromkeys(balanced(-(-extents[-1] // stride), n) for n in range(1, most + 1)):
            yield Direct(1, stride * phases, vectors)


def _cycles(problem: ConvolutionShapes, extents: tuple[int, ...], method: Direct, machine: Machine) -> float:
    window, batch, channels = problem.window, problem.data[0], problem.weight[0] // problem.groups
    taps = [
        -(-k // s) if d == 1 else k for k, s, d in zip(window.kernel, window.strides, window.dilations, strict=True)
    ]
    terms = channels * prod(taps)
    panels_of_outputs = problem.weight[1] * problem.groups // (machine.lanes() * method.vectors)
    rows = batch * panels_of_outputs * prod(extents[:-1])
    tiles = -(-extents[-1] // method.columns)
    phases = window.strides[-1] if window.dilations[-1] == 1 else 1
    loads = method.columns + phases * method.vectors * max(1, machine.vector_bytes // machine.rates.load_bytes)
    loading = terms * loads * machine.rates.load_cycles
    tile = max(tile_cycles(method.columns, method.vectors, terms, machine), loading)
    image = 4 * prod(problem.data[1:]) // problem.groups
    traffic = batch * panels_of_outputs * image / bytes_per_cycle(image, machine) * machine.rates.exposed
    work = rows * tiles * tile + traffic
    return convolution_cycles(work, 4 * prod(problem.weight), method.vectors, rows, machine, asked=False)
