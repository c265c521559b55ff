"""Why operators are refused, and what to do, where more can be said than that they are unknown."""

from __future__ import annotations

from collections.abc import Mapping

from sateen.frontends.core.refusals import BEGIN, END, Refusal, refusal_by
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.tensorflow.converters import CONVERTERS

_OUTSIDE = f"{END}, and do the rest outside"
_RANDOM = ("it draws random numbers", "export the model for inference, without dropout or noise")
_TRAINING = ("it belongs to training", "freeze the graph for inference, or name outputs=[...], or --to NAME")
_STRINGS = ("it works on strings", BEGIN)
_QUEUES = ("it reads data from elsewhere", BEGIN)

_BEGINNINGS = (
    (("Decode", "Encode", "ReadFile", "ParseExample", "ParseSingle", "AudioSummary"), ("it decodes files", BEGIN)),
    (("Random", "Multinomial", "TruncatedNormal", "Stateless", "ParameterizedTruncated", "StatefulStandard",
      "StatefulUniform", "RngReadAndSkip", "Bernoulli"), _RANDOM),
    (("String", "Regex", "Substr", "AsString", "Hash", "LookupTable", "MutableHash", "InitializeTable", "Unicode",
      "StaticRegex", "Base64"), _STRINGS),
    (("Queue", "FIFOQueue", "Iterator", "Dataset", "OneShot", "BatchDataset", "PaddingFIFO", "PrefetchDataset"),
     _QUEUES),
    (("Apply", "ResourceApply", "Assign", "Scatter", "ResourceScatter", "Save", "Restore", "SparseApply"), _TRAINING),
    (("PyFunc", "EagerPyFunc", "XlaCall"), ("it runs code that is not in the file", BEGIN)),
    (("Sparse",), ("it works on tensors that are not dense", "replace it by operators on dense tensors")),
    (("Ragged",), ("its rows differ in length, which is known only when the network runs",
                   f"export with rows of one length (tensor.to_tensor(shape=...)), or {BEGIN}")),
    (("TensorArray",), ("it reads and writes an array of tensors step by step, as TensorFlow 1 does",
                        "export the model by TensorFlow 2, or name inputs and outputs: inputs=, outputs=")),
)  # fmt: skip
"""Beginnings of operators' names, with a reason and a remedy."""
REFUSALS: Mapping[str, Refusal] = {
    "EmptyTensorList": ("a list that grows is not supported", "give the list a size: tf.TensorArray(dtype, size)"),
    "TensorListPushBack": ("a list that grows is not supported", "give the list a size: tf.TensorArray(dtype, size)"),
    "Where": ("how many elements hold is known only when the network runs", _OUTSIDE),
    "Unique": ("how many elements differ is known only when the network runs", _OUTSIDE),
    "UniqueV2": ("how many elements differ is known only when the network runs", _OUTSIDE),
    "BooleanMask": ("how many elements hold is known only when the network runs", _OUTSIDE),
}


def refusal_of(operator: str) -> UnsupportedError:
    """The refusal of an operator that no converter takes."""
    for beginnings, refusal in _BEGINNINGS:
        if operator not in REFUSALS and operator.startswith(beginnings):
            return UnsupportedError(*refusal)
    return refusal_by(REFUSALS, operator, CONVERTERS)
