"""How each operator of MXNet becomes operators of sateen: a table per family, and other names of some operators."""

from collections.abc import Mapping

from sateen.frontends.mxnet.converters.aliases import ALIASES, NUMPY_ALIASES
from sateen.frontends.mxnet.converters.broadcast import BROADCAST
from sateen.frontends.mxnet.converters.constants import CONSTANTS
from sateen.frontends.mxnet.converters.convolution import CONVOLUTION
from sateen.frontends.mxnet.converters.detection import DETECTION
from sateen.frontends.mxnet.converters.element_wise import ELEMENT_WISE
from sateen.frontends.mxnet.converters.gather import GATHER
from sateen.frontends.mxnet.converters.losses import LOSSES
from sateen.frontends.mxnet.converters.normalization import NORMALIZATION
from sateen.frontends.mxnet.converters.numpy_arithmetic import NUMPY_ARITHMETIC
from sateen.frontends.mxnet.converters.numpy_moves import NUMPY_MOVES
from sateen.frontends.mxnet.converters.numpy_shape import NUMPY_SHAPE
from sateen.frontends.mxnet.converters.pooling import POOLING
from sateen.frontends.mxnet.converters.products import PRODUCTS
from sateen.frontends.mxnet.converters.recurrent import RECURRENT
from sateen.frontends.mxnet.converters.reductions import REDUCTIONS
from sateen.frontends.mxnet.converters.reshape import RESHAPE
from sateen.frontends.mxnet.converters.resizing import RESIZING
from sateen.frontends.mxnet.converters.sampling import SAMPLING
from sateen.frontends.mxnet.converters.sequence import SEQUENCE
from sateen.frontends.mxnet.converters.shape import SHAPE
from sateen.frontends.mxnet.converters.slices import SLICES
from sateen.frontends.mxnet.description import OperatorDescription

CONVERTERS: dict[str, OperatorDescription] = (
    BROADCAST
    | CONSTANTS
    | CONVOLUTION
    | DETECTION
    | ELEMENT_WISE
    | GATHER
    | LOSSES
    | NORMALIZATION
    | NUMPY_ARITHMETIC
    | NUMPY_MOVES
    | NUMPY_SHAPE
    | POOLING
    | PRODUCTS
    | RECURRENT
    | REDUCTIONS
    | RESHAPE
    | RESIZING
    | SAMPLING
    | SEQUENCE
    | SHAPE
    | SLICES
)
"""By MXNet's own names."""
OWN_NAMES: Mapping[str, str] = ALIASES | NUMPY_ALIASES
"""MXNet's own name of an operator by another one."""
OPERATORS: Mapping[str, OperatorDescription] = CONVERTERS | {name: CONVERTERS[own] for name, own in OWN_NAMES.items()}
"""All operators that can be read, by all of their names."""
