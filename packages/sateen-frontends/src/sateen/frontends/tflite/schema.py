"""The tables of a TensorFlow Lite file that this reader reads, with their fields in the order of their slots.

Source: tensorflow/compiler/mlir/lite/schema/schema.fbs, version 3; options of operators are in `options.py`.
"""

from __future__ import annotations

from sateen.frontends.tflite.flatbuffer import (
    Bytes,
    Choice,
    Data,
    Flag,
    Many,
    Number,
    Numbers,
    One,
    Text,
    Union,
    Unread,
    kind,
)
from sateen.frontends.tflite.options import OPTIONS, OPTIONS_2

TENSOR_TYPES = (
    "FLOAT32", "FLOAT16", "INT32", "UINT8", "INT64", "STRING", "BOOL", "INT16", "COMPLEX64", "INT8", "FLOAT64",
    "COMPLEX128", "UINT64", "RESOURCE", "VARIANT", "UINT32", "UINT16", "INT4", "BFLOAT16", "INT2", "UINT4",
)  # fmt: skip

INT32_VECTOR = kind("Int32Vector", values=Data("i"))
UINT16_VECTOR = kind("Uint16Vector", values=Data("H"))
UINT8_VECTOR = kind("Uint8Vector", values=Data("B"))
_INDICES = {1: INT32_VECTOR, 2: UINT16_VECTOR, 3: UINT8_VECTOR}

DIMENSION = kind(
    "DimensionMetadata",
    format=Choice(("DENSE", "SPARSE_CSR")),
    dense_size=Number("i"),
    segments_type=Number("B"),
    segments=Union("segments_type", _INDICES),
    indices_type=Number("B"),
    indices=Union("indices_type", _INDICES),
)
SPARSITY = kind(
    "SparsityParameters",
    traversal_order=Numbers("i"),
    block_map=Numbers("i"),
    dimensions=Many(DIMENSION),
)
BLOCKWISE = kind("BlockwiseQuantization", scales=Number("i"), zero_points=Number("i"), block_size=Number("i"))
CUSTOM_QUANTIZATION = kind("CustomQuantization")
QUANTIZATION = kind(
    "QuantizationParameters",
    min=Unread(),
    max=Unread(),
    scale=Data("f"),
    zero_point=Data("q"),
    details_type=Number("B"),
    details=Union("details_type", {1: CUSTOM_QUANTIZATION, 2: BLOCKWISE}),
    quantized_dimension=Number("i"),
)
TENSOR = kind(
    "Tensor",
    shape=Numbers("i"),
    type=Choice(TENSOR_TYPES),
    buffer=Number("I"),
    name=Text(),
    quantization=One(QUANTIZATION),
    is_variable=Flag(),
    sparsity=One(SPARSITY),
    shape_signature=Numbers("i"),
    has_rank=Flag(),
    variant_tensors=Unread(),
    external_buffer=Number("I"),
)
OPERATOR_CODE = kind(
    "OperatorCode",
    deprecated_builtin_code=Number("b"),
    custom_code=Text(),
    version=Number("i", 1),
    builtin_code=Number("i"),
)
OPERATOR = kind(
    "Operator",
    opcode_index=Number("I"),
    inputs=Numbers("i"),
    outputs=Numbers("i"),
    builtin_options_type=Number("B"),
    builtin_options=Union("builtin_options_type", OPTIONS),
    custom_options=Bytes(),
    custom_options_format=Unread(),
    mutating_variable_inputs=Unread(),
    intermediates=Unread(),
    large_custom_options_offset=Number("Q"),
    large_custom_options_size=Number("Q"),
    builtin_options_2_type=Number("B"),
    builtin_options_2=Union("builtin_options_2_type", OPTIONS_2),
)
SUBGRAPH = kind(
    "SubGraph",
    tensors=Many(TENSOR),
    inputs=Numbers("i"),
    outputs=Numbers("i"),
    operators=Many(OPERATOR),
    name=Text(),
)
BUFFER = kind("Buffer", data=Bytes(), offset=Number("Q"), size=Number("Q"))
MODEL = kind(
    "Model",
    version=Number("I"),
    operator_codes=Many(OPERATOR_CODE),
    subgraphs=Many(SUBGRAPH),
    description=Unread(),
    buffers=Many(BUFFER),
)
