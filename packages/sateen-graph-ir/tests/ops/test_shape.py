"""Operators that move elements, against NumPy."""

import re

import numpy as np
import pytest

from sateen.graph_ir import ops
from sateen.graph_ir.ir import Symbol, TensorType
from sateen.runtime.errors import InferenceError
from sateen.topi.types import Layout

X = np.arange(2 * 32 * 4 * 5, dtype="float32").reshape(2, 32, 4, 5)
BLOCKED = Layout.blocked(4, 1, 16)


@pytest.mark.parametrize(
    "shape", [(64, 4, 1, 5), (1280,), (2, 32, 20), (4, 5, 64), (1, 2, 32, 1, 4, 5), (8, 160)], ids=str
)
def test_reshape(check_op, shape):
    check_op(ops.Reshape(shape=shape), [X], [X.reshape(shape)])


@pytest.mark.parametrize("dtype", ["float64", "float16", "int8", "int64", "bool"])
def test_elements_of_any_type_move(check_op, dtype):
    x = (X[0, 0] % 3).astype(dtype)
    check_op(ops.Reshape(shape=(2, 10)), [x], [x.reshape(2, 10)])
    check_op(ops.Transpose(permutation=(1, 0)), [x], [x.T])
    check_op(ops.Pad(pads=(1, 0, 0, 2), value=1.0), [x], [np.pad(x, ((1, 0), (0, 2)), constant_values=1)])


def test_tensors_without_elements_or_axes(check_op):
    empty, one = np.zeros((0, 3), "float32"), np.array(7, "int32")
    check_op(ops.Reshape(shape=(3, 0, 2)), [empty], [np.zeros((3, 0, 2), "float32")])
    check_op(ops.Reshape(shape=(1, 1)), [one], [one.reshape(1, 1)])
    check_op(ops.Reshape(), [one.reshape(1)], [one])


@pytest.mark.parametrize("permutation", [(0, 2, 3, 1), (3, 2, 1, 0), (0, 1, 3, 2), (0, 2, 1, 3)], ids=str)
def test_transpose(check_op, permutation):
    check_op(ops.Transpose(permutation=permutation), [X], [X.transpose(permutation)])


@pytest.mark.parametrize("axis", range(4))
def test_concat_and_split(check_op, axis):
    middle = X.shape[axis] // 2
    parts = np.split(X, [middle, middle], axis)
    check_op(ops.Concat(axis=axis), [X, parts[0], X, parts[1]], [np.concatenate([X, parts[0], X, parts[1]], axis)])
    sizes = tuple(part.shape[axis] for part in parts)
    check_op(ops.Split(axis=axis, sizes=sizes), [X], parts)


def test_blocks_that_divide_stay(check_op, of_lanes):
    check_op(ops.Concat(axis=1), [X, X], [np.concatenate([X, X], 1)], BLOCKED)
    check_op(ops.Split(axis=1, sizes=(16, 16)), [X], np.split(X, 2, 1), BLOCKED)
    check_op(ops.Pad(pads=(0, 0, 1, 2, 0, 0, 1, 0)), [X], [np.pad(X, ((0, 0), (0, 0), (1, 1), (2, 0)))], BLOCKED)
    given = [TensorType.of("float32", (1, c, 2, 2), BLOCKED) for c in (16, 20)]
    (choice,) = ops.Concat(axis=1).layouts(given, ops.Concat(axis=1).infer(*given), of_lanes(16))
    assert choice.outputs == (None,)


def test_slice(check_op):
    op = ops.Slice(starts=(1, 31, 3, 0), ends=(2, 3, -1, 5), steps=(1, -3, -1, 2))
    check_op(op, [X], [X[1:2, 31:3:-3, ::-1, ::2]])
    check_op(ops.Slice(starts=(3,), ends=(3,), steps=(1,)), [X[0, 0, 0]], [X[0, 0, 0, 3:3]])


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap"])
@pytest.mark.parametrize("before", [(0, 1, 2, 3), (3, 0, 0, 40)], ids=str)
def test_pad(check_op, mode, before):
    after = (1, 0, 9, 2)
    expected = np.pad(X, list(zip(before, after, strict=True)), mode)
    check_op(ops.Pad(mode=mode, pads=(*before, *after)), [X], [expected])


def test_negative_pads_crop(check_op):
    expected = np.pad(X[:, 1:, :-2], ((0, 0), (0, 0), (0, 0), (1, 0)), constant_values=9)
    check_op(ops.Pad(pads=(0, -1, 0, 1, 0, 0, -2, 0), value=9.0), [X], [expected])


