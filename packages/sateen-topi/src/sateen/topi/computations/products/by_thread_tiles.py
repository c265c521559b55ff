"""Products on devices: the tiles of threads, with an estimate of each."""

from __future__ import annotations

from dataclasses import dataclass

from sateen.tensor_ir.targets import Gpu
from sateen.topi.computations.products.shapes import ProductShapes
from sateen.topi.computations.strips import Strips, strips
from sateen.topi.methods import Candidate, Method, best_of_each
from sateen.topi.schedules import (
    MOST_TILES,
    TILES_OF_PART,
    ThreadTile,
    accumulator_type,
    fitting_tiles,
    shared_terms,
    term_time,
)


@dataclass(frozen=True, slots=True)
class Tiled(Method):
    """Blocks of threads_y x threads_x threads, each of which computes rows x columns; `terms` of the sums lie in shared
    memory at a time."""

    threads_y: int
    rows: int
    threads_x: int
    columns: int
    terms: int

    @property
    def tile(self) -> ThreadTile:
        return ThreadTile(self.threads_y, self.rows, self.threads_x, self.columns)


def device_candidates(p: ProductShapes, gpu: Gpu) -> list[Candidate]:
    """Tiles that a device has place for, best first: the best for each part of a thread, with fewer terms, too; none
    for a product without elements or terms."""
    if 0 in (p.batch, p.rows, p.columns, p.terms):
        return []
    if not gpu.runs_in_step:
        return strips(p.batch, p.rows, p.columns, p.terms, p.dtype, gpu)
    element_bytes = accumulator_type(p.dtype).bytes

    def elements(t: ThreadTile) -> int:
        return t.height + t.width

    def cycles(t: ThreadTile) -> float:
        blocks = -(-p.rows // t.height) * -(-p.columns // t.width) * p.batch
        return p.terms * term_time(t, t.height + t.width, blocks, gpu)

    fitting = (t for t in fitting_tiles(p.rows, p.columns, gpu) if elements(t) * element_bytes <= gpu.shared_bytes // 2)
    return [
        Candidate(Tiled(t.threads_y, t.rows, t.threads_x, t.columns, terms), cycles(t))
        for t in best_of_each(fitting, cycles, lambda t: (t.rows, t.columns), TILES_OF_PART, MOST_TILES)
        for terms in shared_terms(elements(t), element_bytes, p.terms, gpu)
    ]


def device_method(p: ProductShapes, gpu: Gpu, method: Method | None) -> Tiled | Strips:
    """The given method if it is one of devices, otherwise the best of the candidates."""
    if isinstance(method, Tiled | Strips):
        return method
    best = device_candidates(p, gpu)[0].method
    assert isinstance(best, Tiled | Strips)
    return best
