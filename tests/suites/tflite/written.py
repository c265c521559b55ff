"""Models of one operator, written as tables of the format with the classes that TensorFlow generates for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import flatbuffers
import numpy as np
from flatbuffers import flexbuffers
from tensorflow.lite.python import schema_py_generated as schema

Array = np.ndarray


@dataclass(frozen=True)
class Input:
    """An input that is drawn between two numbers."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    low: float = -1.0
    high: float = 1.0
    open_batch: bool = False

    def draw(self, draw: np.random.Generator) -> Array:
        if np.issubdtype(self.dtype, np.integer):
            return draw.integers(int(self.low), int(self.high), self.shape).astype(self.dtype)
        return draw.uniform(self.low, self.high, self.shape).astype(self.dtype)


@dataclass(frozen=True)
class Variable:
    """A state, which is zeros at first."""

    shape: tuple[int, ...]


@dataclass(frozen=True)
class Scaled:
    """An operand whose integers stand for numbers."""

    operand: Input | Array
    scale: float | Sequence[float]
    zero_point: int = 0
    axis: int = 0
    bits: int = 0


Operand = Input | Array | Variable | Scaled | None


@dataclass(frozen=True)
class Written:
    """An operator, its operands, the types of its results (with their scale and zero point), and its options."""

    operator: str
    operands: Sequence[Operand]
    results: Sequence[str | tuple[str, float, int]] = ("FLOAT32",)
    options: str = ""
    values: Mapping[str, object] = field(default_factory=dict)
    judged: Mapping[str, object] = field(default_factory=dict)
    by_reference: bool = True
    custom: bytes | None = None

    @property
    def inputs(self) -> list[Input]:
        plain = [o.operand if isinstance(o, Scaled) else o for o in self.operands]
        return [o for o in plain if isinstance(o, Input)]

    def versions(self) -> Iterator[bytes]:
        """The model with the operator in each version; kernels take some of them."""
        return (self.bytes(version) for version in range(1, 13))

    def bytes(self, version: int) -> bytes:
        model, graph = schema.ModelT(), schema.SubGraphT()
        model.version, model.subgraphs, model.buffers = 3, [graph], [schema.BufferT()]
        graph.tensors, graph.inputs, graph.outputs = [], [], []
        node = schema.OperatorT()
        node.inputs = [self._add(model, graph, i, operand) for i, operand in enumerate(self.operands)]
        for i, result in enumerate(self.results):
            kind, *scaling = (result,) if isinstance(result, str) else result
            graph.outputs.append(_tensor(graph, f"y{i}", (), kind, *scaling))
        node.outputs = list(graph.outputs)
        code = schema.OperatorCodeT()
        if self.custom is None:
            code.builtinCode = getattr(schema.BuiltinOperator, self.operator)
            code.deprecatedBuiltinCode = min(code.builtinCode, 127)
        else:
            code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.CUSTOM
            code.customCode, node.customOptions = self.operator, np.frombuffer(self.custom, np.uint8)
        code.version = version
        if self.options:
            node.builtinOptionsType = getattr(schema.BuiltinOptions, self.options)
            node.builtinOptions = getattr(schema, f"{self.options}T")()
            for name, value in self.values.items():
                assert hasattr(node.builtinOptions, name), name
                setattr(node.builtinOptions, name, value)
        model.operatorCodes, graph.operators = [code], [node]
        builder = flatbuffers.Builder(1024)
        builder.Finish(model.Pack(builder), b"TFL3")
        return bytes(builder.Output())

    def _add(self, model: schema.ModelT, graph: schema.SubGraphT, number: int, given: Operand) -> int:
        match given:
            case None:
                return -1
            case Scaled(operand, scale, zero_point, axis, bits):
                index = self._add(model, graph, number, operand)
                _scale(graph.tensors[index], scale, zero_point, axis)
                if bits == 4:
                    graph.tensors[index].type = schema.TensorType.INT4
                    flat = np.append(operand.reshape(-1), [0] * (operand.size % 2)).astype(np.int8)
                    packed = (flat[::2] & 15) | (flat[1::2] << 4)
                    model.buffers[graph.tensors[index].buffer].data = packed.astype(np.uint8)
                return index
            case Input():
                graph.inputs.append(_tensor(graph, f"x{number}", given.shape, given.dtype.upper()))
                return graph.inputs[-1]
            case Variable(shape):
                index = _tensor(graph, f"state{number}", shape, "FLOAT32")
                graph.tensors[index].isVariable = True
                return index
        index = _tensor(graph, f"c{number}", given.shape, str(given.dtype).upper())
        buffer = schema.BufferT()
        buffer.data = np.frombuffer(given.tobytes(), np.uint8)
        graph.tensors[index].buffer = len(model.buffers)
        model.buffers.append(buffer)
        return index