def test_broadcast_to_goes_both_ways(check_op):
    x = X[:, :1, :, :1]
    expected = np.broadcast_to(x, (3, 2, 6, 4, 1))
    check_op(ops.BroadcastTo(shape=(3, 1, 6, 1, 1)), [x], [expected])


def test_tile(check_op):
    check_op(ops.Tile(repeats=(1, 2, 1, 3)), [X], [np.tile(X, (1, 2, 1, 3))])


def test_depth_and_space(check_op):
    n, c, h, w = X.shape
    dcr = X.reshape(n, 2, 2, c // 4, h, w).transpose(0, 3, 4, 1, 5, 2).reshape(n, c // 4, h * 2, w * 2)
    crd = X.reshape(n, c // 4, 2, 2, h, w).transpose(0, 1, 4, 2, 5, 3).reshape(n, c // 4, h * 2, w * 2)
    check_op(ops.DepthToSpace(block=2), [X], [dcr])
    check_op(ops.DepthToSpace(block=2, mode="CRD"), [X], [crd])
    check_op(ops.SpaceToDepth(block=2), [dcr], [X])


@pytest.mark.parametrize("k", [-2, 0, 1])
def test_triangles(check_op, k):
    check_op(ops.Trilu(upper=True, k=k), [X], [np.triu(X, k)])
    check_op(ops.Trilu(upper=False, k=k), [X], [np.tril(X, k)])


@pytest.mark.parametrize("axis", range(3))
def test_one_hot(check_op, axis):
    indices = np.array([[0, -1, 7], [2, -4, -5]])
    values = np.array([2.5, 5.0], "float32")
    chosen = np.where((indices >= -4) & (indices < 4), indices % 4, 4)
    expected = np.moveaxis(np.where(np.eye(5)[chosen, :4] == 1, values[1], values[0]), -1, axis)
    check_op(ops.OneHot(depth=4, axis=axis), [indices, values], [expected])


N, M = Symbol("n"), Symbol("m")
ROWS = TensorType.of("float32", (N, 4))
IMAGES = TensorType.of("float32", (N, 8, M * 2, M))


@pytest.mark.parametrize(
    ("op", "inputs", "shapes"),
    [
        (ops.Transpose(permutation=(1, 0)), (ROWS,), [(4, N)]),
        (ops.Reshape(shape=(N * 2, 2)), (ROWS,), [(N * 2, 2)]),
        (ops.Reshape(shape=(N, M * M * 16)), (IMAGES,), [(N, M * M * 16)]),
        (ops.Concat(axis=0), (ROWS, ROWS, TensorType.of("float32", (M, 4))), [(N * 2 + M, 4)]),
        (ops.Concat(axis=1), (ROWS, ROWS), [(N, 8)]),
        (ops.Split(axis=1, sizes=(1, 3)), (ROWS,), [(N, 1), (N, 3)]),
        (ops.Split(axis=0, sizes=(N // 2, N - N // 2)), (ROWS,), [(N // 2, 4), (N - N // 2, 4)]),
        (ops.Slice(starts=(1, 0), ends=(N, 4), steps=(1, 2)), (ROWS,), [(N - 1, 2)]),
        (ops.Slice(starts=(0, 0), ends=(N, 4), steps=(2, 1)), (ROWS,), [((N + 1) // 2, 4)]),
        (ops.Slice(starts=(N - 1, 0), ends=(-1, 4), steps=(-1, 1)), (ROWS,), [(N, 4)]),
        (ops.Slice(starts=(0, 0), ends=(5, 4), steps=(1, 1)), (ROWS,), [(5, 4)]),
        (ops.Pad(pads=(0, 1, 0, 1)), (ROWS,), [(N, 6)]),
        (ops.Pad(mode="edge", pads=(2, 0, -1, 0)), (ROWS,), [(N + 1, 4)]),
        (ops.BroadcastTo(shape=(M, 1, 4)), (ROWS,), [(M, N, 4)]),
        (ops.Tile(repeats=(2, M)), (ROWS,), [(N * 2, M * 4)]),
        (ops.DepthToSpace(block=2), (IMAGES,), [(N, 2, M * 4, M * 2)]),
        (ops.SpaceToDepth(block=2), (TensorType.of("float32", (1, 3, M * 2, 4)),), [(1, 12, M, 2)]),
        (ops.Trilu(), (ROWS,), [(N, 4)]),
    ],
)
def test_shapes_of_open_dimensions(op, inputs, shapes):
    assert [type_.shape for type_ in op.infer(*inputs)] == shapes


DATA = TensorType.of("float32", (2, 3))
OPEN = TensorType.of("float32", (N,))
PICTURE = TensorType.of("float32", (1, 6, 3, 4))


@pytest.mark.parametrize(
    ("op", "inputs", "message"),
    [
        (ops.Reshape(shape=(5,)), (DATA,), "reshape: shape [5] has 5 elements, data float32[2, 3] has 6"),
        (ops.Reshape(shape=(-1,)), (DATA,), "reshape: shape expects extents of at least 0, found [-1]"),
        (
            ops.Reshape(shape=(6,)),
            (OPEN,),
            "reshape: shape [6] has 6 elements, data float32[?n] has ?n",
        ),
        (
            ops.Transpose(permutation=(0, 0)),
            (DATA,),
            "transpose: permutation expects the axes of data float32[2, 3], found [0, 0]",
        ),
        (ops.Concat(), (), "concat: expects at least one input, found none"),
        (
            ops.Concat(axis=0),
            (DATA, PICTURE),
            "concat: inputs float32[2, 3] and float32[1, 6, 3, 4] differ in more than axis 0",
        ),
        (ops.Split(axis=1, sizes=(1, 1)), (DATA,), "split: sizes [1, 1] do not add up to axis 1 of data float32[2, 3]"),
        (
            ops.Slice(starts=(0, 0), ends=(2, 4), steps=(1, 1)),
            (DATA,),
            "slice: start 0 and end 4 of axis 1 expect 0 to 3",
        ),
        (
            ops.Slice(starts=(0, 0), ends=(2, 3), steps=(1, 0)),
            (DATA,),
            "slice: steps expects other numbers than 0, found [1, 0]",
        ),
        (ops.Slice(starts=(0,)), (DATA,), "slice: starts expects 2 values, one per axis, found 1"),
        (
            ops.Slice(starts=(0,), ends=(N + 1,), steps=(1,)),
            (OPEN,),
            "slice: start 0 and end ?n + 1 of axis 0 expect 0 to ?n",
        ),
        (ops.Pad(pads=(-N, -1)), (OPEN,), "pad: pads -?n and -1 take more from axis 0 than data float32[?n] has"),
        (ops.Split(sizes=(N, 1)), (OPEN,), "split: sizes [?n, 1] do not add up to axis 0 of data float32[?n]"),
        (ops.Tile(repeats=(-N,)), (OPEN,), "tile: repeats expects extents of at least 0, found [-?n]"),
        (
            ops.Pad(pads=(1, 0), value=0.5),
            (TensorType.of("int8", (3,)),),
            "pad: value expects an integer of -128 to 127 for int8, found 0.5",
        ),
        (
            ops.Pad(mode="mirror"),
            (DATA,),
            "pad: mode expects one of constant, edge, reflect, symmetric, wrap, found 'mirror'",
        ),
        (ops.Pad(pads=(1, 1)), (DATA,), "pad: pads expects 4 values, a begin and an end per axis, found 2"),
        (
            ops.Pad(pads=(-2, 0, -1, 0)),
            (DATA,),
            "pad: pads -2 and -1 take more from axis 0 than data float32[2, 3] has",
        ),
        (ops.Tile(repeats=(1, -1)), (DATA,), "tile: repeats expects extents of at least 0, found [1, -1]"),
        (ops.DepthToSpace(block=2), (PICTURE,), "depth_to_space: channels expect a multiple of 4, found 6"),
        (
            ops.SpaceToDepth(block=2),
            (PICTURE,),
            "space_to_depth: height and width expect multiples of 2, found 3 and 4",
        ),
        (ops.SpaceToDepth(block=2), (DATA,), "space_to_depth: data expects [n, c, h, w], found float32[2, 3]"),
        (ops.Trilu(), (TensorType.of("float32", (3,)),), "trilu: data expects at least 2 axes, found float32[3]"),
        (ops.OneHot(depth=3, axis=3), (DATA, DATA), "one_hot: axis expects 0 to 2, found 3"),
        (ops.OneHot(depth=3), (DATA, DATA), "one_hot: values expects 2 elements, found float32[2, 3]"),
    ],
)
def test_attributes_that_do_not_fit_are_refused(op, inputs, message):
    with pytest.raises(InferenceError, match=f"^{re.escape(message)}$"):
        op.infer(*inputs)
