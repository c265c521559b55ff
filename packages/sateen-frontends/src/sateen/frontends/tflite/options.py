"""The options of operators in a TensorFlow Lite file, by their numbers in its two unions.

Tables whose fields decide nothing here are absent: what they would say follows from the types of tensors, as in
CastOptions, or concerns kernels, as in GreaterOptions.
"""

from __future__ import annotations

from collections.abc import Mapping

from sateen.frontends.tflite.flatbuffer import Choice, Flag, Kind, Number, Numbers, Text, Unread, kind

_ACTIVATION = Choice(("NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT"))
_PADDING = Choice(("SAME", "VALID"))
_INT, _FLOAT, _LIST = Number("i"), Number("f"), Numbers("i")
_ONE = Number("i", 1)

OPTIONS: Mapping[int, Kind] = {
    1: kind(
        "Conv2DOptions", padding=_PADDING, stride_w=_INT, stride_h=_INT, activation=_ACTIVATION, dilation_w=_ONE,
        dilation_h=_ONE,
    ),
    2: kind(
        "DepthwiseConv2DOptions", padding=_PADDING, stride_w=_INT, stride_h=_INT, depth_multiplier=_INT,
        activation=_ACTIVATION, dilation_w=_ONE, dilation_h=_ONE,
    ),
    5: kind(
        "Pool2DOptions", padding=_PADDING, stride_w=_INT, stride_h=_INT, filter_width=_INT, filter_height=_INT,
        activation=_ACTIVATION,
    ),
    6: kind("SVDFOptions", rank=_INT, activation=_ACTIVATION),
    7: kind("RNNOptions", activation=_ACTIVATION),
    8: kind(
        "FullyConnectedOptions", activation=_ACTIVATION, weights_format=Choice(("DEFAULT", "SHUFFLED4x16INT8")),
        keep_num_dims=Flag(),
    ),
    9: kind("SoftmaxOptions", beta=_FLOAT),
    10: kind("ConcatenationOptions", axis=_INT, activation=_ACTIVATION),
    11: kind("AddOptions", activation=_ACTIVATION),
    12: kind("L2NormOptions", activation=_ACTIVATION),
    13: kind("LocalResponseNormalizationOptions", radius=_INT, bias=_FLOAT, alpha=_FLOAT, beta=_FLOAT),
    14: kind(
        "LSTMOptions", activation=_ACTIVATION, cell_clip=_FLOAT, proj_clip=_FLOAT,
        kernel_type=Choice(("FULL", "BASIC")),
    ),
    15: kind(
        "ResizeBilinearOptions", new_height=Unread(), new_width=Unread(), align_corners=Flag(),
        half_pixel_centers=Flag(),
    ),
    17: kind("ReshapeOptions", new_shape=_LIST),
    19: kind("SpaceToDepthOptions", block_size=_INT),
    21: kind("MulOptions", activation=_ACTIVATION),
    23: kind("GatherOptions", axis=_INT, batch_dims=_INT),
    27: kind("ReducerOptions", keep_dims=Flag()),
    28: kind("SubOptions", activation=_ACTIVATION),
    29: kind("DivOptions", activation=_ACTIVATION),
    30: kind("SqueezeOptions", squeeze_dims=_LIST),
    31: kind("SequenceRNNOptions", time_major=Flag(), activation=_ACTIVATION),
    32: kind(
        "StridedSliceOptions", begin_mask=_INT, end_mask=_INT, ellipsis_mask=_INT, new_axis_mask=_INT,
        shrink_axis_mask=_INT, offset=Flag(),
    ),
    35: kind("SplitOptions", num_splits=_INT),
    49: kind("TransposeConvOptions", padding=_PADDING, stride_w=_INT, stride_h=_INT, activation=_ACTIVATION),
    58: kind("FakeQuantOptions", min=_FLOAT, max=_FLOAT, num_bits=_INT, narrow_range=Flag()),
    59: kind("PackOptions", values_count=_INT, axis=_INT),
    61: kind("OneHotOptions", axis=_INT),
    64: kind("UnpackOptions", num=_INT, axis=_INT),
    69: kind(
        "BidirectionalSequenceLSTMOptions", activation=_ACTIVATION, cell_clip=_FLOAT, proj_clip=_FLOAT,
        merge_outputs=Flag(), time_major=Flag(True),
    ),
    70: kind("BidirectionalSequenceRNNOptions", time_major=Flag(), activation=_ACTIVATION, merge_outputs=Flag()),
    71: kind(
        "UnidirectionalSequenceLSTMOptions", activation=_ACTIVATION, cell_clip=_FLOAT, proj_clip=_FLOAT,
        time_major=Flag(), asymmetric_quantize_inputs=Unread(), diagonal_recurrent_tensors=Flag(),
    ),
    74: kind("ResizeNearestNeighborOptions", align_corners=Flag(), half_pixel_centers=Flag()),
    75: kind("LeakyReluOptions", alpha=_FLOAT),
    77: kind("MirrorPadOptions", mode=Choice(("REFLECT", "SYMMETRIC"))),
    79: kind("SplitVOptions", num_splits=_INT),
    87: kind("ReverseSequenceOptions", seq_dim=_INT, batch_dim=_INT),
    92: kind("IfOptions", then_subgraph_index=_INT, else_subgraph_index=_INT),
    93: kind("WhileOptions", cond_subgraph_index=_INT, body_subgraph_index=_INT),
    94: kind("DepthToSpaceOptions", block_size=_INT),
    101: kind("BatchMatMulOptions", adj_x=Flag(), adj_y=Flag()),
    102: kind("CumsumOptions", exclusive=Flag(), reverse=Flag()),
    103: kind("CallOnceOptions", init_subgraph_index=_INT),
    106: kind(
        "Conv3DOptions", padding=_PADDING, stride_d=_INT, stride_w=_INT, stride_h=_INT, activation=_ACTIVATION,
        dilation_d=_ONE, dilation_w=_ONE, dilation_h=_ONE,
    ),
    111: kind("VarHandleOptions", container=Text(), shared_name=Text()),
    115: kind("BucketizeOptions", boundaries=Numbers("f")),
    116: kind("GeluOptions", approximate=Flag()),
}  # fmt: skip
"""The tables of `builtin_options`."""

OPTIONS_2: Mapping[int, Kind] = {
    21: kind("StableHLOCompositeOptions", name=Text(), decomposition_subgraph_index=_INT),
}
"""The tables of `builtin_options_2`, in files with more than 255 kinds of options."""
