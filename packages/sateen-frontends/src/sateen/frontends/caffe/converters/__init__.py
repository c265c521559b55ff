"""How each layer of Caffe becomes operators of sateen: a table per family."""

from sateen.frontends.caffe.converters.detection import DETECTION
from sateen.frontends.caffe.converters.detection_output import DETECTION_OUTPUT
from sateen.frontends.caffe.converters.element_wise import ELEMENT_WISE
from sateen.frontends.caffe.converters.normalization import NORMALIZATION
from sateen.frontends.caffe.converters.products import PRODUCTS
from sateen.frontends.caffe.converters.recurrent import RECURRENT
from sateen.frontends.caffe.converters.resizing import RESIZING
from sateen.frontends.caffe.converters.shape import SHAPE
from sateen.frontends.caffe.converters.windows import WINDOWS
from sateen.frontends.caffe.node import Converter

CONVERTERS: dict[str, Converter] = (
    DETECTION | DETECTION_OUTPUT | ELEMENT_WISE | NORMALIZATION | PRODUCTS | RECURRENT | RESIZING | SHAPE | WINDOWS
)
