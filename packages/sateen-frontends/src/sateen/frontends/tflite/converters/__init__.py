"""How each operator of TensorFlow Lite becomes operators of sateen: a table per family."""

from sateen.frontends.tflite.converters.blocks import BLOCKS
from sateen.frontends.tflite.converters.boxes import BOXES, DETECTORS
from sateen.frontends.tflite.converters.broadcast import BROADCAST
from sateen.frontends.tflite.converters.element_wise import ELEMENT_WISE
from sateen.frontends.tflite.converters.gather import GATHER
from sateen.frontends.tflite.converters.normalization import NORMALIZATION
from sateen.frontends.tflite.converters.products import PRODUCTS
from sateen.frontends.tflite.converters.quantization import QUANTIZATION
from sateen.frontends.tflite.converters.recurrent import RECURRENT
from sateen.frontends.tflite.converters.reductions import REDUCTIONS
from sateen.frontends.tflite.converters.resizing import RESIZING
from sateen.frontends.tflite.converters.scatter import SCATTER
from sateen.frontends.tflite.converters.shape import SHAPE
from sateen.frontends.tflite.converters.slices import SLICES
from sateen.frontends.tflite.converters.windows import WINDOWS
from sateen.frontends.tflite.node import Converter

CONVERTERS: dict[str, Converter] = (
    BLOCKS
    | BOXES
    | BROADCAST
    | ELEMENT_WISE
    | GATHER
    | NORMALIZATION
    | PRODUCTS
    | QUANTIZATION
    | RECURRENT
    | REDUCTIONS
    | RESIZING
    | SCATTER
    | SHAPE
    | SLICES
    | WINDOWS
)
"""The operators of the format."""
CUSTOM: dict[str, Converter] = DETECTORS
"""Operators that others have added to it, by their names in files."""
