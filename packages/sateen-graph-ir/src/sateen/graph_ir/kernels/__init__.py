"""Groups of nodes, and problems, as functions of loop IR and as object code."""

from sateen.graph_ir.kernels.compiler import KernelCompiler
from sateen.graph_ir.kernels.groups import GroupKey, LoweredGroup, group_key, lower_group, lower_kernel, note_group
from sateen.graph_ir.kernels.problems import SolvedProblem, problem_kernel, solved

__all__ = [
    "GroupKey",
    "KernelCompiler",
    "LoweredGroup",
    "SolvedProblem",
    "group_key",
    "lower_group",
    "lower_kernel",
    "note_group",
    "problem_kernel",
    "solved",
]
