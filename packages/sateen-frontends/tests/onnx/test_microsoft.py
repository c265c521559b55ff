"""onnxruntime's own operators, each against onnxruntime; against their definition where it can't run them here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import erf
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from sateen import frontends, runtime
from sateen.frontends.onnx.microsoft import DESCRIPTIONS, FUNCTIONS
from sateen.graph_ir.compile import build
from sateen.runtime.errors import FrontendError

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(7)


def draw(*shape: int) -> Array:
    return np.asarray(RANDOM.uniform(-1, 1, shape), np.float32)


def byte(*shape: int, dtype: str = "uint8") -> Array:
    limits = np.iinfo(dtype)
    return RANDOM.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def integers(*values: int, dtype: str = "int32") -> Array:
    return np.array(values, dtype)


@dataclass(frozen=True)
class Case:
    """A node over inputs, None where one is absent; `constants` are inputs whose data the model has. Outputs from
    `compared` on are not specified everywhere."""

    operator: str
    inputs: Sequence[Array | None]
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: int = 1
    constants: tuple[int, ...] = ()
    expected: Callable[..., Array] | None = None
    domain: str = "com.microsoft"
    compared: int = 9

    def model(self) -> onnx.ModelProto:
        names = ["" if data is None else f"x{i}" for i, data in enumerate(self.inputs)]
        results = [f"y{i}" for i in range(self.outputs)]
        node = helper.make_node(self.operator, names, results, "node", domain=self.domain, **self.attributes)
        declared, held = [], []
        for index, (name, data) in enumerate(zip(names, self.inputs, strict=True)):
            if data is not None and index in self.constants:
                held.append(onnx.numpy_helper.from_array(data, name))
            elif data is not None:
                kind = helper.np_dtype_to_tensor_dtype(data.dtype)
                declared.append(helper.make_tensor_value_info(name, kind, data.shape))
        graph = helper.make_graph(
            [node], "net", declared, [helper.make_empty_tensor_value_info(name) for name in results], held
        )
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)

    def given(self) -> dict[str, Array]:
        present = ((i, data) for i, data in enumerate(self.inputs) if data is not None and i not in self.constants)
        return {f"x{i}": data for i, data in present}

    def __str__(self) -> str:
        return self.operator


def gelu(x: Array) -> Array:
    return (x * 0.5 * (1 + np.vectorize(erf)(x / np.sqrt(2)))).astype(np.float32)


def fast_gelu(x: Array) -> Array:
    return (0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))).astype(np.float32)


def attention(query: Array, key: Array, value: Array, scale: float) -> Array:
    """[batch, rows, heads, width] each; the result has heads and width in one axis."""
    scores = np.einsum("brhw,bchw->bhrc", query, key) * np.float32(scale)
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    return np.einsum("bhrc,bchw->brhw", weights, value).reshape(*query.shape[:2], -1)


def grouped(x: Array, gamma: Array, beta: Array, groups: int) -> Array:
    """Group normalisation of [n, h, w, c]."""
    n, h, w, c = x.shape
    apart = x.reshape(n, h, w, groups, c // groups)
    mean, variance = (f(apart, axis=(1, 2, 4), keepdims=True) for f in (np.mean, np.var))
    return ((apart - mean) / np.sqrt(variance + 1e-5)).reshape(x.shape) * gamma + beta


def convolved(x: Array, weight: Array, bias: Array) -> Array:
    """x [n, h, w, c] with weight [o, c, kh, kw], channels last."""
    windows = np.lib.stride_tricks.sliding_window_view(x, weight.shape[2:], axis=(1, 2))
    return np.einsum("nhwcij,ocij->nhwo", windows, weight) + bias


def silu(x: Array) -> Array:
    return x / (1 + np.exp(-x))


ONES = np.ones(8, np.float32)
MASK = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
HEADS = {"num_heads": 2}
QUERY, KEY, VALUE = draw(2, 3, 8), draw(2, 5, 8), draw(2, 5, 8)
PAST = draw(2, 2, 4, 4), draw(2, 2, 4, 4)
GROUPS = {"num_heads": 4, "kv_num_heads": 2}
ANGLES = RANDOM.uniform(-3, 3, (16, 4)).astype(np.float32)
COSINE, SINE = np.cos(ANGLES), np.sin(ANGLES)
WIDE = np.cos(RANDOM.uniform(-3, 3, (16, 8))).astype(np.float32)
CACHE = draw(2, 2, 6, 16), draw(2, 2, 6, 16)
NORMS = {"activation": 1, "groups": 2}

CASES = [
    Case("BiasAdd", [draw(2, 3, 8), draw(8), draw(2, 3, 8)], expected=lambda x, bias, skip: x + bias + skip),
    Case("BiasDropout", [draw(2, 8), draw(8), draw(2, 8)], expected=lambda x, bias, skip: x + bias + skip),
    Case("BiasGelu", [draw(2, 8) * 3, draw(8)]),
    Case(
        "BiasSoftmax",
        [draw(2, 3, 8), draw(1, 1, 8)],
        {"axis": -1, "is_inner_broadcast": 1},
        expected=lambda x, b: np.exp(x + b) / np.exp(x + b).sum(-1, keepdims=True),
    ),
    Case("BiasSplitGelu", [draw(2, 3, 8), draw(8)], expected=lambda x, b: (x + b)[..., :4] * gelu((x + b)[..., 4:])),
    Case("BitmaskDropout", [draw(2, 8)], expected=lambda x: x),
    Case("FastGelu", [draw(2, 8) * 3, draw(8)]),
    Case("FastGelu", [draw(2, 8) * 3]),
    Case("Gelu", [draw(2, 8) * 3]),
    Case("QuickGelu", [draw(2, 8) * 3], {"alpha": 1.5}),
    Case("CDist", [draw(4, 6), draw(5, 6)], {"metric": "euclidean"}),
    Case("CDist", [draw(4, 6), draw(5, 6)]),
    Case(
        "ComplexMul",
        [draw(3, 2), draw(3, 2)],
        expected=lambda a, b: ((a[:, 0] + 1j * a[:, 1]) * (b[:, 0] + 1j * b[:, 1])).view(np.float32).reshape(3, 2),
    ),
    Case(
        "ComplexMulConj",
        [draw(3, 2), draw(3, 2)],
        expected=lambda a, b: ((a[:, 0] + 1j * a[:, 1]) * (b[:, 0] - 1j * b[:, 1])).view(np.float32).reshape(3, 2),
    ),
    Case("FusedGemm", [draw(4, 6), draw(5, 6), draw(5)], {"transB": 1, "alpha": 0.5, "activation": "Relu"}),
    Case(
        "FusedGemm",
        [draw(4, 6), draw(6, 5), draw(5)],
        {"beta": 2.0, "activation": "LeakyRelu", "activation_alpha": 0.3},
    ),
    Case("FusedMatMul", [draw(2, 6, 4), draw(2, 6, 5)], {"transA": 1, "alpha": 0.25}),
    Case("FusedMatMul", [draw(4, 2, 6), draw(2, 5, 6)], {"transBatchA": 1, "transB": 1}),
    Case("FusedMatMul", [draw(2, 4, 6), draw(6, 5)]),
    Case("TransposeMatMul", [draw(2, 4, 6), draw(2, 5, 6)], {"transB": 1}),
    Case(
        "FusedMatMulActivation",
        [draw(4, 6), draw(6, 5)],
        {"activation": "Tanh"},
        expected=lambda a, b: np.tanh(a @ b),
    ),
    Case(
        "GemmFastGelu",
        [draw(4, 6), draw(6, 5), draw(5)],
        expected=lambda x, w, b: fast_gelu(x @ w + b),
    ),
    Case("MatMulNBits", [draw(3, 32), byte(5, 2, 8), draw(10)], {"K": 32, "N": 5, "block_size": 16}, constants=(1, 2)),
    Case(
        "MatMulNBits",
        [draw(3, 40), byte(5, 3, 8), draw(15), byte(5, 2).reshape(-1)],
        {"K": 40, "N": 5, "block_size": 16, "bits": 4},
        constants=(1, 2, 3),
    ),
    Case(
        "MatMulNBits",
        [draw(3, 32), byte(5, 2, 16), draw(10), byte(10), None, draw(5)],
        {"K": 32, "N": 5, "block_size": 16, "bits": 8},
        constants=(1, 2, 3, 5),
    ),
    *(
        Case(
            operator,
            [byte(2, 6, 7, 3), np.array(0.02, "f"), np.array(100, "u1"), np.array(0.03, "f"), np.array(20, "u1")],
            {**attributes, "channels_last": 1},
        )
        for operator, attributes in (
            ("QLinearAveragePool", {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1], "strides": [2, 1]}),
            ("QLinearGlobalAveragePool", {}),
        )
    ),
    *(
        Case(
            "MatMulBnb4",
            [draw(3, 33), byte(83), np.abs(draw(11))],
            {"K": 33, "N": 5, "block_size": 16, "quant_type": kind},
            constants=(1, 2),
        )
        for kind in (0, 1)
    ),
    *(
        Case(
            "CropAndResize",
            [
                draw(2, 3, 7, 9),
                np.array([[0, 0, 1, 1], [0.2, 0.7, 0.9, 0.1], [-0.3, 0.1, 0.5, 1.4]], np.float32),
                integers(0, 1, 1),
                integers(4, 5),
            ],
            {"mode": mode, "extrapolation_value": 0.5},
            constants=(3,),
        )
        for mode in ("bilinear", "nearest")
    ),
    Case(
        "MatMulIntegerToFloat",
        [byte(4, 6), byte(6, 5, dtype="int8"), draw(), draw(5), np.array(12, np.uint8), byte(5, dtype="int8"), draw(5)],
        constants=(1, 3, 5),
    ),
    Case("MatMulIntegerToFloat", [byte(4, 6), byte(6, 5), draw(), draw()]),
    Case("DynamicQuantizeMatMul", [draw(4, 6), byte(6, 5, dtype="int8"), draw(5), None, draw(5)], constants=(1, 2)),
    Case(
        "DynamicQuantizeMatMul",
        [draw(4, 6), byte(6, 5, dtype="int8"), draw(), np.array(3, np.int8)],
        constants=(1, 2, 3),
    ),
    Case("MatMulInteger16", [byte(4, 6, dtype="int16"), byte(6, 5, dtype="int16")]),
    Case(
        "MulInteger",
        [byte(4, 6), np.array(100, np.uint8), byte(4, 6), np.array(3, np.uint8)],
        expected=lambda a, za, b, zb: (a.astype(np.int32) - za) * (b.astype(np.int32) - zb),
    ),
    Case(
        "GatherBlockQuantized",
        [byte(6, 16), integers(5, 0, 2, dtype="int64"), draw(6, 2)],
        {"block_size": 16, "quantize_axis": 1},
        constants=(0,),
    ),
    Case("SkipLayerNormalization", [draw(2, 3, 8), draw(2, 3, 8), draw(8), draw(8), draw(8)], {"epsilon": 1e-5}),
    Case("SkipLayerNormalization", [draw(2, 3, 8), draw(2, 3, 8), draw(8)], outputs=1),
    Case("SkipSimplifiedLayerNormalization", [draw(2, 3, 8), draw(2, 3, 8), draw(8)], {"epsilon": 1e-5}),
    Case("SimplifiedLayerNormalization", [draw(2, 3, 8), draw(8)], {"axis": -1, "epsilon": 1e-5}, domain=""),
    Case(
        "EmbedLayerNormalization",
        [
            integers(1, 2, 3, 0, 4, 5, 6, 6).reshape(2, 4),
            integers(0, 0, 1, 1, 1, 1, 0, 0).reshape(2, 4),
            draw(7, 8),
            draw(4, 8),
            draw(2, 8),
            draw(8),
            draw(8),
            integers(1, 1, 1, 0, 1, 1, 0, 0).reshape(2, 4),
        ],
        outputs=2,
    ),
    Case(
        "EmbedLayerNormalization",
        [integers(1, 2, 3, 0).reshape(1, 4), None, draw(7, 8), draw(4, 8), None, ONES, ONES],
        outputs=2,
    ),
    Case("GroupNorm", [draw(1, 3, 4, 8), draw(8), draw(8)], NORMS, expected=lambda x, g, b: silu(grouped(x, g, b, 2))),
    Case(
        "SkipGroupNorm",
        [draw(1, 3, 4, 8), draw(8), draw(8), draw(1, 3, 4, 8), draw(8)],
        {**NORMS, "activation": 0},
        expected=lambda x, g, b, skip, bias: grouped(x + skip + bias, g, b, 2),
    ),
    Case("ExpandDims", [draw(2, 3), np.array(-1, np.int32)], constants=(1,)),
    Case("GatherND", [draw(3, 4, 5), integers(0, 1, 2, 3, dtype="int64").reshape(2, 2)]),
    Case("GridSample", [draw(1, 2, 5, 6), draw(1, 3, 4, 2)], {"align_corners": 1, "padding_mode": "border"}),
    Case("Pad", [draw(2, 3), integers(1, 0, 0, 2, dtype="int64"), np.float32([7])], constants=(1, 2)),
    Case("Range", [np.array(1, np.float32), np.array(8, np.float32), np.array(2, np.float32)], constants=(0, 1, 2)),
    Case("Trilu", [draw(4, 5), np.array(1, np.int64)], {"upper": 0}, constants=(1,)),
    Case("UnfoldTensor", [draw(2, 7, 3)], {"dim": 1, "size": 3, "step": 2}),
    Case("TorchEmbedding", [draw(5, 4), integers(0, 4, 2, dtype="int64")], expected=lambda w, i: w[i]),
    Case(
        "ReduceSumInteger", [byte(2, 3, 4)], {"axes": [1], "keepdims": 0}, expected=lambda x: x.sum(1, dtype=np.int32)
    ),
    Case(
        "Rfft", [draw(3, 8)], expected=lambda x: np.fft.rfft(x).astype(np.complex64).view(np.float32).reshape(3, 5, 2)
    ),
    Case("Irfft", [draw(3, 5, 2)], expected=lambda x: np.fft.irfft(x.view(np.complex64)[..., 0]).astype(np.float32)),
    Case(
        "FusedConv",
        [draw(1, 3, 6, 5), draw(4, 3, 3, 3), draw(4), draw(1, 4, 4, 3)],
        {"activation": "Relu", "kernel_shape": [3, 3]},
    ),
    Case(
        "FusedConv",
        [draw(1, 4, 6, 5), draw(4, 2, 3, 3)],
        {"activation": "Clip", "activation_params": [-0.5, 0.5], "group": 2},
    ),
    Case("FusedConv", [draw(1, 3, 6, 5), draw(4, 3, 3, 3), draw(4)], {"pads": [1, 1, 1, 1], "strides": [2, 2]}),
    Case("NhwcConv", [draw(1, 6, 5, 3), draw(4, 3, 3, 2), draw(4)], expected=convolved),
    Case(
        "NhwcFusedConv",
        [draw(1, 6, 5, 3), draw(4, 3, 3, 2), draw(4), draw(1, 4, 4, 4)],
        {"activation": "Relu"},
        expected=lambda x, w, b, z: np.maximum(convolved(x, w, b) + z, 0),
    ),
    Case(
        "QLinearReduceMean",
        [byte(2, 3, 4), np.array(0.1, "f"), np.array(9, "u1"), np.array(0.05, "f"), np.array(7, "u1")],
        {"axes": [1], "keepdims": 0},
        expected=lambda x, a, za, b, zb: np.clip(np.round((x.mean(1) - za) * a / b) + zb, 0, 255).astype(np.uint8),
    ),
    Case("NhwcMaxPool", [byte(1, 6, 5, 3)], {"kernel_shape": [3, 2], "strides": [2, 2]}),
    Case(
        "ConvTransposeWithDynamicPads",
        [draw(1, 3, 4, 5), draw(3, 2, 3, 3), integers(1, 0, 0, 1, dtype="int64"), draw(2)],
        {"strides": [2, 2]},
        constants=(2,),
    ),
    Case("Attention", [draw(2, 5, 6), draw(6, 24), draw(24)], HEADS),
    Case("Attention", [draw(2, 5, 6), draw(6, 24), draw(24), MASK], HEADS),
    Case("Attention", [draw(2, 5, 6), draw(6, 24), draw(24), integers(3, 5)], {**HEADS, "scale": 0.3}),
    Case("Attention", [draw(2, 5, 6), draw(6, 24), draw(24), integers(4, 5, 1, 0)], HEADS),
    Case("Attention", [draw(2, 5, 6), draw(6, 24), draw(24)], {**HEADS, "unidirectional": 1}, outputs=2),
    Case(
        "Attention",
        [draw(2, 3, 6), draw(6, 24), draw(24), None, draw(2, 2, 2, 4, 4)],
        {**HEADS, "unidirectional": 1},
        outputs=2,
    ),
    Case("Attention", [draw(2, 5, 6), draw(6, 20), draw(20)], {**HEADS, "qkv_hidden_sizes": [8, 8, 4]}),
    Case("MultiHeadAttention", [QUERY, KEY, VALUE], HEADS),
    Case("MultiHeadAttention", [QUERY, KEY, VALUE, draw(24), MASK, draw(2, 2, 3, 5)], HEADS),
    Case(
        "MultiHeadAttention",
        [draw(2, 5, 2, 3, 4)],
        {**HEADS, "scale": 0.7},
        expected=lambda x: attention(*(x[:, :, :, i] for i in range(3)), 0.7),
    ),
    Case(
        "MultiHeadAttention",
        [QUERY, draw(2, 5, 2, 2, 4)],
        HEADS,
        expected=lambda q, x: attention(q.reshape(2, 3, 2, 4), *(x[:, :, :, i] for i in (0, 1)), 0.5),
    ),
    Case("MultiHeadAttention", [QUERY, draw(2, 2, 5, 4), draw(2, 2, 5, 4)], HEADS),
    Case("MultiHeadAttention", [KEY, KEY, VALUE, None, None, None, *PAST], {**HEADS, "unidirectional": 1}, outputs=3),
    Case(
        "RelativePositionBias",
        [draw(16, 3), integers(6, dtype="int64"), integers(6, dtype="int64")],
        {"max_distance": 5},
        constants=(1, 2),
        expected=lambda t, r, c: t5_bias(t, 5, False),
    ),
    Case(
        "RelativePositionBias",
        [draw(16, 3), integers(6, dtype="int64"), integers(6, dtype="int64")],
        {"max_distance": 12, "is_bidirectional": 1},
        constants=(1, 2),
        expected=lambda t, r, c: t5_bias(t, 12, True),
    ),
    Case("RotaryEmbedding", [draw(2, 3, 16), integers(4, dtype="int64"), COSINE, SINE]),
    Case(
        "RotaryEmbedding",
        [draw(2, 2, 3, 8), integers(0, 1, 2, 5, 6, 7, dtype="int64").reshape(2, 3), COSINE, SINE],
        {"interleaved": 1},
    ),
    Case(
        "RotaryEmbedding",
        [draw(2, 3, 24), integers(0, 1, 2, 5, 6, 7, dtype="int64").reshape(2, 3), COSINE, SINE],
        {"num_heads": 2, "rotary_embedding_dim": 8},
    ),
    Case(
        "GroupQueryAttention",
        [draw(2, 3, 32), draw(2, 3, 16), draw(2, 3, 16), None, None, integers(2, 2), integers(3)],
        GROUPS,
        outputs=3,
        constants=(6,),
    ),
    Case(
        "GroupQueryAttention",
        [draw(2, 3, 128), None, None, None, None, integers(2, 2), integers(3), WIDE, WIDE[::-1].copy()],
        {**GROUPS, "do_rotary": 1},
        outputs=3,
        constants=(6,),
    ),
    Case(
        "GroupQueryAttention",
        [draw(2, 1, 64), draw(2, 1, 32), draw(2, 1, 32), *CACHE, integers(6, 6), integers(7), WIDE, WIDE[::-1].copy()],
        {**GROUPS, "do_rotary": 1, "rotary_interleaved": 1},
        outputs=3,
        constants=(6,),
    ),
    Case(
        "GroupQueryAttention",
        [draw(2, 1, 64), draw(2, 1, 32), draw(2, 1, 32), *CACHE, integers(6, 6), integers(7)],
        {**GROUPS, "local_window_size": 3, "softcap": 5.0},
        outputs=3,
        constants=(6,),
    ),
    Case(
        "GroupQueryAttention",
        [draw(2, 1, 64), draw(2, 1, 32), draw(2, 1, 32), *CACHE, integers(3, 5), integers(6), WIDE, WIDE[::-1].copy()],
        {**GROUPS, "do_rotary": 1},
        outputs=3,
        constants=(6,),
        compared=1,
    ),
    Case(
        "GroupQueryAttention",
        [
            draw(1, 2, 64),
            draw(1, 2, 32),
            draw(1, 2, 32),
            CACHE[0][:1],
            CACHE[1][:1],
            integers(7),
            integers(8),
            WIDE,
            WIDE,
        ],
        {**GROUPS, "do_rotary": 1},
        outputs=3,
        constants=(6,),
    ),
    Case(
        "QLinearWhere",
        [
            np.array([True, False, True]),
            byte(2, 3),
            np.array(0.1, np.float32),
            np.array(9, np.uint8),
            byte(2, 3),
            np.array(0.2, np.float32),
            np.array(90, np.uint8),
            np.array(0.3, np.float32),
            np.array(50, np.uint8),
        ],
        constants=(2, 3, 5, 6, 7, 8),
    ),
    Case("QuantizeLinear", [draw(3, 4), draw(4) + 2, byte(4)], {"axis": 1}, constants=(1, 2)),
    Case("DequantizeLinear", [byte(3, 4), np.array(0.5, np.float32), np.array(3, np.uint8)], constants=(1, 2)),
    Case(
        "QLinearConv",
        [
            byte(1, 6, 5, 3),
            np.array(0.02, np.float32),
            np.array(7, np.uint8),
            byte(4, 3, 3, 3, dtype="int8"),
            np.array(0.01, np.float32),
            np.array(0, np.int8),
            np.array(0.3, np.float32),
            np.array(100, np.uint8),
        ],
        {"channels_last": 1},
        constants=(1, 2, 3, 4, 5, 6, 7),
    ),
]


def t5_bias(table: Array, most: int, bidirectional: bool) -> Array:
    """By the formula of the paper's code, row by row."""
    buckets = table.shape[0] // (2 if bidirectional else 1)
    result = np.zeros((1, table.shape[1], 6, 6), np.float32)
    for row in range(6):
        for column in range(6):
            back = row - column
            first = buckets if bidirectional and back < 0 else 0
            back = abs(back) if bidirectional else max(back, 0)
            exact = buckets // 2
            if back >= exact:
                back = exact + int(np.log(back / exact) / np.log(most / exact) * (buckets - exact))
            result[0, :, row, column] = table[first + min(back, buckets - 1)]
    return result


