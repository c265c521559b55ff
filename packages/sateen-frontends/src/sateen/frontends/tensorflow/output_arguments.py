"""The names of the outputs of operators that have several, by which the bodies of functions refer to them.

All other operators have one output, or one list of them, whose elements are numbered. Sources: the operators'
registrations in tensorflow/core/ops.
"""

from __future__ import annotations

from collections.abc import Mapping

_STATISTICS = ("y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2", "reserve_space_3")
_GATES = ("i", "cs", "f", "o", "ci", "co", "h")
_QUANTIZED = ("output", "output_min", "output_max")

OUTPUT_ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "BlockLSTM": _GATES,
    "BlockLSTMV2": _GATES,
    "BroadcastGradientArgs": ("r0", "r1"),
    "CombinedNonMaxSuppression": ("nmsed_boxes", "nmsed_scores", "nmsed_classes", "valid_detections"),
    "CudnnRNN": ("output", "output_h", "output_c", "reserve_space"),
    "CudnnRNNV2": ("output", "output_h", "output_c", "reserve_space", "host_reserved"),
    "CudnnRNNV3": ("output", "output_h", "output_c", "reserve_space", "host_reserved"),
    "DecodeWav": ("audio", "sample_rate"),
    "FusedBatchNorm": _STATISTICS[:5],
    "FusedBatchNormV2": _STATISTICS[:5],
    "FusedBatchNormV3": _STATISTICS,
    "_FusedBatchNormEx": _STATISTICS,
    "GRUBlockCell": ("r", "u", "c", "h"),
    "LSTMBlockCell": _GATES,
    "ListDiff": ("out", "idx"),
    "LogMatrixDeterminant": ("sign", "log_abs_determinant"),
    "Lu": ("lu", "p"),
    "MaxPoolWithArgmax": ("output", "argmax"),
    "Merge": ("output", "value_index"),
    "NonMaxSuppressionV4": ("selected_indices", "valid_outputs"),
    "NonMaxSuppressionV5": ("selected_indices", "selected_scores", "valid_outputs"),
    "Qr": ("q", "r"),
    "QuantizeV2": _QUANTIZED,
    "QuantizedConv2D": ("output", "min_output", "max_output"),
    "RequantizationRange": ("output_min", "output_max"),
    "Requantize": _QUANTIZED,
    "SelfAdjointEigV2": ("e", "v"),
    "SoftmaxCrossEntropyWithLogits": ("loss", "backprop"),
    "SparseSoftmaxCrossEntropyWithLogits": ("loss", "backprop"),
    "Svd": ("s", "u", "v"),
    "Switch": ("output_false", "output_true"),
    "TensorListPopBack": ("output_handle", "tensor"),
    "TopK": ("values", "indices"),
    "TopKV2": ("values", "indices"),
    "Unique": ("y", "idx"),
    "UniqueV2": ("y", "idx"),
    "UniqueWithCounts": ("y", "idx", "count"),
    "UniqueWithCountsV2": ("y", "idx", "count"),
}