def _tensor(graph: schema.SubGraphT, name: str, shape: Sequence[int], kind: str, scale=None, zero_point=0) -> int:
    tensor = schema.TensorT()
    tensor.name, tensor.shape, tensor.type = name, list(shape), getattr(schema.TensorType, kind)
    tensor.hasRank = True
    if scale is not None:
        _scale(tensor, scale, zero_point, 0)
    graph.tensors.append(tensor)
    return len(graph.tensors) - 1


def _scale(tensor: schema.TensorT, scale: float | Sequence[float], zero_point: int, axis: int) -> None:
    scales = np.atleast_1d(scale)
    tensor.quantization = schema.QuantizationParametersT()
    tensor.quantization.scale = [float(s) for s in scales]
    tensor.quantization.zeroPoint = [zero_point] * len(scales)
    tensor.quantization.quantizedDimension = axis


def _weights(*shape: int) -> Array:
    return np.random.default_rng(sum(shape) * 31 + len(shape)).uniform(-0.6, 0.6, shape).astype(np.float32)


def _bytes(*shape: int, dtype: str = "int8") -> Array:
    limits = np.iinfo(dtype)
    return np.random.default_rng(sum(shape)).integers(limits.min + 1, limits.max, shape).astype(dtype)


def _integers(*numbers: int) -> Array:
    return np.array(numbers, np.int32)


_ACTIVATIONS = {name: getattr(schema.ActivationFunctionType, name) for name in ("NONE", "RELU", "RELU6", "TANH")}
PICTURE, ROWS = Input((1, 6, 8, 3)), Input((3, 6))
BYTES = Input((1, 6, 8, 3), "uint8", 0, 256)
POOL = {"strideW": 2, "strideH": 2, "filterWidth": 3, "filterHeight": 2}


def _gates(units: int, width: int, count: int) -> list[Array]:
    return [_weights(units, width) + 0.01 * i for i in range(count)]


def sequence_lstm(time=5, batch=2, width=3, units=4, *, peepholes=False, coupled=False, **values) -> Written:
    """The states and weights of all gates; a coupled input gate has none of its own."""
    shape = (time, batch, width) if values.get("timeMajor") else (batch, time, width)
    own = [None] if coupled else [_weights(units, width)]
    recurrent = [None] if coupled else [_weights(units, units)]
    cells: list[Operand] = [None, None, None]
    if peepholes:
        cells = [None if coupled else _weights(units), _weights(units) + 0.1, _weights(units) - 0.1]
    bias = [None if coupled else _weights(units), *(_weights(units) + 0.1 * i for i in range(3))]
    operands = [
        Input(shape), *own, *_gates(units, width, 3), *recurrent, *_gates(units, units, 3), *cells, *bias, None, None,
        Variable((batch, units)), Variable((batch, units)), None, None, None, None,
    ]  # fmt: skip
    options = {"fusedActivationFunction": _ACTIVATIONS["TANH"], **values}
    return Written(
        "UNIDIRECTIONAL_SEQUENCE_LSTM", operands, options="UnidirectionalSequenceLSTMOptions", values=options
    )


def single_lstm(batch=2, width=3, units=4) -> Written:
    sequence = sequence_lstm(1, batch, width, units)
    operands = [Input((batch, width)), *sequence.operands[1:20]]
    return Written("LSTM", operands, options="LSTMOptions", values={"fusedActivationFunction": _ACTIVATIONS["TANH"]})


def both_ways_lstm(time=5, batch=2, width=3, units=4, **values) -> Written:
    one = sequence_lstm(time, batch, width, units, timeMajor=True)
    other = [None if given is None else given * 0.7 for given in one.operands[1:18]]
    operands = [*one.operands[:18], *other, *[Variable((batch, units))] * 4, *[None] * 9]
    results = ("FLOAT32",) if values.get("mergeOutputs") else ("FLOAT32", "FLOAT32")
    options = {"fusedActivationFunction": _ACTIVATIONS["TANH"], "timeMajor": True, **values}
    return Written("BIDIRECTIONAL_SEQUENCE_LSTM", operands, results, "BidirectionalSequenceLSTMOptions", options)


