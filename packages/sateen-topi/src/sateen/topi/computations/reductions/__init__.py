"""Reductions along axes: sums, norms, extrema and their positions.

A reduction runs in vectors: along memory if the innermost axis is reduced, otherwise across it. If both kinds of axes
are reduced, the innermost ones go first.
"""

from sateen.topi.computations.reductions.kinds import (
    arg_extremum,
    extremum_reducer,
    reduce,
    reduce_log_sum_exp,
)
from sateen.topi.computations.reductions.steps import neighbours_along, reduced_shape

__all__ = [
    "arg_extremum",
    "extremum_reducer",
    "neighbours_along",
    "reduce",
    "reduce_log_sum_exp",
    "reduced_shape",
]
