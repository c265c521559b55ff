"""Every operator of OPS: inference agrees with what is computed, text keeps it, targets agree with its definition.

The definitions themselves are compared with NumPy in the files of the families.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any, get_type_hints

import numpy as np
import pytest

from sateen.graph_ir import OPS, Graph, GraphBuilder, Node, Operator, Value, build, interpret, parse_graph
from sateen.graph_ir.evaluate.by_definition import evaluate_op
from sateen.graph_ir.ir import Dim, Symbol, TensorType, why_different
from sateen.graph_ir.kernels import KernelPool, lower_kernel
from sateen.graph_ir.kernels.group_requests import group_text
from sateen.graph_ir.ops import (
    ConvertLayout,
    CopyTo,
    Fused,
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
from sateen.graph_ir.passes.bind_dims import bind_dims
from sateen.graph_ir.passes.fuse import fuse
from sateen.runtime import Artifact, DType, InferenceError, Target, load
from sateen.tensor_ir import Machine, ObjectCache, lower, te
from sateen.tensor_ir.interpret import evaluate
from sateen.topi.operators import computation_of, types_of
from sateen.topi.types import Layout, pack, placeholder, unpack

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(0)
LANES = 4
TYPES = ("bool", "int8", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64")
X86 = "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v2"
ARM = "llvm -mtriple=aarch64-unknown-linux-gnu"
TOLERANCE = {2: 2e-2, 4: 2e-5, 8: 1e-12}
"""By the bytes of a float."""


def f(*extents: int) -> Array:
    return np.asarray(RANDOM.standard_normal(extents), np.float32)


def p(*extents: int) -> Array:
    """Between 0.5 and 0.9: in the domain of each function."""
    return np.asarray(RANDOM.uniform(0.5, 0.9, extents), np.float32)


def i(least: int, end: int, *extents: int) -> Array:
    return np.asarray(RANDOM.integers(least, end, extents))


def b(*extents: int) -> Array:
    return np.asarray(RANDOM.random(extents) < 0.5)


def graph(text: str) -> Graph:
    return parse_graph(text, OPS)


def _body(name: str, nodes: str) -> Graph:
    return graph(f"graph {name}\n{nodes}")


GROW = _body("grow", "  input %v: float32[3]\n  %a = add(%v, %v)\n  output %a")
SHRINK = _body("shrink", "  input %v: float32[3]\n  %a = tanh(%v)\n  output %a")
STEP = _body(
    "step",
    "  input %i: int64[]\n  input %v: float32[3]\n  %a = sin(%v)\n  %c = exp(%a)\n  output %a\n  output %c",
)
UNTIL = _body(
    "until",
    "  input %i: int64[]\n  input %v: float32[3]\n  parameter %two: int64[] = [2]\n  %go = less(%i, %two)\n"
    "  %a = add(%v, %v)\n  output %go\n  output %a",
)

IMAGE = (2, 8, 5, 7)
PLAIN = (
    element_wise.Identity, element_wise.Relu, element_wise.HardSwish, element_wise.Gelu, element_wise.Sigmoid,
    element_wise.Tanh, element_wise.Softplus, element_wise.Softsign, element_wise.Mish, element_wise.Reciprocal,
    element_wise.Sqrt, element_wise.Abs, element_wise.Negative, element_wise.Sign, element_wise.Floor,
    element_wise.Ceil, element_wise.Round, element_wise.Trunc, element_wise.Exp, element_wise.Log,
    element_wise.Log2, element_wise.Log10, element_wise.Expm1,
    element_wise.Log1p, element_wise.Erf, element_wise.Sin,
    element_wise.Cos, element_wise.Tan, element_wise.Asin, element_wise.Acos, element_wise.Atan, element_wise.Sinh,
    element_wise.Cosh, element_wise.Asinh, element_wise.Atanh, element_wise.IsNaN, element_wise.IsInf,
)  # fmt: skip
BINARY = (
    broadcast.Add, broadcast.Subtract, broadcast.Multiply, broadcast.Divide, broadcast.Minimum, broadcast.Maximum,
    broadcast.Atan2, broadcast.Power, broadcast.PRelu, broadcast.Equal, broadcast.NotEqual, broadcast.Less,
    broadcast.LessEqual, broadcast.Greater, broadcast.GreaterEqual,
)  # fmt: skip
REDUCE = (
    reductions.ReduceSum, reductions.ReduceMean, reductions.ReduceMax, reductions.ReduceMin,
    reductions.ReduceProd, reductions.ReduceSumSquare,
    reductions.ReduceL1, reductions.ReduceL2, reductions.ReduceLogSum, reductions.ReduceLogSumExp,
)  # fmt: skip
THREE = {"strides": (2, 1), "pads": (1, 0, 1, 1)}

STUMPS = tuple(
    np.array(values, dtype)
    for values, dtype in (
        ([0, 1], "int32"), ([1, 1], "int32"), ([0, 1], "int32"),
        ([[1, 2, 3, 0], [3, 4, 5, 0], [0, 2, 2, 0], [0, 3, 3, 0], [0, 4, 4, 0], [0, 5, 5, 0]], "int32"),
        ([[0.1], [0.2], [0.3], [0.4]], "float32"),
    )
)  # fmt: skip
"""Two trees of one decision each, whose threshold is 0."""

Case = tuple[Operator, tuple[Array, ...]]
CASES: list[Case] = [
    *((op(), (p(*IMAGE),)) for op in PLAIN),
    *((op(), (p(*IMAGE), p(8, 1, 7))) for op in BINARY),
    *((op(axes=(1, 3)), (p(*IMAGE),)) for op in REDUCE),
    (element_wise.Cast(DType.of("int16")), (f(*IMAGE) * 9,)),
    (quantization.Quantize(DType.of("int8")), (f(*IMAGE), p(8), np.arange(-4, 4).astype(np.int8))),
    (quantization.Dequantize(axis=1), (f(*IMAGE).astype(np.int8), p(8))),
    (element_wise.BitCast(DType.of("int32")), (f(*IMAGE),)),
    (element_wise.Clip(-0.5, 0.5), (f(*IMAGE),)),
    (element_wise.LeakyRelu(0.2), (f(*IMAGE),)),
    (element_wise.ThresholdedRelu(0.3), (f(*IMAGE),)),
    (element_wise.HardSigmoid(), (f(*IMAGE),)),
    (element_wise.Shrink(0.25, 0.5), (f(*IMAGE),)),
    (element_wise.Elu(0.7), (f(*IMAGE),)),
    (element_wise.Selu(), (f(*IMAGE),)),
    (element_wise.Celu(0.7), (f(*IMAGE),)),
    (element_wise.Acosh(), (p(*IMAGE) + 1,)),
    (element_wise.Not(), (b(*IMAGE),)),
    (element_wise.BitwiseNot(), (i(-9, 9, *IMAGE),)),
    (broadcast.Modulo(), (i(-9, 9, 3, 17), i(1, 4, 17))),
    (broadcast.FloorDivide(), (i(-9, 9, 3, 17), i(1, 4, 17))),
    (broadcast.And(), (b(3, 17), b(17))),
    (broadcast.Or(), (b(3, 17), b(17))),
    (broadcast.Xor(), (b(3, 17), b(17))),
    (broadcast.BitwiseAnd(), (i(-9, 9, 3, 17), i(-9, 9, 17))),
    (broadcast.BitwiseOr(), (i(-9, 9, 3, 17), i(-9, 9, 17))),
    (broadcast.BitwiseXor(), (i(-9, 9, 3, 17), i(-9, 9, 17))),
    (broadcast.BitShift("right"), (i(0, 99, 3, 17), i(0, 5, 17))),
    (broadcast.Where(), (b(5, 1), f(5, 17), f())),
    (reductions.ArgMax(1), (f(*IMAGE),)),
    (reductions.ArgMin(2, select_last_index=True), (f(*IMAGE),)),
    (reductions.CumSum(1, reverse=True), (f(3, 9, 5),)),
    (reductions.CumProd(2, exclusive=True), (p(3, 9, 5),)),
    (reductions.TopK(3, 1), (f(3, 9, 5),)),
    (reductions.SearchSorted(), (np.sort(f(13)), f(3, 5))),
    (shape.Reshape((5, 27)), (f(3, 9, 5),)),
    (shape.Transpose((0, 2, 3, 1)), (f(*IMAGE),)),
    (shape.Concat(1), (f(*IMAGE), f(2, 4, 5, 7))),
    (shape.Split(1, (4, 4)), (f(*IMAGE),)),
    (shape.Slice((0, 0, 4, 1), (2, 8, -1, 7), (1, 1, -2, 2)), (f(*IMAGE),)),
    (shape.Pad("constant", (0, 0, 1, -1, 0, 0, 2, 3), 1.5), (f(*IMAGE),)),
    (shape.BroadcastTo((2, 1, 5)), (f(3, 1),)),
    (shape.Tile((2, 1, 3)), (f(3, 9, 5),)),
    (shape.DepthToSpace(2), (f(*IMAGE),)),
    (shape.SpaceToDepth(2), (f(1, 3, 4, 6),)),
    (shape.Trilu(False, 1), (f(3, 9, 5),)),
    (shape.OneHot(5, 1), (i(-3, 5, 7), f(2))),
    (gather_scatter.Gather(1), (f(3, 9, 5), i(-9, 9, 2, 3))),
    (gather_scatter.GatherElements(1), (f(3, 9, 5), i(-9, 9, 3, 4, 5))),
    (gather_scatter.GatherND(1), (f(3, 9, 5), i(-5, 5, 3, 4, 2))),
    (gather_scatter.ScatterElements(1, "add"), (f(3, 9, 5), i(-9, 9, 3, 4, 5), f(3, 4, 5))),
    (gather_scatter.ScatterND("max"), (f(3, 9, 5), i(-3, 3, 4, 1), f(4, 9, 5))),
    (gather_scatter.TensorScatter(1), (f(3, 9, 5), f(3, 2, 5), i(0, 8, 3))),
    (convolution.Conv(pads=(1, 1, 1, 1)), (f(1, 8, 5, 9), f(8, 8, 3, 3), f(8))),
    (convolution.ConvTranspose(strides=(2, 2)), (f(1, 8, 3, 4), f(8, 8, 3, 3), f(8))),
    (convolution.WinogradConv(2), (f(1, 8, 6, 6), f(8, 8, 4, 4) / 9)),
    (preparations.WinogradWeight(2), (f(8, 6, 3, 3),)),
    (preparations.StrassenWeight(), (f(8, 6),)),
    (products.Det(), (f(2, 4, 4),)),
    (products.MatMul(), (f(2, 5, 9), f(9, 17))),
    (products.StrassenMatMul(), (f(1, 4, 8), f(7, 4, 8))),
    (pooling.AveragePool((3, 3), **THREE), (f(*IMAGE),)),
    (pooling.MaxPool((3, 3), **THREE), (f(*IMAGE),)),
    (pooling.AdaptiveAveragePool((3, 4)), (f(*IMAGE),)),
    (pooling.AdaptiveMaxPool((3, 4)), (f(*IMAGE),)),
    (pooling.MaxPoolIndices((3, 3), **THREE), (f(*IMAGE),)),
    (pooling.GlobalAveragePool(), (f(*IMAGE),)),
    (pooling.GlobalMaxPool(), (f(*IMAGE),)),
    (normalization.BatchNormalization(), (f(*IMAGE), f(8), f(8), f(8), p(8))),
    (normalization.InstanceNormalization(), (f(*IMAGE), f(8), f(8))),
    (normalization.GroupNormalization(2), (f(*IMAGE), f(8), f(8))),
    (normalization.LayerNormalization(2), (f(3, 9, 5), f(5), f(5))),
    (normalization.RmsNormalization(2), (f(3, 9, 5), f(5))),
    (normalization.LRN(3, 0.1), (f(*IMAGE),)),
    (normalization.LpNormalization(1), (f(3, 9, 5),)),
    (softmaxes.Softmax(2), (f(3, 9, 5),)),
    (softmaxes.LogSoftmax(1), (f(3, 9, 5),)),
    (attention.Attention(0.5, 2), (f(2, 4, 5), f(1, 6, 5), f(2, 6, 3), f(4, 6))),
    (resizing.Resize((2, 8, 9, 7), "linear"), (f(*IMAGE),)),
    (recurrent.RNN(3), (f(4, 2, 5), f(1, 3, 5), f(1, 3, 3), f(1, 6))),
    (recurrent.GRU(3), (f(4, 2, 5), f(1, 9, 5), f(1, 9, 3), f(1, 18))),
    (recurrent.LSTM(3), (f(4, 2, 5), f(1, 12, 5), f(1, 12, 3), f(1, 24))),
    (sampling.DeformableColumns((3, 3), pads=(1, 1, 1, 1)), (f(1, 2, 4, 5), f(1, 18, 4, 5))),
    (sampling.GridSample(), (f(1, 2, 4, 5), f(1, 3, 3, 2))),
    (sampling.CropAndResize((3, 4)), (f(2, 2, 5, 6), p(3, 4), i(0, 2, 3))),
    (sampling.PsRoiPool((2, 2), 2), (f(1, 8, 6, 7), f(3, 4) + 2, i(0, 1, 3))),
    (sampling.RoiPool((2, 2)), (f(1, 2, 6, 7), f(3, 4) + 2, i(0, 1, 3))),
    (sampling.RoiAlign((2, 2), samples=2), (f(1, 2, 6, 7), f(3, 4) + 2, i(0, 1, 3))),
    (trees.TreeEnsemble(2), (f(3, 4), *STUMPS)),
    (boxes.NonMaxSuppression(4, 0.1), (f(2, 6, 4), p(2, 3, 6))),
    (boxes.SuppressRecords(classes=0, iou_threshold=0.1), (f(2, 7, 6),)),
    (boxes.MultiBoxPrior((3, 5), (0.4, 0.9), (1.0, 2.0)), ()),
    (boxes.MultiBoxTransformLoc(0.7), (p(2, 3, 7), f(2, 28), f(1, 7, 4))),
    (control.If(GROW, SHRINK), (b(), f(3))),
    (control.Loop(STEP, 3, 1), (f(3),)),
    (control.While(UNTIL), (i(5, 6), np.array(True), f(3))),
    (ConvertLayout(), (f(*IMAGE),)),
    (CopyTo("cpu"), (f(*IMAGE),)),
    (Fused(GROW), (f(3),)),
]
"""Operators and arguments."""
OF_BFLOAT16 = (bfloat.BfloatConv(pads=(1, 1, 1, 1)), bfloat.BfloatMatMul())
if find_spec("ml_dtypes") is not None:
    SHORT = DType.of("bfloat16").numpy
    IMAGES = f(1, 8, 5, 9).astype(SHORT), f(8, 8, 3, 3).astype(SHORT), f(8)
    CASES += zip(OF_BFLOAT16, (IMAGES, (f(2, 5, 8).astype(SHORT), f(8, 17).astype(SHORT))), strict=True)
IDS = [op.op_name() for op, _ in CASES]
COMPUTED = [(op, arrays) for op, arrays in CASES if not isinstance(op, (control.Control, ConvertLayout, Fused))]
"""Those that have a computation of their own; the others run graphs, or nothing."""


def types_of_arrays(arrays: tuple[Array, ...]) -> list[TensorType]:
    return [TensorType.of(str(a.dtype), a.shape) for a in arrays]


def network(cases: list[tuple[Operator, tuple[Array, ...]]]) -> tuple[Graph, dict[str, Array]]:
    """All cases beside each other, and their arguments."""
    builder, given = GraphBuilder("operators"), {}
    for op, arrays in cases:
        inputs = [builder.input(f"{op.op_name()}_in", t.dtype, t.shape) for t in types_of_arrays(arrays)]
        given.update((v.name, a) for v, a in zip(inputs, arrays, strict=True))
        builder.output(*builder.add_all(op, *inputs))
    return builder.finish(), given


def assert_close(found: Array, expected: Array, what: str) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape), what
    if expected.dtype.kind in "biu":
        np.testing.assert_array_equal(found, expected, err_msg=what)
        return
    bound = TOLERANCE[expected.dtype.itemsize]
    np.testing.assert_allclose(np.float64(found), np.float64(expected), rtol=bound, atol=bound, err_msg=what)


def test_every_operator_has_a_case():
    assert {type(op) for op in (*(op for op, _ in CASES), *OF_BFLOAT16)} == set(OPS.ops.values())


@pytest.mark.parametrize(("op", "arrays"), CASES, ids=IDS)
def test_inference_agrees_with_the_definition_and_text_keeps_the_operator(op, arrays):
    one, given = network([(op, arrays)])
    assert why_different(parse_graph(str(one), OPS), one) is None
    found = interpret(one, given)
    assert [(v.type.dtype.numpy, v.type.static_shape) for v in one.outputs] == [
        (a.dtype, a.shape) for a in found.values()
    ]


OF_KNOWN_SIZES = (
    attention.Attention, convolution.WinogradConv, products.StrassenMatMul, bfloat.BfloatConv, bfloat.BfloatMatMul,
    *preparations.OPS, control.If, control.Loop, control.While, Fused,
)  # fmt: skip
"""Operators that take no open dimensions: those that passes make once sizes are known, and those whose bodies, here,
take inputs of known sizes."""


def opened(extent: int, random: Random) -> tuple[Dim, dict[str, int]]:
    """A dimension and the size of its symbol that make it an extent."""
    symbol = Symbol(f"s{extent}")
    half = max(extent // 2, 1)
    return random.choice(
        [
            (symbol, {symbol.name: extent}), (symbol * 2 + (extent - 2 * half), {symbol.name: half}),
            ((symbol + 1) // 2, {symbol.name: 2 * extent - 1}), *[(extent, {})] * 3,
        ]
    )  # fmt: skip


@pytest.mark.parametrize(("op", "arrays"), CASES, ids=IDS)
def test_inference_then_binding_is_binding_then_inference(op, arrays):
    """With equal extents opened alike in inputs and attributes, for the sizes that they come from and for others."""
    random, accepted = Random(0), 0
    hints = get_type_hints(type(op))
    of_dimensions = {name: value for name, value in op.attributes().items() if hints[name] == tuple[Dim, ...]}
    numbers = {*(n for a in arrays for n in a.shape), *(n for value in of_dimensions.values() for n in value)}
    extents = sorted(n for n in numbers if n > 0)
    for _ in range(100):
        dimensions: dict[int, Dim] = {}
        sizes: dict[str, int] = {}
        for extent in extents:
            dimensions[extent], known = opened(extent, random)
            sizes |= known
        changed = {name: tuple(dimensions.get(n, n) for n in value) for name, value in of_dimensions.items()}
        builder = GraphBuilder("opened")
        inputs = [
            builder.input(f"x{n}", t.dtype, [dimensions.get(d, d) for d in t.shape])
            for n, t in enumerate(types_of_arrays(arrays))
        ]
        try:
            outputs = builder.add_all(replace(op, **changed), *inputs)
        except InferenceError:
            continue
        builder.output(*outputs)
        graph = builder.finish()
        accepted += bool(sizes)
        for given in (sizes, *({name: random.randint(1, 9) for name in sizes} for _ in range(3))):
            try:
                found = bind_dims(graph, given)
            except InferenceError:
                assert given is not sizes, graph
                continue
            assert [v.type for v in found.outputs] == [v.type.bind(given) for v in outputs], (graph, given)
    assert bool(accepted) == (type(op) not in OF_KNOWN_SIZES)


@pytest.mark.parametrize(("op", "arrays"), COMPUTED, ids=[op.op_name() for op, _ in COMPUTED])
def test_what_inference_accepts_can_be_lowered(op, arrays):
    """With elements of every type: a check that says yes is kept by the compiler."""
    machine = Machine.of(X86)
    for dtype in TYPES:
        given = types_of_arrays(arrays)
        changed = [replace(t, dtype=DType.of(dtype)) if t.dtype == given[0].dtype else t for t in given]
        try:
            types = types_of(op, changed)
        except InferenceError:
            continue
        views = [placeholder(t.static_shape, t.dtype, f"x{n}") for n, t in enumerate(changed)]
        computation = computation_of(op, views, types)
        assert [(v.dtype, v.shape) for v in computation.outputs] == [(t.dtype, t.static_shape) for t in types]
        tensors = [v.tensor for v in computation.outputs]
        schedule = te.create_schedule(tensors)
        computation.schedule_on(machine)(schedule, tensors[0], machine)
        lower(schedule, [*(v.tensor for v in views), *tensors])


@pytest.mark.parametrize(("op", "arrays"), COMPUTED, ids=[op.op_name() for op, _ in COMPUTED])
def test_each_layout_that_an_operator_declares_gives_the_same(op, arrays, of_lanes):
    given = types_of_arrays(arrays)
    types = types_of(op, given)
    operands, results = (tuple(Value(f"{n}", t) for n, t in enumerate(listed)) for listed in (given, types))
    expected = evaluate_op(Node(op, operands, results), arrays)
    blocked = [replace(t, layout=Layout.blocked(t.rank, 1, LANES)) if t.rank > 2 else t for t in given]
    for wanted in (given, blocked):
        for choice in op.layouts(wanted, types, of_lanes(LANES)):
            taken = [replace(t, layout=layout) for t, layout in zip(given, choice.inputs, strict=True)]
            gives = [replace(t, layout=layout) for t, layout in zip(types, choice.outputs, strict=True)]
            views = [placeholder(t.static_shape, t.dtype, f"x{n}", t.memory_layout) for n, t in enumerate(taken)]
            computation = computation_of(op, views, gives)
            assert [v.layout for v in computation.outputs] == [t.memory_layout for t in gives]
            packed = {
                v.tensor: pack(a, t.memory_layout) if a.ndim else a
                for v, a, t in zip(views, arrays, taken, strict=True)
            }
            computed = evaluate([v.tensor for v in computation.outputs], packed)
            for found, t, values in zip(computed, gives, expected, strict=True):
                plain = unpack(np.asarray(found), t.static_shape, t.memory_layout) if t.rank else np.asarray(found)
                assert_close(plain.astype(t.dtype.numpy), values, f"{op} in {choice}")


def _here(artifact: Artifact, given: Mapping[str, Array], _: Path) -> dict[str, Array]:
    return {name: a.numpy() for name, a in load(artifact).run(given).items()}


def _on_a_level_of_x86(artifact: Artifact, given: Mapping[str, Array], folder: Path) -> dict[str, Array]:
    missing = Target.host().missing_features(Target.of(X86))
    if missing:
        pytest.skip(f"expected x86-64-v2, this machine lacks {', '.join(missing)}")
    return _here(artifact, given, folder)


Run = Callable[[Artifact, Mapping[str, Array], Path], dict[str, Array]]


def _check_target(target: str, run: Run, folder: Path, cases: list[Case] = CASES) -> None:
    """All operators in one network, each in a kernel of its own."""
    every, given = network(cases)
    _check_results(every, given, run(build(every, target, pipeline=()), given, folder))


def _check_results(every: Graph, given: Mapping[str, Array], found: Mapping[str, Array]) -> None:
    for name, values in interpret(every, given).items():
        assert_close(found[name], values, name)


@pytest.mark.timeout(600)  # 20 s of one core, which a busy machine may not give
def test_this_machine_gives_what_the_definitions_say_and_a_full_cache_gives_the_same_without_lowering(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every, given = network(CASES)
    cache = ObjectCache(tmp_path / "objects")
    with KernelPool(2) as workers:
        artifact = build(every, pipeline=(), workers=workers, cache=cache)
    _check_results(every, given, _here(artifact, given, tmp_path))
    for place in ("group_compiler.lower_kernel", "compiler.compile_functions"):
        monkeypatch.delattr(f"sateen.graph_ir.kernels.{place}")
    assert build(every, pipeline=(), cache=cache).to_bytes() == artifact.to_bytes()


@pytest.mark.timeout(600)
def test_a_level_of_x86_gives_what_the_definitions_say(tmp_path: Path) -> None:
    _check_target(X86, _on_a_level_of_x86, tmp_path, CASES[::3])  # `nox -s targets` takes all


@pytest.mark.parametrize(("op", "arrays"), COMPUTED, ids=[op.op_name() for op, _ in COMPUTED])
def test_the_text_of_a_group_determines_its_kernel(op, arrays):
    machine = Machine.of(X86)
    graph, _ = network([(op, arrays)])
    for node in fuse(graph).nodes:
        assert isinstance(node.op, Fused)
        read = parse_graph(group_text(node.op.body), OPS)
        again = Node(Fused(read), read.inputs, read.outputs)
        assert lower_kernel(again, "k", machine).facts == lower_kernel(node, "k", machine).facts


@pytest.mark.timeout(600)
def test_aarch64_gives_what_the_definitions_say(
    run_on_aarch64: Callable[..., str], run_in_c: Callable[..., dict[str, Array]], tmp_path: Path
) -> None:
    _check_target(ARM, lambda artifact, given, _: run_in_c(artifact, given, run_on_aarch64), tmp_path)
