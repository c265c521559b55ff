"""The operators of sateen: computations over logical axes, in any layout, and their schedules."""

from sateen.topi.dimensions import Dimension, Symbol
from sateen.topi.methods import Candidate, Method
from sateen.topi.operators import LayoutChoice, Operator
from sateen.topi.schedules import Computation, Kind, ScheduleFunction, kind_of
from sateen.topi.types import Block, Layout, TensorType, View, compute, placeholder
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
