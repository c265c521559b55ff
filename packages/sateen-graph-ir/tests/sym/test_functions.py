"""Every function of networks against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from sateen.graph_ir import interpret, sym
from sateen.graph_ir.ir import verify_graph
from sateen.runtime.errors import ArgumentError

RANDOM = np.random.default_rng(0)


def f(*extents):
    return RANDOM.standard_normal(extents).astype("float32")


X, Y, P = f(2, 3, 4), f(2, 3, 4), np.abs(f(2, 3, 4)) + 0.5
IMAGE, ROW = f(1, 2, 4, 6), f(1, 3, 1)
N = RANDOM.integers(1, 6, (2, 3, 4)).astype("int32")
M = RANDOM.integers(1, 4, (2, 3, 4)).astype("int32")
RECORDS = np.array(
    [[[0, 0.9, 0, 0, 2, 2], [0, 0.8, 0, 0, 2, 1.9], [1, 0.7, 0, 0, 2, 2], [1, 0.9, 9, 9, 9.5, 9.5]]], "f4"
)


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def windows(x, size):
    n, c, h, w = x.shape
    return x.reshape(n, c, h // size, size, w // size, size)


def pointwise(x, weight, bias=0):
    """A convolution of one element."""
    return np.einsum("nchw,oc->nohw", x, weight[:, :, 0, 0]) + bias


def reorg(x, stride):
    """DarkNet's reorg_cpu, by its indices."""
    n, c, h, w = x.shape
    flat, result = x.reshape(-1), np.zeros_like(x).reshape(-1)
    own = c // stride**2
    for b, k, j, i in np.ndindex(n, c, h, w):
        offset, c2 = k // own, k % own
        w2, h2 = i * stride + offset % stride, j * stride + offset // stride
        result[i + w * (j + h * (k + c * b))] = flat[w2 + w * stride * (h2 + h * stride * (c2 + own * b))]
    return result.reshape(n, c * stride**2, h // stride, w // stride)


def region(x, n, classes):
    b, _, h, w = x.shape
    own = x.reshape(b, n, 5 + classes, h, w)
    parts = [sigmoid(own[:, :, :2]), own[:, :, 2:4], sigmoid(own[:, :, 4:5]), softmax(own[:, :, 5:], 2)]
    return np.concatenate(parts, 2).reshape(x.shape)


W, B = f(5, 2, 1, 1), f(5)
STATISTICS = [f(2), f(2), f(2), np.abs(f(2)) + 0.5]


def normalized(x, gamma, beta, mean, variance, axis=1):
    shape = [-1 if d == axis else 1 for d in range(x.ndim)]
    gamma, beta, mean, variance = (s.reshape(shape) for s in (gamma, beta, mean, variance))
    return (x - mean) / np.sqrt(variance + 1e-5) * gamma + beta


CASES = {
    "dense": [([f(2, 3), f(5, 3), B], {"units": 5}, lambda x, w, b: x @ w.T + b),
              ([f(2, 3), f(5, 3)], {"units": 5, "use_bias": False}, lambda x, w: x @ w.T)],
    "matmul": [([f(3, 2), f(4, 3)], {"transpose_a": True, "transpose_b": True}, lambda a, b: a.T @ b.T)],
    "conv2d": [([IMAGE, W, B], {"channels": 5, "kernel_size": (1, 1)},
                lambda x, w, b: pointwise(x, w, b.reshape(-1, 1, 1))),
               ([IMAGE.transpose(0, 2, 3, 1), W.transpose(2, 3, 1, 0)],
                {"channels": 5, "kernel_size": (1, 1), "layout": "NHWC", "kernel_layout": "HWIO", "use_bias": False},
                lambda x, w: pointwise(x.transpose(0, 3, 1, 2), w.transpose(3, 2, 0, 1)).transpose(0, 2, 3, 1))],
    "conv2d_transpose": [([IMAGE, f(2, 5, 1, 1)], {"channels": 5, "kernel_size": (1, 1), "use_bias": False},
                          lambda x, w: np.einsum("nchw,co->nohw", x, w[:, :, 0, 0]))],
    "max_pool2d": [([IMAGE], {"pool_size": (2, 2), "strides": (2, 2)}, lambda x: windows(x, 2).max((3, 5)))],
    "avg_pool2d": [([IMAGE], {"pool_size": (2, 2), "strides": (2, 2)}, lambda x: windows(x, 2).mean((3, 5)))],
    "global_max_pool2d": [([IMAGE], {}, lambda x: x.max((2, 3), keepdims=True))],
    "global_avg_pool2d": [([IMAGE], {"layout": "NHWC"}, lambda x: x.mean((1, 2), keepdims=True))],
    "batch_norm": [([IMAGE, *STATISTICS], {}, normalized),
                   ([IMAGE.transpose(0, 2, 3, 1), *STATISTICS], {"axis": 3}, lambda *a: normalized(*a, axis=3)),
                   ([IMAGE, *STATISTICS[2:]], {"scale": False, "center": False},
                    lambda x, m, v: normalized(x, np.ones(2, "f4"), np.zeros(2, "f4"), m, v))],
    "dropout": [([X], {"rate": 0.3}, lambda x: x)],
    "softmax": [([X], {}, softmax), ([X], {"axis": 1}, lambda x: softmax(x, 1))],
    "log_softmax": [([X], {}, lambda x: np.log(softmax(x)))],
    "prelu": [([X, f(3)], {}, lambda x, a: np.where(x < 0, x * a[:, None], x))],
    "lrn": [([IMAGE], {"size": 1, "alpha": 0.5}, lambda x: x / (2 + 0.5 * x * x) ** 0.75),
            ([IMAGE], {"size": 1, "axis": 3}, lambda x: x / (2 + 1e-4 * x * x) ** 0.75)],
    "l2_normalize": [([X], {"eps": 1e-3, "axis": (1, 2)},
                      lambda x: x / np.sqrt(np.maximum((x * x).sum((1, 2), keepdims=True), 1e-3)))],
    "upsampling": [([IMAGE], {"scale": 2}, lambda x: x.repeat(2, 2).repeat(2, 3)),
                   ([IMAGE.transpose(0, 2, 3, 1)], {"scale": 2, "layout": "NHWC"},
                    lambda x: x.repeat(2, 1).repeat(2, 2))],
    "resize": [([IMAGE], {"size": (2, 6), "method": "NEAREST_NEIGHBOR"}, lambda x: x[:, :, ::2]),
               ([IMAGE], {"size": (4, 11), "align_corners": True},
                lambda x: np.stack([x, (x + np.roll(x, -1, 3)) / 2], 4).reshape(1, 2, 4, 12)[..., :11])],
    "elemwise_sum": [([X, Y, P], {"num_args": 3}, lambda *a: sum(a)), ([X], {}, lambda x: x)],
    "leaky_relu": [([X], {}, lambda x: np.where(x < 0, 0.25 * x, x))],
    "clip": [([X], {"a_min": -0.5, "a_max": 0.5}, lambda x: x.clip(-0.5, 0.5))],
    "cast": [([X * 9], {"dtype": "int32"}, lambda x: x.astype("int32"))],
    "where": [([np.array([0, 2], "float32"), X, Y], {}, lambda c, x, y: np.stack([y[0], x[1]])),
              ([np.sign(X).clip(0), X, Y], {}, lambda c, x, y: np.where(c > 0, x, y))],
    "logical_not": [([np.sign(X).clip(0)], {}, lambda x: 1 - x)],
    "logical_and": [([np.sign(X).clip(0), np.sign(Y).clip(0)], {}, lambda x, y: x * y)],
    "logical_or": [([np.sign(X).clip(0), np.sign(Y).clip(0)], {}, np.maximum)],
    "full": [([], {"shape": (2, 3), "fill_value": 2.5}, lambda: np.full((2, 3), 2.5, "float32"))],
    "ones": [([], {"shape": (2, 3)}, lambda: np.ones((2, 3), "float32"))],
    "zeros": [([], {"shape": (4,), "dtype": "int8"}, lambda: np.zeros(4, "int8"))],
    "full_like": [([N], {"fill_value": 3}, lambda x: np.full_like(x, 3))],
    "ones_like": [([X], {}, np.ones_like)],
    "zeros_like": [([X], {}, np.zeros_like)],
    "flatten": [([X], {}, lambda x: x.reshape(2, 12))],
    "reshape": [([f(2, 3, 4)], {"shape": shape}, lambda x, s=result: x.reshape(s)) for shape, result in [
        ((4, 0, 2), (4, 3, 2)), ((2, -1), (2, 12)), ((-1, 0), (8, 3)), ((-2,), (2, 3, 4)), ((0, -2), (2, 3, 4)),
        ((-3, 4), (6, 4)), ((0, -3), (2, 12)), ((-4, 1, 2, -2), (1, 2, 3, 4)), ((2, -4, -1, 3, -2), (2, 1, 3, 4))]],
    "reshape_like": [([X, f(4, 6)], {}, lambda x, y: x.reshape(4, 6))],
    "transpose": [([X], {}, lambda x: x.transpose()), ([X], {"axes": (0, -1, 1)}, lambda x: x.transpose(0, 2, 1))],
    "expand_dims": [([X], {"axis": 1, "num_newaxis": 2}, lambda x: x.reshape(2, 1, 1, 3, 4)),
                    ([X], {"axis": -1}, lambda x: x[..., None])],
    "squeeze": [([ROW], {}, lambda x: x.reshape(3)), ([ROW], {"axis": (2,)}, lambda x: x.reshape(1, 3))],
    "concatenate": [([X, Y], {}, lambda x, y: np.concatenate([x, y], 1)),
                    ([X, Y], {"axis": -1}, lambda x, y: np.concatenate([x, y], 2))],
    "split": [([X], {"indices_or_sections": 3}, lambda x: np.split(x, 3, 1)),
              ([X], {"indices_or_sections": (1, 3), "axis": 2}, lambda x: np.split(x, (1, 3), 2))],
    "pad": [([X], {"pad_width": ((0, 1), (2, 0), (0, 0)), "pad_value": 7.0},
             lambda x: np.pad(x, ((0, 1), (2, 0), (0, 0)), constant_values=7))],
    "strided_slice": [([X], {"begin": (0, 1), "end": (2, 9)}, lambda x: x[:, 1:]),
                      ([X], {"begin": (0, -1), "end": (2, -9), "stride": (1, -2)}, lambda x: x[:, ::-2])],
    "slice_like": [([X, f(1, 2, 9)], {"axis": (0, 1)}, lambda x, y: x[:1, :2]),
                   ([X, f(1, 2, 3)], {}, lambda x, y: x[:1, :2, :3])],
    "flip": [([X], {}, lambda x: x[::-1]), ([X], {"axis": -1}, lambda x: x[..., ::-1])],
    "take": [([X, np.array([[0, 5]])], {}, lambda x, i: x.reshape(-1)[i]),
             ([X, np.array([2, 0])], {"axis": 1}, lambda x, i: x[:, i])],
    "gather_nd": [([X, np.array([[0, 1], [2, 0]])], {}, lambda x, i: x[i[0], i[1]])],
    "broadcast_to": [([ROW], {"shape": (2, 0, 5)}, lambda x: np.broadcast_to(x, (2, 3, 5)))],
    "expand_like": [([f(3), X], {"axis": (0, 2)}, lambda a, x: np.broadcast_to(a[:, None], x.shape)),
                    ([f(3), X], {"axis": (1,), "exclude": True}, lambda a, x: np.broadcast_to(a[:, None], x.shape))],
    "collapse_sum": [([X, ROW], {}, lambda x, y: x.sum((0, 2), keepdims=True)),
                     ([X, f(4)], {}, lambda x, y: x.sum((0, 1)))],
    "sum": [([X], {}, lambda x: np.asarray(x.sum())), ([X], {"axis": 1, "exclude": True}, lambda x: x.sum((0, 2))),
            ([N], {"axis": (0,), "dtype": "float32"}, lambda x: x.sum(0, dtype="float32"))],
    "max": [([X], {"axis": (0, -1), "keepdims": True}, lambda x: x.max((0, 2), keepdims=True))],
    "min": [([X], {"axis": 1}, lambda x: x.min(1))],
    "mean": [([X], {"axis": 1}, lambda x: x.mean(1))],
    "prod": [([X], {"axis": 1}, lambda x: x.prod(1))],
    "argmax": [([X], {"axis": 1}, lambda x: x.argmax(1).astype("int32")),
               ([X], {}, lambda x: np.asarray(x.argmax(), "int32")),
               ([X], {"keepdims": True}, lambda x: np.asarray(x.argmax(), "int32").reshape(1, 1, 1))],
    "argmin": [([X], {"axis": (0, 1), "exclude": True, "dtype": "float32"}, lambda x: x.argmin(2).astype("float32"))],
    "multibox_prior": [([f(1, 1, 1, 1)], {"sizes": (0.5,)},
                        lambda x: np.array([[[0.25, 0.25, 0.75, 0.75]]], "float32"))],
    "multibox_transform_loc": [
        ([np.array([[[0.1, 0.8], [0.9, 0.2]]], "f4"), np.zeros((1, 8), "f4"),
          np.array([[[0, 0, 1, 1], [0, 0, 2, 2]]], "f4")],
         {"threshold": 0.5}, lambda p, o, a: [np.array([[[0, 0.9, 0, 0, 1, 1], [-1] * 6]], "f4"), np.array([1])])],
    "non_max_suppression": [
        ([RECORDS, np.array([3])], {}, lambda r, n: np.concatenate([r[:, [0, 2]], np.full((1, 2, 6), -1, "f4")], 1)),
        ([RECORDS, np.array([4])], {"force_suppress": True, "iou_threshold": 1.0},
         lambda r, n: np.concatenate([r[:, [0, 3, 1]], np.full((1, 1, 6), -1, "f4")], 1)),
    ],
    "yolo_reorg": [([f(2, 8, 4, 6)], {"stride": 2}, lambda x: reorg(x, 2))],
    "yolo_region": [([f(1, 16, 2, 3)], {"n": 2, "classes": 3}, lambda x: region(x, 2, 3))],
}  # fmt: skip
UNARY = {
    "relu": lambda x: np.maximum(x, 0), "tanh": np.tanh, "sigmoid": sigmoid, "exp": np.exp, "log": np.log,
    "sqrt": np.sqrt, "copy": np.copy, "block_grad": np.copy, "negative": np.negative, "floor": np.floor,
    "ceil": np.ceil, "round": np.rint, "trunc": np.trunc, "abs": np.abs,
}  # fmt: skip
ARITHMETIC = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "mod": np.mod, "pow": np.power,
}  # fmt: skip
COMPARISONS = {
    "greater": np.greater, "less": np.less, "equal": np.equal, "not_equal": np.not_equal,
    "greater_equal": np.greater_equal, "less_equal": np.less_equal,
}  # fmt: skip
CASES |= {name: [([P], {}, function)] for name, function in UNARY.items()}
CASES |= {f"elemwise_{name}": [([P, P * 2], {}, function)] for name, function in ARITHMETIC.items()}
CASES |= {f"broadcast_{name}": [([P, np.abs(ROW)], {}, function)] for name, function in ARITHMETIC.items()}
CASES |= {
    f"broadcast_{name}": [([N, M], {}, function)]
    for name, function in {
        "max": np.maximum, "min": np.minimum, "left_shift": np.left_shift, "right_shift": np.right_shift,
    }.items()
}  # fmt: skip
CASES |= {
    name: [([N, M], {}, lambda a, b, f=function: f(a, b).astype("int32"))]
    for short, function in COMPARISONS.items()
    for name in ([f"broadcast_{short}", short] if short in ("greater", "less") else [f"broadcast_{short}"])
}
CASES |= {
    f"__{name}_scalar__": [([P], {"scalar": 1.5}, lambda x, f=ARITHMETIC[name]: f(x, np.float32(1.5)))]
    for name in ("add", "sub", "mul", "div", "pow")
}
CASES |= {
    f"__r{name}_scalar__": [([P], {"scalar": 1.5}, lambda x, f=ARITHMETIC[name]: f(np.float32(1.5), x))]
    for name in ("sub", "div", "pow")
}
CASES |= {
    "__lshift_scalar__": [([N], {"scalar": 2}, lambda x: x << 2)],
    "__rshift_scalar__": [([N], {"scalar": 1}, lambda x: x >> 1)],
}
CASES |= {
    f"__{name}_scalar__": [([N], {"scalar": 3}, lambda x, f=function: f(x, 3).astype("int32"))]
    for name, function in COMPARISONS.items()
}