def rnn(activation: str, *, sequence=False, time_major=False, time=5, batch=2, width=3, units=4) -> Written:
    shape = ((time, batch, width) if time_major else (batch, time, width)) if sequence else (batch, width)
    values = {"fusedActivationFunction": _ACTIVATIONS[activation]} | ({"timeMajor": time_major} if sequence else {})
    return Written(
        "UNIDIRECTIONAL_SEQUENCE_RNN" if sequence else "RNN",
        [Input(shape), _weights(units, width), _weights(units, units), _weights(units), Variable((batch, units))],
        options="SequenceRNNOptions" if sequence else "RNNOptions",
        values=values,
    )


def both_ways_rnn(time=5, batch=2, width=3, units=4, *, merge=False) -> Written:
    one = [_weights(units, width), _weights(units, units), _weights(units), Variable((batch, units))]
    other = [_weights(units, width) + 0.1, _weights(units, units), _weights(units) - 0.1, Variable((batch, units))]
    return Written(
        "BIDIRECTIONAL_SEQUENCE_RNN",
        [Input((batch, time, width)), *one, *other, None, None, None],
        ("FLOAT32",) if merge else ("FLOAT32", "FLOAT32"),
        "BidirectionalSequenceRNNOptions",
        {"fusedActivationFunction": _ACTIVATIONS["TANH"], "mergeOutputs": merge},
    )


def svdf(batch=2, width=3, units=4, rank=2, memory=5) -> Written:
    filters = units * rank
    return Written(
        "SVDF",
        [
            Input((batch, width)), _weights(filters, width), _weights(filters, memory), _weights(units),
            Variable((batch, filters * memory)),
        ],
        options="SVDFOptions",
        values={"rank": rank, "fusedActivationFunction": _ACTIVATIONS["RELU"]},
    )  # fmt: skip


def byte_conv(operator: str, weight: Array, options: str, bias: int, **values) -> Written:
    """A convolution of uint8, with one scale for all weights, as models of 2018 have it."""
    return Written(
        operator,
        [
            Scaled(BYTES, 0.02, 128),
            Scaled(weight, 0.01, 120),
            Scaled(_integers(*range(-40, -40 + 9 * bias, 9)), 0.02 * 0.01),
        ],
        [("UINT8", 0.05, 110)],
        options,
        {"strideW": 1, "strideH": 1, "dilationWFactor": 1, "dilationHFactor": 1, **values},
        {"steps": 1},
    )


def post_process(regular: bool, count=12, classes=3) -> Written:
    """Boxes of a detector, with options as a map of FlexBuffers."""
    options = {
        "max_detections": 5, "max_classes_per_detection": 1, "detections_per_class": 4, "use_regular_nms": regular,
        "nms_score_threshold": 0.3, "nms_iou_threshold": 0.4, "num_classes": classes,
        "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0,
    }  # fmt: skip
    builder = flexbuffers.Builder()
    with builder.Map():
        for name, value in options.items():
            builder.Key(name)
            {bool: builder.Bool, int: builder.Int, float: builder.Float}[type(value)](value)
    draw = np.random.default_rng(3)
    anchors = draw.uniform(0.2, 0.8, (count, 4)).astype(np.float32)
    return Written(
        "TFLite_Detection_PostProcess",
        [Input((1, count, 4), low=-2, high=2), Input((1, count, classes + 1), low=0, high=1), anchors],
        ["FLOAT32"] * 4,
        custom=bytes(builder.Finish()),
    )


def suppression(soft: bool, most: int) -> Written:
    limits = [np.array(most, np.int32), np.array(0.4, np.float32), np.array(0.2, np.float32)]
    extra = [np.array(0.0, np.float32)] if soft else []
    return Written(
        "NON_MAX_SUPPRESSION_V5" if soft else "NON_MAX_SUPPRESSION_V4",
        [Input((10, 4), low=0, high=1), Input((10,), low=0, high=1), *limits, *extra],
        ["INT32", "FLOAT32", "INT32"] if soft else ["INT32", "INT32"],
    )


