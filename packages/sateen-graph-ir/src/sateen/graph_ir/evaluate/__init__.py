"""Evaluates nodes on data: by the definition of their operator, or by a kernel compiled for it."""

from sateen.graph_ir.evaluate.by_definition import run_graph
from sateen.graph_ir.evaluate.by_kernel import NativeEvaluator, work_of

__all__ = [
    "NativeEvaluator",
    "run_graph",
    "work_of",
]
