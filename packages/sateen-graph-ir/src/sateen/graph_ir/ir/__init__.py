"""Graphs: values, nodes, their builder and rewriter, their text, and their verifier."""

from sateen.graph_ir.ir.builder import GraphBuilder
from sateen.graph_ir.ir.graph import HOST, Array, Graph, Node, NodeSpan, Value, infer, note_node
from sateen.graph_ir.ir.op_set import OpSet
from sateen.graph_ir.ir.parser import parse_graph
from sateen.graph_ir.ir.problem import Problem, parse_problem
from sateen.graph_ir.ir.rewriter import GraphRewriter
from sateen.graph_ir.ir.structural_equality import structural_equal, structural_key, why_different
from sateen.graph_ir.ir.text import (
    canonical_text,
    format_attribute,
    format_graph,
    format_node,
    large_parameters,
    subgraphs,
)
from sateen.graph_ir.ir.types import Dim, Dimension, Symbol, TensorType
from sateen.graph_ir.ir.user_lowerings import ByFunction, Lowering
from sateen.graph_ir.ir.verifier import verify_graph

__all__ = [
    "HOST",
    "Array",
    "ByFunction",
    "Dim",
    "Dimension",
    "Graph",
    "GraphBuilder",
    "GraphRewriter",
    "Lowering",
    "Node",
    "NodeSpan",
    "OpSet",
    "Problem",
    "Symbol",
    "TensorType",
    "Value",
    "canonical_text",
    "format_attribute",
    "format_graph",
    "format_node",
    "infer",
    "large_parameters",
    "note_node",
    "parse_graph",
    "parse_problem",
    "structural_equal",
    "structural_key",
    "subgraphs",
    "verify_graph",
    "why_different",
]
