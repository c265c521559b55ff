"""Types of values: element type, dimensions, layout; and views, which index memory by logical axes."""

from sateen.topi.types.layout import Block, Layout, View, compute, placeholder
from sateen.topi.types.packing import pack, rearranged, unpack
from sateen.topi.types.tensor_type import BFLOAT16, FLOAT32, INT32, MOST_DIMENSIONS, TensorType, takes_weight

__all__ = [
    "BFLOAT16",
    "FLOAT32",
    "INT32",
    "MOST_DIMENSIONS",
    "Block",
    "Layout",
    "TensorType",
    "View",
    "compute",
    "pack",
    "placeholder",
    "rearranged",
    "takes_weight",
    "unpack",
]