SEGMENTS = np.array([2, 0, -1, 2], np.int32)
WRITTEN: dict[str, Written] = {
    **{
        f"unsorted_segment_{name}": Written(
            f"UNSORTED_SEGMENT_{name.upper()}", [Input((4, 3)), SEGMENTS, np.array(4, np.int32)]
        )
        for name in ("sum", "prod", "max", "min")
    },
    "segment_sum": Written("SEGMENT_SUM", [Input((4, 3)), _integers(0, 0, 1, 2)]),
    "sparse_to_dense": Written(
        "SPARSE_TO_DENSE",
        [Input((3, 2), "int32", 0, 4), _integers(4, 5), Input((3,)), np.array(0.5, np.float32)],
    ),
    "sparse_to_dense_scalar": Written(
        "SPARSE_TO_DENSE", [_integers(1, 3), _integers(5), Input(()), np.array(0.5, np.float32)]
    ),
    "bucketize": Written(
        "BUCKETIZE", [Input((3, 6))], ["INT32"], "BucketizeOptions", {"boundaries": [-0.5, 0.0, 0.25]}
    ),
    "bucketize_int": Written(
        "BUCKETIZE", [Input((3, 6), "int32", -3, 4)], ["INT32"], "BucketizeOptions", {"boundaries": [-1.0, 0.0, 2.0]}
    ),
    "bitcast": Written("BITCAST", [ROWS], ["INT32"]),
    "l2_pool": Written("L2_POOL_2D", [PICTURE], options="Pool2DOptions", values=POOL),
    "l2_pool_valid": Written("L2_POOL_2D", [PICTURE], options="Pool2DOptions", values={**POOL, "padding": 1}),
    "reshape_by_option": Written("RESHAPE", [ROWS], options="ReshapeOptions", values={"newShape": [2, -1]}),
    "relu_0_to_1_itself": Written("RELU_0_TO_1", [ROWS]),
    "relu_n1_to_1_itself": Written("RELU_N1_TO_1", [ROWS]),
    "select_rows": Written(
        "SELECT", [np.array([True, False, True]), ROWS, Input((3, 6))], options="SelectOptions"
    ),
    "atan2_itself": Written("ATAN2", [ROWS, ROWS]),
    "sign_itself": Written("SIGN", [ROWS]),
    "prelu_itself": Written("PRELU", [PICTURE, _weights(3)]),
    "l2_norm_of_zeros": Written("L2_NORMALIZATION", [Input((3, 6), low=0, high=1e-7)], options="L2NormOptions"),
    "softmax_beta": Written("SOFTMAX", [ROWS], options="SoftmaxOptions", values={"beta": 2.5}),
    "dense_keep": Written(
        "FULLY_CONNECTED", [Input((2, 3, 6)), _weights(4, 6), _weights(4)], options="FullyConnectedOptions",
        values={"keepNumDims": True, "fusedActivationFunction": 3},
    ),
    "dense_flattening": Written(
        "FULLY_CONNECTED", [Input((2, 3, 6)), _weights(4, 18), None], options="FullyConnectedOptions"
    ),
    "dense_of_data": Written(
        "FULLY_CONNECTED", [Input((2, 6)), Input((4, 6)), None], options="FullyConnectedOptions"
    ),
    "embedding_lookup": Written("EMBEDDING_LOOKUP", [Input((4,), "int32", 0, 7), _weights(7, 3)]),
    "range_of_floats": Written(
        "RANGE", [np.array(0.5, np.float32), np.array(3.0, np.float32), np.array(0.3, np.float32)]
    ),
    "range_backwards": Written("RANGE", [_integers(9)[0], _integers(2)[0], _integers(-3)[0]], ["INT32"]),
    "update_slice": Written(
        "DYNAMIC_UPDATE_SLICE", [Input((4, 5)), Input((2, 3)), Input((2,), "int32", -2, 5)]
    ),
    "update_slice_whole_axis": Written(
        "DYNAMIC_UPDATE_SLICE", [Input((4, 5)), Input((2, 5)), Input((2,), "int32", 0, 4)]
    ),
    "broadcast_args": Written("BROADCAST_ARGS", [_integers(2, 1, 4), _integers(3, 1)], ["INT32"]),
    "split_of_bytes": Written(
        "SPLIT", [np.array(1, np.int32), Input((2, 6), "int8", -128, 127)], ["INT8"] * 3, "SplitOptions",
        {"numSplits": 3},
    ),
    "strided_slice_offset": Written(
        "STRIDED_SLICE", [ROWS, _integers(1, 2), _integers(2, 3), _integers(1, 1)], options="StridedSliceOptions",
        values={"offset": True},
    ),
    "gather_of_bytes": Written(
        "GATHER", [Scaled(Input((3, 4), "int8", -128, 127), 0.1, 3), _integers(2, 0)], [("INT8", 0.1, 3)],
        "GatherOptions", {"axis": 1},
    ),
    "bytes_conv": byte_conv("CONV_2D", _bytes(4, 3, 3, 3, dtype="uint8"), "Conv2DOptions", 4),
    "bytes_conv_relu6": byte_conv(
        "CONV_2D", _bytes(4, 3, 3, 3, dtype="uint8"), "Conv2DOptions", 4, fusedActivationFunction=3
    ),
    "bytes_depthwise": byte_conv(
        "DEPTHWISE_CONV_2D", _bytes(1, 3, 3, 6, dtype="uint8"), "DepthwiseConv2DOptions", 6, depthMultiplier=2
    ),
    "bytes_add": Written(
        "ADD", [Scaled(BYTES, 0.02, 128), Scaled(BYTES, 0.03, 100)], [("UINT8", 0.04, 110)], "AddOptions",
        judged={"steps": 1},
    ),
    "bytes_concat": Written(
        "CONCATENATION", [Scaled(BYTES, 0.02, 128), Scaled(BYTES, 0.03, 100)], [("UINT8", 0.03, 100)],
        "ConcatenationOptions", {"axis": 3}, {"steps": 1},
    ),
    "bytes_max_pool_relu6": Written(
        "MAX_POOL_2D", [Scaled(BYTES, 0.05, 100)], [("UINT8", 0.05, 100)], "Pool2DOptions",
        {**POOL, "fusedActivationFunction": 3},
    ),
    "bytes_average_pool": Written(
        "AVERAGE_POOL_2D", [Scaled(BYTES, 0.05, 100)], [("UINT8", 0.05, 100)], "Pool2DOptions", POOL, {"steps": 1}
    ),
    "requantize": Written(
        "QUANTIZE", [Scaled(BYTES, 0.02, 128)], [("INT8", 0.03, -20)], judged={"steps": 1}
    ),
    "quantize": Written("QUANTIZE", [Input((3, 50), low=-4, high=4)], [("INT8", 0.03, -20)], judged={"steps": 1}),
    "dequantize": Written("DEQUANTIZE", [Scaled(BYTES, 0.02, 128)]),
    "dequantize_channels": Written(
        "DEQUANTIZE", [Scaled(Input((2, 5, 3), "int8", -128, 127), [0.1, 0.2, 0.3], 0, 2)]
    ),
    "four_bits": Written(
        "FULLY_CONNECTED",
        [Scaled(Input((2, 6), "int8", -128, 127), 0.05, 3),
         Scaled(np.clip(_bytes(5, 6) // 16, -7, 7).astype(np.int8), 0.1, bits=4),
         Scaled(_integers(1, 2, 3, 4, 5), 0.005)],
        [("INT8", 0.2, -5)], "FullyConnectedOptions", judged={"steps": 1},
    ),
    "lstm_sequence": sequence_lstm(),
    "lstm_sequence_time_major": sequence_lstm(timeMajor=True),
    "lstm_sequence_peepholes": sequence_lstm(peepholes=True),
    "lstm_sequence_coupled": sequence_lstm(coupled=True),
    "lstm_one_step": single_lstm(),
    "lstm_both_ways": both_ways_lstm(),
    "lstm_both_ways_merged": both_ways_lstm(mergeOutputs=True),
    "rnn_one_step": rnn("RELU"),
    "rnn_sequence": rnn("TANH", sequence=True),
    "rnn_sequence_time_major": rnn("RELU", sequence=True, time_major=True),
    "rnn_both_ways": both_ways_rnn(),
    "rnn_both_ways_merged": both_ways_rnn(merge=True),
    "svdf": svdf(),
    "post_process": post_process(regular=False),
    "post_process_regular": post_process(regular=True),
    "non_max_suppression": suppression(soft=False, most=4),
    "non_max_suppression_more": suppression(soft=False, most=14),
    "non_max_suppression_scores": suppression(soft=True, most=4),
}  # fmt: skip
