"""Convolution and its transpose: computations, methods and schedules, by the kind of machine."""

from sateen.topi.computations.convolution.bfloat_methods import DirectBfloat, bfloat_weight_layout
from sateen.topi.computations.convolution.convolution import conv, conv_layouts
from sateen.topi.computations.convolution.direct import Direct
from sateen.topi.computations.convolution.methods import conv_candidates
from sateen.topi.computations.convolution.pointwise_by_tiles import PointwiseTiles, tile_layouts
from sateen.topi.computations.convolution.rectangles import Rectangles
from sateen.topi.computations.convolution.shapes import ConvolutionShapes, OperandLayouts
from sateen.topi.computations.convolution.transposed_convolution import conv_transpose, conv_transpose_layouts
from sateen.topi.computations.convolution.transposed_methods import transposed_candidates
from sateen.topi.computations.convolution.winograd import winograd_conv
from sateen.topi.computations.convolution.winograd_by_threads import WEIGHT_LAYOUT, WinogradTiles
from sateen.topi.computations.convolution.winograd_methods import Blocks, Winograd, winograd_weight_layout
from sateen.topi.computations.convolution.winograd_transforms import (
    TRANSFORMS,
    Transform,
    winograd_loss,
    winograd_weight,
)
from sateen.topi.computations.convolution.winograd_weights import transform_weight

__all__ = [
    "TRANSFORMS",
    "WEIGHT_LAYOUT",
    "Blocks",
    "ConvolutionShapes",
    "Direct",
    "DirectBfloat",
    "OperandLayouts",
    "PointwiseTiles",
    "Rectangles",
    "Transform",
    "Winograd",
    "WinogradTiles",
    "bfloat_weight_layout",
    "conv",
    "conv_candidates",
    "conv_layouts",
    "conv_transpose",
    "conv_transpose_layouts",
    "tile_layouts",
    "transform_weight",
    "transposed_candidates",
    "winograd_conv",
    "winograd_loss",
    "winograd_weight",
    "winograd_weight_layout",
]
