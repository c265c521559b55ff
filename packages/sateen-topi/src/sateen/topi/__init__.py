"""The operators of sateen: computations over logical axes, in any layout, and their schedules."""

from sateen.topi.dimension import Dimension, Symbol
from sateen.topi.kind import Kind, kind_of
from sateen.topi.layout import Block, Layout, View, compute, placeholder
from sateen.topi.operator import Candidate, Computation, LayoutChoice, Method, Operator, ScheduleFunction
from sateen.topi.types import TensorType
from sateen.topi.version import __version__

__all__ = [
    "Block",
    "Candidate",
    "Computation",
    "Dimension",
    "Kind",
    "Layout",
    "LayoutChoice",
    "Method",
    "Operator",
    "ScheduleFunction",
    "Symbol",
    "TensorType",
    "View",
    "__version__",
    "compute",
    "kind_of",
    "placeholder",
]
