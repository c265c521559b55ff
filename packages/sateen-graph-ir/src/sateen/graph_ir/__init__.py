"""The graph compiler of sateen: networks as immutable graphs, passes over them, and `build`, which makes artifacts."""

from sateen.graph_ir.build import build
from sateen.graph_ir.graph import Graph, GraphBuilder, GraphRewriter, Node, NodeSpan, Value
from sateen.graph_ir.installed import installed_operators
from sateen.graph_ir.interpreter import interpret
from sateen.graph_ir.op_set import OpSet
from sateen.graph_ir.ops import OPS
from sateen.graph_ir.parser import parse_graph
from sateen.graph_ir.pipeline import PassRun, Pipeline, run_pipeline
from sateen.graph_ir.pipelines import default_pipeline
from sateen.graph_ir.types import Dimension, Symbol, TensorType
from sateen.graph_ir.version import __version__
from sateen.topi.operator import LayoutChoice, Operator

__all__ = [
    "OPS",
    "Dimension",
    "Graph",
    "GraphBuilder",
    "GraphRewriter",
    "LayoutChoice",
    "Node",
    "NodeSpan",
    "OpSet",
    "Operator",
    "PassRun",
    "Pipeline",
    "Symbol",
    "TensorType",
    "Value",
    "__version__",
    "build",
    "default_pipeline",
    "installed_operators",
    "interpret",
    "parse_graph",
    "run_pipeline",
]
