"""The set of all operators of sateen."""

from sateen.graph_ir.ir import OpSet
from sateen.graph_ir.ops import (
    attention,
    bfloat,
    boxes,
    broadcast,
    control,
    convolution,
    element_wise,
    gather_scatter,
    normalization,
    pooling,
    preparations,
    products,
    quantization,
    recurrent,
    reductions,
    resizing,
    sampling,
    shape,
    softmaxes,
    trees,
)
from sateen.graph_ir.ops.fused import Fused
from sateen.graph_ir.ops.layout_conversion import ConvertLayout
from sateen.graph_ir.ops.placement import CopyTo

OPS = OpSet.of(
    *element_wise.OPS,
    *broadcast.OPS,
    *reductions.OPS,
    *shape.OPS,
    *gather_scatter.OPS,
    *convolution.OPS,
    *products.OPS,
    *bfloat.OPS,
    *preparations.OPS,
    *pooling.OPS,
    *normalization.OPS,
    *softmaxes.OPS,
    *attention.OPS,
    *resizing.OPS,
    *recurrent.OPS,
    *sampling.OPS,
    *boxes.OPS,
    *quantization.OPS,
    *trees.OPS,
    *control.OPS,
    ConvertLayout,
    CopyTo,
    Fused,
)
"""Every operator of sateen, by name."""
