"""How each operator of Caffe2 becomes operators of sateen: a table per family."""

from sateen.frontends.caffe2.converters.element_wise import ELEMENT_WISE
from sateen.frontends.caffe2.converters.fills import FILLS
from sateen.frontends.caffe2.converters.normalization import NORMALIZATION
from sateen.frontends.caffe2.converters.products import PRODUCTS
from sateen.frontends.caffe2.converters.regions import REGIONS
from sateen.frontends.caffe2.converters.shape import SHAPE
from sateen.frontends.caffe2.converters.windows import WINDOWS
from sateen.frontends.caffe2.node import Converter

CONVERTERS: dict[str, Converter] = ELEMENT_WISE | FILLS | NORMALIZATION | PRODUCTS | REGIONS | SHAPE | WINDOWS
