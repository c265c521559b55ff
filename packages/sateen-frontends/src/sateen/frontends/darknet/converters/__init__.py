"""How each layer of darknet becomes operators of sateen: a table per family."""

from sateen.frontends.darknet.converters.detection import DETECTION
from sateen.frontends.darknet.converters.normalization import NORMALIZATION
from sateen.frontends.darknet.converters.recurrent import RECURRENT
from sateen.frontends.darknet.converters.routing import ROUTING
from sateen.frontends.darknet.converters.windows import WINDOWS
from sateen.frontends.darknet.node import Converter

CONVERTERS: dict[str, Converter] = DETECTION | NORMALIZATION | RECURRENT | ROUTING | WINDOWS
