"""Reductions along axes: sums, norms, extrema and their positions.

A reduction runs in vectors: along memory if the innermost axis is reduced, otherwise across it. If both kinds of axes
are reduced, the innermost ones go first.
"""

from sateen.topi.computations.reductions.kinds import arg_extremum, reduce, reduce_log_sum_exp
from sateen.topi.computations.reductions.steps import reduced_shape

__all__ = ["arg_extremum", "reduce", "reduce_log_sum_exp", "reduced_shape"]
