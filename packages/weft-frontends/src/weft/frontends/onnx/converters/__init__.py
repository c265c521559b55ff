"""How each ONNX operator becomes operators of weft: a table per family."""

from weft.frontends.onnx.converters.broadcast import BROADCAST
from weft.frontends.onnx.converters.constants import CONSTANTS
from weft.frontends.onnx.converters.einsum import EINSUM
from weft.frontends.onnx.converters.element_wise import ELEMENT_WISE
from weft.frontends.onnx.converters.normalization import NORMALIZATION
from weft.frontends.onnx.converters.quantization import QUANTIZATION
from weft.frontends.onnx.converters.recurrent import RECURRENT
from weft.frontends.onnx.converters.reduce import REDUCE
from weft.frontends.onnx.converters.resize import RESIZE
from weft.frontends.onnx.converters.sampling import SAMPLING
from weft.frontends.onnx.converters.shape import SHAPE
from weft.frontends.onnx.converters.signal import SIGNAL
from weft.frontends.onnx.converters.window import WINDOW
from weft.frontends.onnx.node import Converter

CONVERTERS: dict[str, Converter] = (
    BROADCAST
    | CONSTANTS
    | EINSUM
    | ELEMENT_WISE
    | NORMALIZATION
    | QUANTIZATION
    | RECURRENT
    | REDUCE
    | RESIZE
    | SAMPLING
    | SHAPE
    | SIGNAL
    | WINDOW
)
