"""Why operators are refused, and what to do, where more can be said than that they are unknown."""

from __future__ import annotations

from sateen.frontends.tensorflow.converters import CONVERTERS
from sateen.runtime.display import did_you_mean

_CUT = "begin the network behind it: inputs=[...], or --from NAME"
_END = "end the network before it: outputs=[...], or --to NAME, and do the rest outside"
_RANDOM = ("it draws random numbers", "export the model for inference, without dropout or noise")
_TRAINING = ("it belongs to training", "freeze the graph for inference, or name outputs=[...], or --to NAME")
_STRINGS = ("it works on strings", _CUT)
_QUEUES = ("it reads data from elsewhere", _CUT)

_REFUSALS = (
    (("Decode", "Encode", "ReadFile", "ParseExample", "ParseSingle", "AudioSummary"), ("it decodes files", _CUT)),
    (("Random", "Multinomial", "TruncatedNormal", "Stateless", "ParameterizedTruncated", "StatefulStandard",
      "StatefulUniform", "RngReadAndSkip", "Bernoulli"), _RANDOM),
    (("String", "Regex", "Substr", "AsString", "Hash", "LookupTable", "MutableHash", "InitializeTable", "Unicode",
      "StaticRegex", "Base64"), _STRINGS),
    (("Queue", "FIFOQueue", "Iterator", "Dataset", "OneShot", "BatchDataset", "PaddingFIFO", "PrefetchDataset"),
     _QUEUES),
    (("Apply", "ResourceApply", "Assign", "Scatter", "ResourceScatter", "Save", "Restore", "SparseApply"), _TRAINING),
    (("PyFunc", "EagerPyFunc", "XlaCall"), ("it runs code that is not in the file", _CUT)),
    (("Sparse", "Ragged"), ("it works on tensors that are not dense", "replace it by operators on dense tensors")),
    (("TensorArray",), ("it reads and writes an array of tensors step by step, as TensorFlow 1 does",
                        "export the model by TensorFlow 2, or name inputs and outputs: inputs=, outputs=")),
)  # fmt: skip
"""Beginnings of operators' names, with a reason and a remedy."""
_OF_ONE = {
    "CudnnRNN": ("its weights are in the order of a library for GPUs", "export the layer for CPUs"),
    "CudnnRNNV2": ("its weights are in the order of a library for GPUs", "export the layer for CPUs"),
    "CudnnRNNV3": ("its weights are in the order of a library for GPUs", "export the layer for CPUs"),
    "EmptyTensorList": ("a list that grows is not supported", "give the list a size: tf.TensorArray(dtype, size)"),
    "TensorListPushBack": ("a list that grows is not supported", "give the list a size: tf.TensorArray(dtype, size)"),
    "Where": ("how many elements hold is known only when the network runs", _END),
    "Unique": ("how many elements differ is known only when the network runs", _END),
    "UniqueV2": ("how many elements differ is known only when the network runs", _END),
    "BooleanMask": ("how many elements hold is known only when the network runs", _END),
}


def refusal_of(operator: str) -> tuple[str, str]:
    """The reason for which an operator is refused, and what to do."""
    if operator in _OF_ONE:
        return _OF_ONE[operator]
    for beginnings, refusal in _REFUSALS:
        if operator.startswith(beginnings):
            return refusal
    meant = did_you_mean(operator, CONVERTERS)
    return f"sateen has no such operator{meant}", f"{_END}; or {_CUT}"
