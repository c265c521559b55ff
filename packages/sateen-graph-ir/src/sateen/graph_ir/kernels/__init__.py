"""Groups of nodes, and problems, as functions of loop IR and as object code."""

from sateen.graph_ir.kernels.compiler import KernelCompiler
from sateen.graph_ir.kernels.facts import KernelFacts, KernelMaker
from sateen.graph_ir.kernels.group_compiler import GroupCompiler
from sateen.graph_ir.kernels.groups import GroupKey, LoweredGroup, group_key, lower_group, lower_kernel, note_group
from sateen.graph_ir.kernels.kernel_pool import KernelPool
from sateen.graph_ir.kernels.lowered_kernels import LoweredKernels
from sateen.graph_ir.kernels.problems import SolvedProblem, problem_kernel, solved

__all__ = [
    "GroupCompiler",
    "GroupKey",
    "KernelCompiler",
    "KernelFacts",
    "KernelMaker",
    "KernelPool",
    "LoweredGroup",
    "LoweredKernels",
    "SolvedProblem",
    "group_key",
    "lower_group",
    "lower_kernel",
    "note_group",
    "problem_kernel",
    "solved",
]