def test_every_function_has_a_case() -> None:
    assert set(CASES) == set(sym.FUNCTIONS)


@pytest.mark.parametrize(
    ("name", "inputs", "attributes", "function"),
    [pytest.param(name, *case, id=f"{name}-{i}") for name, cases in CASES.items() for i, case in enumerate(cases)],
)
def test_values(name, inputs, attributes, function) -> None:
    variables = [sym.Variable(f"x{i}", a.shape, str(a.dtype)) for i, a in enumerate(inputs)]
    net = sym.FUNCTIONS[name](*variables, **attributes)
    graph = sym.to_graph(sym.load_json(sym.save_json(net)), {})
    verify_graph(graph)
    found = list(interpret(graph, {v.name: inputs[int(v.name[1:])] for v in graph.inputs}).values())
    expected = function(*inputs)
    expected = list(expected) if isinstance(expected, list) else [expected]
    assert [(a.dtype, a.shape) for a in found] == [(a.dtype, a.shape) for a in expected]
    for one, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, wanted, rtol=2e-5, atol=1e-6)


X3, PICTURE = sym.Variable("x", (2, 3, 4)), sym.Variable("x", (1, 6, 5, 5))


@pytest.mark.parametrize(
    ("net", "message"),
    [
        (sym.reshape(X3, shape=(0, 0, 0, 0)), "reshape0: a shape with more extents than the data's, "),
        (sym.squeeze(X3, axis=(1,)), "axis expects axes of one element of "),
        (sym.split(X3, indices_or_sections=2)[0], "expected a number of pieces that divides 3, found 2"),
        (sym.argmax(X3, axis=(0, 1)), "expected one axis or all 3, found "),
        (sym.softmax(X3, axis=3), "softmax0: axis expects -3 to 2, found 3"),
        (sym.yolo_reorg(PICTURE, stride=2), "expected extents that stride 2 divides, found "),
        (sym.resize(PICTURE, size=(3, 3), method="BICUBIC"), "method expects one of NEAREST_NEIGHBOR, BILINEAR, found"),
        (sym.conv2d(PICTURE, channels=2, kernel_size=(1, 1), layout="NCWX"), "layout expects an order of NCHW, found"),
        (
            sym.conv2d(PICTURE, channels=2, kernel_size=(1, 1), kernel_layout="OI"),
            "kernel_layout expects an order of O",
        ),
        (sym.conv2d(PICTURE, channels=2, kernel_size=(1, 1), padding=(1,)), "padding expects 2 or 4 numbers, found "),
        (sym.strided_slice(X3, begin=(0,) * 4, end=(1,) * 4), "expected at most 3 begins and ends, found 4, 4"),
        (sym.expand_like(X3, X3, axis=(0,)), "expected 0 axes to add, found "),
        (sym.elemwise_sum(X3, X3, num_args=3), "expected 3 inputs, found 2"),
        (sym.Variable("n", (2,), "int32") + 0.5, "expected a number of type int32, found 0.5"),
    ],
)
def test_attributes_that_do_not_fit_are_refused_with_the_node(net, message) -> None:
    with pytest.raises(ArgumentError, match=message) as caught:
        sym.to_graph(net, {})
    assert any('of network "net"' in note for note in caught.value.__notes__)
