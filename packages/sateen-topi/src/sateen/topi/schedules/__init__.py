"""Computations with their schedules, and the common parts of schedules."""

from sateen.topi.schedules.computation import Computation, ScheduleFunction, ScheduleTable, on_cpu
from sateen.topi.schedules.extern_loops import loop_kind, loops, vector_of
from sateen.topi.schedules.injective import INJECTIVE, schedule_injective
from sateen.topi.schedules.kind import Kind, kind_of
from sateen.topi.schedules.register_tiles import (
    ReductionTile,
    accumulator_type,
    balanced,
    elements,
    extent_of,
    host_of,
    in_registers,
    largest_divisor,
    owns_its_memory,
    reads_in_place,
    reduce_in_vectors,
    register_tile,
    shape_of,
    share_among_threads,
    sum_lanes,
    tile_rows,
)
from sateen.topi.schedules.rows import Rows, flattened, unflattened

__all__ = [
    "INJECTIVE",
    "Computation",
    "Kind",
    "ReductionTile",
    "Rows",
    "ScheduleFunction",
    "ScheduleTable",
    "accumulator_type",
    "balanced",
    "elements",
    "extent_of",
    "flattened",
    "host_of",
    "in_registers",
    "kind_of",
    "largest_divisor",
    "loop_kind",
    "loops",
    "on_cpu",
    "owns_its_memory",
    "reads_in_place",
    "reduce_in_vectors",
    "register_tile",
    "schedule_injective",
    "shape_of",
    "share_among_threads",
    "sum_lanes",
    "tile_rows",
    "unflattened",
    "vector_of",
]
