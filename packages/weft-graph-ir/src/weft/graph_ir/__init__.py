"""The graph compiler of weft: networks as immutable graphs, passes over them, and `build`, which makes artifacts."""

from weft.graph_ir.build import build, default_pipeline
from weft.graph_ir.graph import Graph, GraphBuilder, GraphRewriter, Node, NodeSpan, Value
from weft.graph_ir.installed import installed_operators
from weft.graph_ir.interpreter import interpret
from weft.graph_ir.op import LayoutChoice, Op
from weft.graph_ir.op_set import OpSet
from weft.graph_ir.ops import OPS
from weft.graph_ir.parser import parse_graph
from weft.graph_ir.pipeline import PassRun, Pipeline, run_pipeline
from weft.graph_ir.types import Symbol, TensorType

__all__ = [
    "OPS",
    "Graph",
    "GraphBuilder",
    "GraphRewriter",
    "LayoutChoice",
    "Node",
    "NodeSpan",
    "Op",
    "OpSet",
    "PassRun",
    "Pipeline",
    "Symbol",
    "TensorType",
    "Value",
    "build",
    "default_pipeline",
    "installed_operators",
    "interpret",
    "parse_graph",
    "run_pipeline",
]
