"""The converters of operations, a file per family. Their tables have a converter for each type of operation."""

from __future__ import annotations

from collections.abc import Mapping

from sateen.frontends.coreml.program.converters.blocks import BLOCKS
from sateen.frontends.coreml.program.converters.detection import DETECTION
from sateen.frontends.coreml.program.converters.element_wise import ELEMENT_WISE
from sateen.frontends.coreml.program.converters.filling import FILLING
from sateen.frontends.coreml.program.converters.gather import GATHER
from sateen.frontends.coreml.program.converters.joining import JOINING
from sateen.frontends.coreml.program.converters.normalization import NORMALIZATION
from sateen.frontends.coreml.program.converters.products import PRODUCTS
from sateen.frontends.coreml.program.converters.recurrent import RECURRENT
from sateen.frontends.coreml.program.converters.reductions import REDUCTIONS
from sateen.frontends.coreml.program.converters.resizing import RESIZING
from sateen.frontends.coreml.program.converters.shape import SHAPE
from sateen.frontends.coreml.program.converters.slices import SLICES
from sateen.frontends.coreml.program.converters.windows import WINDOWS
from sateen.frontends.coreml.program.node import Converter

CONVERTERS: Mapping[str, Converter] = {
    **BLOCKS,
    **DETECTION,
    **ELEMENT_WISE,
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
"""By the type of the operation in MIL.proto."""
