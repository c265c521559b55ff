"""The operators that are drawn, and how a node of each is drawn: those that the importer converts, but for old ones."""

from __future__ import annotations

import draw_control as control
import draw_elements as elements
import draw_shapes as shapes
import draw_sums as sums
from disagreements import REDUCTIONS
from random_graphs import Family

OPERATORS: dict[str, Family] = {
    **dict.fromkeys(elements.UNARY, elements.unary),
    **dict.fromkeys(elements.BINARY, elements.binary),
    "BitShift": elements.shift,
    "Pow": elements.power,
    **dict.fromkeys(("Max", "Min", "Mean", "Sum"), elements.variadic),
    "Clip": elements.clip,
    "Where": elements.where,
    **dict.fromkeys(("Cast", "CastLike"), elements.cast),
    "BitCast": elements.bit_cast,
    **dict.fromkeys(REDUCTIONS, elements.reduction),
    **dict.fromkeys(("ArgMax", "ArgMin"), elements.extremum),
    **dict.fromkeys(("Softmax", "LogSoftmax", "Hardmax", "LpNormalization"), elements.along_axis),
    **dict.fromkeys(("CumSum", "CumProd"), elements.cumulative),
    "TopK": elements.top_k,
    "Reshape": shapes.reshape,
    "Transpose": shapes.transpose,
    "Flatten": shapes.flatten,
    "Squeeze": shapes.squeeze,
    "Unsqueeze": shapes.unsqueeze,
    "Expand": shapes.expand,
    "Tile": shapes.tile,
    "Concat": shapes.concat,
    "Split": shapes.split,
    "Slice": shapes.slice_,
    "Pad": shapes.pad,
    **dict.fromkeys(("Shape", "Size"), shapes.shape_of),
    "ConstantOfShape": shapes.constant_of_shape,
    "Range": shapes.range_,
    "EyeLike": shapes.eye_like,
    "Trilu": shapes.trilu,
    **dict.fromkeys(("DepthToSpace", "SpaceToDepth"), shapes.depth_to_space),
    **dict.fromkeys(("Gather", "GatherElements"), shapes.gather),
    "GatherND": shapes.gather_nd,
    "ScatterElements": shapes.scatter,
    "ScatterND": shapes.scatter_nd,
    "TensorScatter": shapes.tensor_scatter,
    "OneHot": shapes.one_hot,
    "ReverseSequence": shapes.reverse_sequence,
    "Compress": shapes.compress,
    "MatMul": sums.mat_mul,
    "Gemm": sums.gemm,
    "Einsum": sums.einsum,
    "MatMulInteger": sums.integer_product,
    "QLinearMatMul": sums.q_linear_mat_mul,
    "QuantizeLinear": sums.quantize,
    "DequantizeLinear": sums.dequantize,
    **dict.fromkeys(("Conv", "ConvTranspose", "ConvInteger", "QLinearConv"), sums.conv),
    **dict.fromkeys(("AveragePool", "MaxPool", "LpPool"), sums.pool),
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"), sums.global_pool),
    "MaxUnpool": sums.max_unpool,
    "LRN": sums.lrn,
    **dict.fromkeys(("BatchNormalization", "InstanceNormalization", "GroupNormalization"), sums.statistics),
    "LayerNormalization": sums.layer_normalization,
    "Resize": sums.resize,
    "GridSample": sums.grid_sample,
    "RoiAlign": sums.roi_align,
    "MaxRoiPool": sums.max_roi_pool,
    "NonMaxSuppression": sums.boxes,
    **dict.fromkeys(("LSTM", "GRU", "RNN"), sums.recurrent),
    "Det": sums.det,
    "DFT": sums.fourier,
    "STFT": sums.short_fourier,
    "DeformConv": sums.deformable_convolution,
    "Col2Im": sums.col2im,
    "If": control.if_,
    "Loop": control.loop,
    "Scan": control.scan,
}
"""The family of each operator."""

_OFTEN = (
    "Add", "Cast", "Concat", "Conv", "Gather", "If", "Loop", "MatMul", "MaxPool", "Mul", "Pad", "ReduceMean", "Reshape",
    "Slice", "Softmax", "Transpose", "Where",
)  # fmt: skip
FAMILIES: tuple[tuple[str, Family], ...] = (*OPERATORS.items(), *((name, OPERATORS[name]) for name in _OFTEN))
"""What is drawn from: some twice as often as others."""
