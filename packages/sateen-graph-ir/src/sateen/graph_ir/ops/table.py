"""The set of all operators that ship."""

from sateen.graph_ir.ir import OpSet
from sateen.graph_ir.ops import (
    broadcast,
    control,
    conv,
    element_wise,
    gather,
    matmul,
    norm,
    pool,
    quantize,
    recurrent,
    reduce,
    resize,
    sampling,
    shape,
    softmax,
)
from sateen.graph_ir.ops.fused import Fused
from sateen.graph_ir.ops.layout import ConvertLayout
from sateen.graph_ir.ops.placement import CopyTo

OPS = OpSet.of(
    *element_wise.OPS,
    *broadcast.OPS,
    *reduce.OPS,
    *shape.OPS,
    *gather.OPS,
    *conv.OPS,
    *matmul.OPS,
    *pool.OPS,
    *norm.OPS,
    *softmax.OPS,
    *resize.OPS,
    *recurrent.OPS,
    *sampling.OPS,
    *quantize.OPS,
    *control.OPS,
    ConvertLayout,
    CopyTo,
    Fused,
)
"""Every operator that ships, by name."""
