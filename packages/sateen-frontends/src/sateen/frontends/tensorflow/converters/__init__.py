"""How each operator of TensorFlow becomes operators of sateen: a table per family."""

from sateen.frontends.tensorflow.converters.audio import AUDIO
from sateen.frontends.tensorflow.converters.blocks import BLOCKS
from sateen.frontends.tensorflow.converters.boxes import BOXES
from sateen.frontends.tensorflow.converters.broadcast import BROADCAST
from sateen.frontends.tensorflow.converters.colours import COLOURS
from sateen.frontends.tensorflow.converters.cudnn import CUDNN
from sateen.frontends.tensorflow.converters.diagonals import DIAGONALS
from sateen.frontends.tensorflow.converters.element_wise import ELEMENT_WISE
from sateen.frontends.tensorflow.converters.fused import FUSED
from sateen.frontends.tensorflow.converters.gather import GATHER
from sateen.frontends.tensorflow.converters.lists import LISTS
from sateen.frontends.tensorflow.converters.normalization import NORMALIZATION
from sateen.frontends.tensorflow.converters.products import PRODUCTS
from sateen.frontends.tensorflow.converters.quantization import QUANTIZATION
from sateen.frontends.tensorflow.converters.recurrent import RECURRENT
from sateen.frontends.tensorflow.converters.reductions import REDUCTIONS
from sateen.frontends.tensorflow.converters.resizing import RESIZING
from sateen.frontends.tensorflow.converters.shape import SHAPE
from sateen.frontends.tensorflow.converters.slices import SLICES
from sateen.frontends.tensorflow.converters.spectra import SPECTRA
from sateen.frontends.tensorflow.converters.windows import WINDOWS
from sateen.frontends.tensorflow.node import Converter

CONVERTERS: dict[str, Converter] = (
    AUDIO
    | BLOCKS
    | BOXES
    | BROADCAST
    | COLOURS
    | CUDNN
    | DIAGONALS
    | ELEMENT_WISE
    | FUSED
    | GATHER
    | LISTS
    | NORMALIZATION
    | PRODUCTS
    | QUANTIZATION
    | RECURRENT
    | REDUCTIONS
    | RESIZING
    | SHAPE
    | SLICES
    | SPECTRA
    | WINDOWS
)
