"""The converters of layers, a file per family. Their tables have a converter for each kind of layer."""

from __future__ import annotations

from collections.abc import Mapping

from sateen.frontends.coreml.network.converters.activations import ACTIVATIONS
from sateen.frontends.coreml.network.converters.broadcast import BROADCAST
from sateen.frontends.coreml.network.converters.detection import DETECTION
from sateen.frontends.coreml.network.converters.filling import FILLING
from sateen.frontends.coreml.network.converters.gather import GATHER
from sateen.frontends.coreml.network.converters.joining import JOINING
from sateen.frontends.coreml.network.converters.normalization import NORMALIZATION
from sateen.frontends.coreml.network.converters.products import PRODUCTS
from sateen.frontends.coreml.network.converters.recurrent import RECURRENT
from sateen.frontends.coreml.network.converters.reductions import REDUCTIONS
from sateen.frontends.coreml.network.converters.resizing import RESIZING
from sateen.frontends.coreml.network.converters.shape import SHAPE
from sateen.frontends.coreml.network.converters.slices import SLICES
from sateen.frontends.coreml.network.converters.windows import WINDOWS
from sateen.frontends.coreml.network.node import Converter

CONVERTERS: Mapping[str, Converter] = {
    **ACTIVATIONS,
    **BROADCAST,
    **DETECTION,
    **FILLING,
    **GATHER,
    **JOINING,
    **NORMALIZATION,
    **PRODUCTS,
    **RECURRENT,
    **REDUCTIONS,
    **RESIZING,
    **SHAPE,
    **SLICES,
    **WINDOWS,
}
"""By the name of the layer's parameters in NeuralNetworkLayer."""
