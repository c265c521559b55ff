"""The converter of each layer and operation, by its kind; a file for each family."""

from __future__ import annotations

from collections.abc import Mapping

from sateen.frontends.core.node import Converter
from sateen.frontends.keras.converters.activations import ACTIVATION_LAYERS
from sateen.frontends.keras.converters.attention import ATTENTION
from sateen.frontends.keras.converters.convolution import CONVOLUTION
from sateen.frontends.keras.converters.convolution_in_time import CONVOLUTION_IN_TIME
from sateen.frontends.keras.converters.dense import DENSE
from sateen.frontends.keras.converters.element_wise import ELEMENT_WISE
from sateen.frontends.keras.converters.functions import FUNCTIONS_OF_TENSORFLOW
from sateen.frontends.keras.converters.gather import GATHER
from sateen.frontends.keras.converters.merging import MERGING
from sateen.frontends.keras.converters.multi_head_attention import MULTI_HEAD_ATTENTION
from sateen.frontends.keras.converters.normalization import NORMALIZATION
from sateen.frontends.keras.converters.of_keras_1 import OF_KERAS_1
from sateen.frontends.keras.converters.pooling import POOLING, POOLING_FUNCTIONS
from sateen.frontends.keras.converters.preprocessing import PREPROCESSING
from sateen.frontends.keras.converters.products import PRODUCTS
from sateen.frontends.keras.converters.recurrent import RECURRENT
from sateen.frontends.keras.converters.reductions import REDUCTIONS
from sateen.frontends.keras.converters.reshaping import RESHAPING
from sateen.frontends.keras.converters.shape import SHAPE
from sateen.frontends.keras.converters.structure import STRUCTURE
from sateen.frontends.keras.node import KerasNode

CONVERTERS: Mapping[str, Converter[KerasNode]] = {
    **ACTIVATION_LAYERS,
    **ATTENTION,
    **CONVOLUTION,
    **CONVOLUTION_IN_TIME,
    **DENSE,
    **ELEMENT_WISE,
    **FUNCTIONS_OF_TENSORFLOW,
    **GATHER,
    **MERGING,
    **MULTI_HEAD_ATTENTION,
    **NORMALIZATION,
    **OF_KERAS_1,
    **POOLING,
    **POOLING_FUNCTIONS,
    **PREPROCESSING,
    **PRODUCTS,
    **RECURRENT,
    **REDUCTIONS,
    **RESHAPING,
    **SHAPE,
    **STRUCTURE,
}
