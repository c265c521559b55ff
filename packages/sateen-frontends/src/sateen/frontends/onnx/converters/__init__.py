"""How each ONNX operator becomes operators of sateen: a table per family."""

from sateen.frontends.onnx.converters.boxes import BOXES
from sateen.frontends.onnx.converters.broadcast import BROADCAST
from sateen.frontends.onnx.converters.constants import CONSTANTS
from sateen.frontends.onnx.converters.element_wise import ELEMENT_WISE
from sateen.frontends.onnx.converters.gather import GATHER
from sateen.frontends.onnx.converters.normalization import NORMALIZATION
from sateen.frontends.onnx.converters.parts import PARTS
from sateen.frontends.onnx.converters.quantization import QUANTIZATION
from sateen.frontends.onnx.converters.recurrent import RECURRENT
from sateen.frontends.onnx.converters.reductions import REDUCTIONS
from sateen.frontends.onnx.converters.resizing import RESIZING
from sateen.frontends.onnx.converters.sampling import SAMPLING
from sateen.frontends.onnx.converters.shape import SHAPE
from sateen.frontends.onnx.converters.signal import SIGNAL
from sateen.frontends.onnx.converters.windows import WINDOWS
from sateen.frontends.onnx.node import Converter

CONVERTERS: dict[str, Converter] = (
    BOXES
    | BROADCAST
    | CONSTANTS
    | ELEMENT_WISE
    | GATHER
    | NORMALIZATION
    | PARTS
    | QUANTIZATION
    | RECURRENT
    | REDUCTIONS
    | RESIZING
    | SAMPLING
    | SHAPE
    | SIGNAL
    | WINDOWS
)
