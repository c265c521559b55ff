"""Functions of keras.ops that Keras 3 keeps as layers of a network.

Sources: keras/src/ops and keras/src/backend/tensorflow/{numpy,math,nn,core}.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sateen.frontends.core.einsum import einsum
from sateen.frontends.core.node import Converter
from sateen.frontends.core.operands import Operand, normal_axis, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.keras.converters.activations import FUNCTIONS
from sateen.frontends.keras.converters.indexing import indexed
from sateen.frontends.keras.converters.operands import FLOAT32, axes_of, integer, integers, tensor, tensors
from sateen.frontends.keras.converters.reshaping import resize, resolved
from sateen.frontends.keras.converters.structure import reversed_along
from sateen.frontends.keras.node import KerasNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import Cast, Concat, Multiply, Reshape, Split, Subtract, Transpose, Where
from sateen.runtime.dtype import DType
from sateen.runtime.errors import ArgumentError, FrontendError
from sateen.topi.operators import Operator

INT32 = DType.of("int32")
BOOL = DType.of("bool")


def unary(op: Operator) -> Converter[KerasNode]:
    """A function of floating-point numbers; integers become float32."""

    def convert(node: KerasNode) -> Operand:
        data = node.raw(0)
        return node.result(op, data if data.type.dtype.is_float else tensor(node, data, FLOAT32))

    return convert


def plain(op: Operator) -> Converter[KerasNode]:
    """A function of numbers of any type."""
    return lambda node: node.result(op, node.raw(0))


def binary(op: Operator, *, as_float: bool = False) -> Converter[KerasNode]:
    """A function of two tensors, or a tensor and a number."""

    def convert(node: KerasNode) -> Operand:
        return node.result(op, *tensors(node, *both(node), as_float=as_float))

    return convert


def both(node: KerasNode) -> tuple[Any, Any]:
    """The two arguments of a function."""
    return node.argument(0, "x1", node.argument(0, "x")), node.argument(1, "x2", node.argument(1, "y"))


def logical(op: Operator) -> Converter[KerasNode]:
    """A function of truth values: numbers are true where they are not 0."""
    return lambda node: node.result(op, *(_truth(node, one) for one in both(node)))


def _truth(node: KerasNode, given: Any) -> Value:
    data = tensors(node, given)[0]
    return data if data.type.dtype.is_bool else node.step(ops.NotEqual(), data, node.literal(0, data.type.dtype))


def _logical_not(node: KerasNode) -> Operand:
    return node.result(ops.Not(), _truth(node, node.raw(0)))


def _true_divide(node: KerasNode) -> Operand:
    return node.result(ops.Divide(), *tensors(node, *both(node), as_float=True))


def _floor_divide(node: KerasNode) -> Operand:
    left, right = tensors(node, *both(node))
    if left.type.dtype.is_float:
        return node.result(ops.Floor(), node.step(ops.Divide(), left, right))
    return node.result(ops.FloorDivide(), left, right)


def _modulo(node: KerasNode) -> Operand:
    """The remainder with the sign of the divisor (FloorMod of TensorFlow)."""
    left, right = tensors(node, *both(node))
    if not left.type.dtype.is_float:
        return node.result(ops.Modulo(), left, right)
    rest, zero = node.step(ops.Modulo(fmod=True), left, right), node.literal(0, left.type.dtype)
    differs = node.step(ops.Xor(), node.step(ops.Less(), rest, zero), node.step(ops.Less(), right, zero))
    moves = node.step(ops.And(), differs, node.step(ops.NotEqual(), rest, zero))
    return node.result(Where(), moves, node.step(ops.Add(), rest, right), rest)


def _square(node: KerasNode) -> Operand:
    return node.result(Multiply(), node.raw(0), node.raw(0))


def _reciprocal_root(node: KerasNode) -> Operand:
    return node.result(ops.Reciprocal(), node.step(ops.Sqrt(), *tensors(node, node.raw(0), as_float=True)))


def _round(node: KerasNode) -> Operand:
    if node.setting("decimals", 0) != 0:
        raise UnsupportedError("rounding to decimals is not supported", "round to integers")
    return node.result(ops.Round(), node.raw(0))


def activation(name: str, **known: Any) -> Converter[KerasNode]:
    """A function that is an activation too; with settings other than the usual ones it is refused."""

    def convert(node: KerasNode) -> Operand:
        for setting, usual in known.items():
            if node.setting(setting, usual) != usual:
                raise UnsupportedError(f"{setting}={node.setting(setting, usual)!r} is not supported", "use a layer")
        data = node.raw(0)
        return FUNCTIONS[name](node, node.result, data if data.type.dtype.is_float else tensor(node, data, FLOAT32))

    return convert


def _gelu(node: KerasNode) -> Operand:
    return node.result(ops.Gelu(approximate="tanh" if node.setting("approximate", True) else "none"), node.raw(0))


def _softmax(make: Callable[[int], Operator]) -> Converter[KerasNode]:
    return lambda node: node.result(make(normal_axis(node.setting("axis", -1), node.rank(0))), node.raw(0))


def reduction(make: Callable[..., Operator], *, as_float: bool = False) -> Converter[KerasNode]:
    """A reduction over axes; None stands for all of them."""

    def convert(node: KerasNode) -> Operand:
        (data,) = tensors(node, node.raw(0), as_float=as_float)
        axes, keepdims = reduced(node, data)
        return node.result(make(axes=axes, keepdims=keepdims), data)

    return convert


def reduced(node: KerasNode, data: Value) -> tuple[tuple[int, ...], bool]:
    """The axes of a reduction, and whether they stay with extents of 1."""
    for setting in ("initial", "dtype", "weights"):
        if node.setting(setting, None) is not None:
            raise UnsupportedError(f"a reduction with {setting} is not supported", f"leave out {setting}")
    return axes_of(node.setting("axis", None), data.type.rank), bool(node.setting("keepdims", False))


def _variance(node: KerasNode, emit: Callable[..., Value]) -> Value:
    (data,) = tensors(node, node.raw(0), as_float=True)
    axes, keepdims = reduced(node, data)
    apart = node.step(Subtract(), data, node.step(ops.ReduceMean(axes=axes, keepdims=True), data))
    return emit(ops.ReduceMean(axes=axes, keepdims=keepdims), node.step(Multiply(), apart, apart))


def _holds(make: Callable[..., Operator]) -> Converter[KerasNode]:
    """Whether any or all elements along axes are true: the largest or smallest of truth values."""

    def convert(node: KerasNode) -> Operand:
        data = _truth(node, node.raw(0))
        axes, keepdims = reduced(node, data)
        return node.result(make(axes=axes, keepdims=keepdims), data)

    return convert


def _position(make: Callable[..., Operator]) -> Converter[KerasNode]:
    """The position of an extremum as int32; without an axis in the flattened data."""

    def convert(node: KerasNode) -> Operand:
        data, axis, keepdims = node.raw(0), node.setting("axis", None), bool(node.setting("keepdims", False))
        if axis is None:
            raise UnsupportedError("a position in flattened data is not supported", "give an axis")
        op = make(axis=normal_axis(axis, data.type.rank), keepdims=keepdims)
        return node.result(Cast(INT32), node.step(op, data))

    return convert


def _cast(node: KerasNode) -> Operand:
    return cast_to(node, node.setting("dtype", None))


def cast_to(node: KerasNode, name: Any) -> Operand:
    try:
        dtype = DType.of(str(name))
    except ArgumentError:
        raise UnsupportedError(f"the type {name!r} is not supported", "use numbers or bool") from None
    return node.operand(0) if dtype == node.dtype(0) else node.result(Cast(dtype), node.raw(0))


def _reshape(node: KerasNode) -> Operand:
    data = node.raw(0)
    wanted = integers(node.setting("newshape", node.argument(1, "newshape")), "newshape")
    return node.result(Reshape(resolved(data.type.shape, wanted)), data)


def _transpose(node: KerasNode) -> Operand:
    rank, given = node.rank(0), node.setting("axes", None)
    return node.result(
        Transpose(tuple(reversed(range(rank))) if given is None else integers(given, "axes")), node.raw(0)
    )


def _swap_axes(node: KerasNode) -> Operand:
    rank = node.rank(0)
    one, other = (normal_axis(integer(node.setting(name, None), name), rank) for name in ("axis1", "axis2"))
    order = list(range(rank))
    order[one], order[other] = other, one
    return node.result(Transpose(tuple(order)), node.raw(0))


def _concatenate(node: KerasNode) -> Operand:
    values = tensors(node, *node.argument(0, "xs"))
    return node.result(Concat(normal_axis(node.setting("axis", 0), values[0].type.rank)), *values)


def _stack(node: KerasNode) -> Operand:
    values = tensors(node, *node.argument(0, "x", node.argument(0, "xs")))
    rank = values[0].type.rank
    axis = normal_axis(node.setting("axis", 0), rank + 1)
    shape = values[0].type.shape
    widened = [node.step(Reshape((*shape[:axis], 1, *shape[axis:])), value) for value in values]
    return node.result(Concat(axis), *widened)


def _split(node: KerasNode) -> tuple[Operand, ...]:
    """Equal parts, or parts that end at indices."""
    data, given = node.raw(0), node.setting("indices_or_sections", None)
    axis = normal_axis(node.setting("axis", 0), data.type.rank)
    (extent,) = static_extents(data.type.shape[axis : axis + 1], node.described(0))
    if isinstance(given, int):
        if given < 1 or extent % given:
            raise FrontendError(f"expected a number of parts that divides {extent}, found {given}")
        sizes = (extent // given,) * given
    else:
        ends = (*integers(given, "indices_or_sections"), extent)
        sizes = tuple(end - start for start, end in zip((0, *ends), ends, strict=False))
    return node.results(Split(axis, sizes), data, count=len(sizes))


def _expand_dims(node: KerasNode) -> Operand:
    data = node.raw(0)
    shape: list[Any] = list(data.type.shape)
    axes = axes_of(node.setting("axis", None), data.type.rank + len(integers(node.setting("axis", None), "axis")))
    for axis in axes:
        shape.insert(axis, 1)
    return node.result(Reshape(tuple(shape)), data)


def _squeeze(node: KerasNode) -> Operand:
    data, given = node.raw(0), node.setting("axis", None)
    shape = data.type.shape
    ones = [axis for axis, extent in enumerate(shape) if extent == 1]
    axes = ones if given is None else axes_of(given, len(shape))
    if any(shape[axis] != 1 for axis in axes):
        raise FrontendError(f"expected extents of 1 along axes {list(axes)}, found {data.type}")
    return node.result(Reshape(tuple(n for axis, n in enumerate(shape) if axis not in axes)), data)


def _pad(node: KerasNode) -> Operand:
    data, rank = node.raw(0), node.rank(0)
    pads, mode = node.setting("pad_width", None), node.setting("mode", "constant")
    pairs = [integers(one, "pad_width") for one in pads] if isinstance(pads, list) else []
    if len(pairs) == 1:
        pairs *= rank
    known = {"constant": "constant", "reflect": "reflect", "symmetric": "symmetric"}
    if len(pairs) != rank or any(len(pair) != 2 for pair in pairs) or mode not in known:
        raise UnsupportedError(f"padding {pads!r} of mode {mode!r} is not supported", "give two numbers for each axis")
    value = node.argument(1, "constant_values") or 0
    if not isinstance(value, (int, float)):
        raise UnsupportedError("padding with a computed number is not supported", "give a number")
    margins = (*(begin for begin, _ in pairs), *(end for _, end in pairs))
    return node.result(ops.Pad(known[mode], margins, float(value)), data)


def _tile(node: KerasNode) -> Operand:
    repeats = integers(node.setting("repeats", None), "repeats")
    data, rank = node.raw(0), max(node.rank(0), len(repeats))
    if data.type.rank < rank:
        data = node.step(Reshape((*(1,) * (rank - data.type.rank), *data.type.shape)), data)
    return node.result(ops.Tile((*(1,) * (rank - len(repeats)), *repeats)), data)


def _repeat(node: KerasNode) -> Operand:
    """Each element along an axis, several times."""
    data, count, axis = node.raw(0), node.setting("repeats", None), node.setting("axis", None)
    if type(count) is not int or type(axis) is not int:
        raise UnsupportedError("repeating without one number and an axis is not supported", "use tile or a reshape")
    axis = normal_axis(axis, data.type.rank)
    shape = data.type.shape
    widened = node.step(Reshape((*shape[: axis + 1], 1, *shape[axis + 1 :])), data)
    spread = node.step(ops.BroadcastTo((*shape[: axis + 1], count, *shape[axis + 1 :])), widened)
    return node.result(Reshape((*shape[:axis], shape[axis] * count, *shape[axis + 1 :])), spread)


def _clip(node: KerasNode) -> Operand:
    low, high = (node.setting(name, node.argument(i, name)) for i, name in ((1, "x_min"), (2, "x_max")))
    if not isinstance(low, (int, float)) or not isinstance(high, (int, float)):
        raise UnsupportedError("bounds that are computed are not supported", "use maximum and minimum")
    return node.result(ops.Clip(low=float(low), high=float(high)), node.raw(0))


def _where(node: KerasNode) -> Operand:
    condition = node.argument(0, "condition")
    return node.result(Where(), _truth(node, condition), *tensors(node, node.argument(1, "x1"), node.argument(2, "x2")))


def _einsum(node: KerasNode) -> Operand:
    equation = node.setting("subscripts", None)
    if not isinstance(equation, str):
        raise FrontendError(f"expected subscripts, found {equation!r}")
    return node.result(*einsum(node, equation, tensors(node, *(node.raw(i) for i in range(node.input_count)))))


def _matmul(node: KerasNode) -> Operand:
    left, right = tensors(node, *both(node))
    if min(left.type.rank, right.type.rank) < 2:
        raise UnsupportedError("a product with a vector is not supported", "make it a matrix")
    return node.result(ops.MatMul(), left, right)


def _take(node: KerasNode) -> Operand:
    data, axis = node.argument(0, "x"), node.setting("axis", None)
    indices = node.argument(1, "indices")
    if type(axis) is not int or not isinstance(data, Value):
        raise UnsupportedError("taking from flattened data is not supported", "give an axis")
    if not isinstance(indices, Value):
        indices = tensor(node, integers(indices, "indices"), INT32)
    return node.result(ops.Gather(normal_axis(axis, data.type.rank)), data, indices)


def _flip(node: KerasNode) -> Operand:
    data = node.raw(0)
    *before, last = axes_of(node.setting("axis", None), data.type.rank)
    for axis in before:
        data = node.step(reversed_along(axis, data.type.shape), data)
    return node.result(reversed_along(last, data.type.shape), data)


def _running(make: Callable[[int], Operator]) -> Converter[KerasNode]:
    def convert(node: KerasNode) -> Operand:
        if node.setting("dtype", None) is not None or type(node.setting("axis", None)) is not int:
            raise UnsupportedError(
                "a running sum without an axis, or of another type, is not supported", "give an axis"
            )
        return node.result(make(normal_axis(node.setting("axis", 0), node.rank(0))), node.raw(0))

    return convert


def _normalize(node: KerasNode) -> Operand:
    """x / sqrt(Σ x²), at most 1e12 times x (`_normalize` of keras/src/ops/nn.py)."""
    if node.setting("order", 2) != 2:
        raise UnsupportedError("norms of other orders than 2 are not supported", "use order 2")
    data, least = node.raw(0), node.setting("epsilon", None)
    epsilon = 1e-7 if least is None else float(least)
    axes = axes_of(node.setting("axis", -1), data.type.rank)
    square = node.step(ops.ReduceSum(axes=axes, keepdims=True), node.step(Multiply(), data, data))
    length = node.step(ops.Sqrt(), square)
    return node.result(ops.Divide(), data, node.step(ops.Maximum(), length, node.literal(epsilon, data.type.dtype)))


def _broadcast_to(node: KerasNode) -> Operand:
    shape = integers(node.setting("shape", None), "shape")
    return node.result(ops.BroadcastTo(shape), node.raw(0))


def _get_item(node: KerasNode) -> Operand:
    return indexed(node, node.raw(0), node.argument(1, "key"))


def _ravel(node: KerasNode) -> Operand:
    data = node.raw(0)
    return node.result(Reshape(resolved(data.type.shape, (-1,))), data)


def _filled(number: float) -> Converter[KerasNode]:
    """A tensor of one number, of the shape of another."""

    def convert(node: KerasNode) -> Operand:
        data = node.raw(0)
        name = node.setting("dtype", None)
        dtype = data.type.dtype if name is None else DType.of(str(name))
        return node.result(ops.BroadcastTo(data.type.shape), node.literal(number, dtype))

    return convert


OPERATIONS: Mapping[str, Converter[KerasNode]] = {
    "ops.Absolute": plain(ops.Abs()),
    "ops.Add": binary(ops.Add()),
    "ops.All": _holds(ops.ReduceMin),
    "ops.Any": _holds(ops.ReduceMax),
    "ops.Arccos": unary(ops.Acos()),
    "ops.Arccosh": unary(ops.Acosh()),
    "ops.Arcsin": unary(ops.Asin()),
    "ops.Arcsinh": unary(ops.Asinh()),
    "ops.Arctan": unary(ops.Atan()),
    "ops.Arctan2": binary(ops.Atan2(), as_float=True),
    "ops.Arctanh": unary(ops.Atanh()),
    "ops.Argmax": _position(ops.ArgMax),
    "ops.Argmin": _position(ops.ArgMin),
    "ops.BroadcastTo": _broadcast_to,
    "ops.Cast": _cast,
    "ops.Ceil": unary(ops.Ceil()),
    "ops.Celu": activation("celu", alpha=1.0),
    "ops.Clip": _clip,
    "ops.Concatenate": _concatenate,
    "ops.Cos": unary(ops.Cos()),
    "ops.Cosh": unary(ops.Cosh()),
    "ops.Cumprod": _running(ops.CumProd),
    "ops.Cumsum": _running(ops.CumSum),
    "ops.Divide": _true_divide,
    "ops.Einsum": _einsum,
    "ops.Elu": activation("elu", alpha=1.0),
    "ops.Equal": binary(ops.Equal()),
    "ops.Erf": unary(ops.Erf()),
    "ops.Exp": unary(ops.Exp()),
    "ops.ExpandDims": _expand_dims,
    "ops.Expm1": unary(ops.Expm1()),
    "ops.Flip": _flip,
    "ops.Floor": unary(ops.Floor()),
    "ops.FloorDivide": _floor_divide,
    "ops.Gelu": _gelu,
    "ops.GetItem": _get_item,
    "ops.Greater": binary(ops.Greater()),
    "ops.GreaterEqual": binary(ops.GreaterEqual()),
    "ops.HardSigmoid": activation("hard_sigmoid"),
    "ops.HardSilu": activation("hard_silu"),
    "ops.HardTanh": activation("hard_tanh"),
    "ops.Isinf": plain(ops.IsInf()),
    "ops.Isnan": plain(ops.IsNaN()),
    "ops.LeakyRelu": activation("leaky_relu", negative_slope=0.2),
    "ops.Less": binary(ops.Less()),
    "ops.LessEqual": binary(ops.LessEqual()),
    "ops.Log": unary(ops.Log()),
    "ops.Log1p": unary(ops.Log1p()),
    "ops.LogSigmoid": activation("log_sigmoid"),
    "ops.LogSoftmax": _softmax(ops.LogSoftmax),
    "ops.LogicalAnd": logical(ops.And()),
    "ops.LogicalNot": _logical_not,
    "ops.LogicalOr": logical(ops.Or()),
    "ops.LogicalXor": logical(ops.Xor()),
    "ops.Logsumexp": reduction(ops.ReduceLogSumExp, as_float=True),
    "ops.Matmul": _matmul,
    "ops.Max": reduction(ops.ReduceMax),
    "ops.Maximum": binary(ops.Maximum()),
    "ops.Mean": reduction(ops.ReduceMean, as_float=True),
    "ops.Min": reduction(ops.ReduceMin),
    "ops.Minimum": binary(ops.Minimum()),
    "ops.Mish": activation("mish"),
    "ops.Mod": _modulo,
    "ops.Multiply": binary(Multiply()),
    "ops.Negative": plain(ops.Negative()),
    "ops.Normalize": _normalize,
    "ops.NotEqual": binary(ops.NotEqual()),
    "ops.OnesLike": _filled(1),
    "ops.Pad": _pad,
    "ops.Power": binary(ops.Power()),
    "ops.Prod": reduction(ops.ReduceProd),
    "ops.Ravel": _ravel,
    "ops.Reciprocal": unary(ops.Reciprocal()),
    "ops.Relu": plain(ops.Relu()),
    "ops.Relu6": activation("relu6"),
    "ops.Repeat": _repeat,
    "ops.Reshape": _reshape,
    "ops.Resize": resize,
    "ops.Round": _round,
    "ops.Rsqrt": _reciprocal_root,
    "ops.Selu": activation("selu"),
    "ops.Sigmoid": unary(ops.Sigmoid()),
    "ops.Sign": plain(ops.Sign()),
    "ops.Silu": activation("silu"),
    "ops.Sin": unary(ops.Sin()),
    "ops.Sinh": unary(ops.Sinh()),
    "ops.Softmax": _softmax(ops.Softmax),
    "ops.Softplus": unary(ops.Softplus()),
    "ops.Softsign": unary(ops.Softsign()),
    "ops.Split": _split,
    "ops.Sqrt": unary(ops.Sqrt()),
    "ops.Square": _square,
    "ops.Squeeze": _squeeze,
    "ops.Stack": _stack,
    "ops.Std": lambda node: node.result(ops.Sqrt(), _variance(node, node.step)),
    "ops.Subtract": binary(Subtract()),
    "ops.Sum": reduction(ops.ReduceSum),
    "ops.Swapaxes": _swap_axes,
    "ops.Take": _take,
    "ops.Tan": unary(ops.Tan()),
    "ops.Tanh": unary(ops.Tanh()),
    "ops.Tile": _tile,
    "ops.Transpose": _transpose,
    "ops.TrueDivide": _true_divide,
    "ops.Trunc": unary(ops.Trunc()),
    "ops.Var": lambda node: _variance(node, node.result),
    "ops.Where": _where,
    "ops.ZerosLike": _filled(0),
}
