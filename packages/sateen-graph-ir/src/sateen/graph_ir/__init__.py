"""The graph compiler of sateen: networks as immutable graphs, passes over them, and `build`, which makes artifacts."""

from sateen.graph_ir.compile import build
from sateen.graph_ir.drawing import draw
from sateen.graph_ir.ir import (
    Dimension,
    Graph,
    GraphBuilder,
    GraphRewriter,
    Node,
    NodeSpan,
    OpSet,
    Symbol,
    TensorType,
    Value,
    parse_graph,
)
from sateen.graph_ir.judge import interpret
from sateen.graph_ir.ops import OPS, installed_operators
from sateen.graph_ir.passes import PassRun, Pipeline, default_pipeline, run_pipeline
from sateen.graph_ir.version import __version__
from sateen.topi.operators import LayoutChoice, Operator

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
    "draw",
    "installed_operators",
    "interpret",
    "parse_graph",
    "run_pipeline",
]