@pytest.mark.parametrize("case", CASES, ids=str)
def test_results_are_those_of_onnxruntime(case: Case) -> None:
    model, given = case.model(), case.given()
    if case.expected is None:
        onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        wanted = session.run(None, given)
    else:
        wanted = [case.expected(*(data for data in case.inputs if data is not None))]
    graph, params = frontends.from_onnx(model)
    found = runtime.load(build(graph, params=params)).run(given)
    for index, expected in enumerate(wanted[: case.compared]):
        result = found[f"y{index}"].numpy()
        assert result.shape == expected.shape
        if expected.dtype.kind == "f":
            assert result.dtype == expected.dtype
            np.testing.assert_allclose(result, expected, rtol=0, atol=1e-4 * max(1e-6, np.abs(expected).max()))
        else:
            assert result.dtype == expected.dtype
            apart = np.abs(result.astype(np.int64) - expected)
            assert apart.max() <= (expected.dtype.itemsize == 1 and "Linear" in case.operator)


def test_every_operator_has_a_case() -> None:
    tested = {(case.domain, case.operator) for case in CASES}
    assert set(DESCRIPTIONS) <= tested


def test_the_page_lists_every_operator() -> None:
    names = sorted({name for _, name in DESCRIPTIONS} | set(FUNCTIONS))
    page = (Path(__file__).parents[4] / "docs/formats/onnx.md").read_text(encoding="utf-8")
    assert f"\n{fill(', '.join(names), 120)}\n" in page


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes"),
    [
        ("UnfoldTensor", {"x": (1, 1 << 30)}, {"size": 1 << 20}),
        ("Attention", {"x": (1, 1 << 20, 4), "w": (4, 12)}, {"num_heads": 2, "unidirectional": 1}),
    ],
)
def test_tables_of_positions_are_bounded(operator: str, inputs: dict[str, Any], attributes: dict[str, Any]) -> None:
    node = helper.make_node(operator, list(inputs), ["y"], domain="com.microsoft", **attributes)
    declared = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in inputs.items()]
    graph = helper.make_graph([node], "net", declared, [helper.make_empty_tensor_value_info("y")])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    with pytest.raises(FrontendError, match="expected to make data of at most 16777216 elements"):
        frontends.from_onnx(helper.make_model(graph, opset_imports=opsets, ir_version=8))
