"""Nodes that work element by element or along axes: arithmetic, comparisons, conversions, reductions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import helper
from random_graphs import ALL, FLOATS, INTEGERS, NUMBERS, SIGNED, UNSIGNED, Drawing, Value, numpy_type


def fixed(d: Drawing, value: Value) -> bool:
    """Whether the data of a value are the same whenever it is computed."""
    return value.is_known or not d.is_repeated


UNARY: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("Abs", "Sign"), NUMBERS),
    **dict.fromkeys(("Neg", "Relu"), FLOATS + SIGNED),
    **dict.fromkeys(("Ceil", "Floor", "Round", "Reciprocal", "Exp", "Sigmoid", "Tanh", "Erf", "Sqrt", "Log"), FLOATS),
    **dict.fromkeys(
        ("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cos", "Cosh", "Sin", "Sinh", "Tan", "Celu", "Elu",
         "HardSigmoid", "HardSwish", "LeakyRelu", "Mish", "Selu", "Softplus", "Softsign", "ThresholdedRelu", "Gelu"),
        FLOATS,
    ),
    "Shrink": NUMBERS,
    "Not": ("bool",),
    "BitwiseNot": INTEGERS,
    "IsNaN": FLOATS,
    "IsInf": ("float32", "float64", "float16", "bfloat16"),
    "Identity": ALL,
    "Dropout": FLOATS,
}  # fmt: skip
_WITHIN = {"Acos": "Tanh", "Asin": "Sin", "Atanh": "Tanh", "Log": "Abs", "Sqrt": "Abs", "Exp": "Tanh", "Cosh": "Sin",
           "Sinh": "Sin", "Tan": "Atan", "Reciprocal": "Exp"}  # fmt: skip
"""Operators that keep the input of another where it is defined or not huge."""
_NUMBERS_OF: dict[str, dict[str, tuple[float, ...]]] = {
    "Celu": {"alpha": (0.5, 1.0, 2.0)},
    "Elu": {"alpha": (0.5, 1.0, 2.0)},
    "HardSigmoid": {"alpha": (0.2, 0.5), "beta": (0.3, 0.5)},
    "LeakyRelu": {"alpha": (0.01, 0.2, 1.5, -0.5)},
    "Selu": {"alpha": (1.5, 1.6732632), "gamma": (1.05, 1.0507)},
    "Shrink": {"lambd": (0.0, 0.5, 1.5), "bias": (0.0, 0.5, 1.0)},
    "ThresholdedRelu": {"alpha": (0.0, 0.5, 1.0)},
}


def unary(d: Drawing, operator: str) -> None:
    attributes: dict[str, Any] = {
        name: d.rng.choice(numbers) for name, numbers in _NUMBERS_OF.get(operator, {}).items() if d.chance(0.6)
    }
    if operator == "IsInf":
        attributes = {"detect_negative": d.rng.randrange(2), "detect_positive": d.rng.randrange(2)}
    if operator == "Gelu":
        attributes = {"approximate": d.rng.choice(("none", "tanh"))}
    x = d.take(UNARY[operator])
    if operator in _WITHIN and d.chance(0.7):
        x = d.add(_WITHIN[operator], [x])
    if operator == "Acosh" and d.chance(0.9):
        x = d.add("Add", [d.add("Abs", [x]), d.scalar(1, x.dtype)])
    d.add(operator, [x], **attributes)


def partner(d: Drawing, x: Value, dtypes: Sequence[str] | None = None, **options: Any) -> Value:
    """A value that broadcasts with another one."""
    if d.chance(0.3):
        return d.take(dtypes or (x.dtype,), shape=x.shape, **options)
    shape = [1 if d.chance(0.35) else extent for extent in x.shape][
        d.rng.randrange(x.rank + 1) if d.chance(0.4) else 0 :
    ]
    shape = [d.rng.choice((2, 3, 5)) if x.shape[len(x.shape) - len(shape) + i] == 1 and d.chance(0.3) else extent
             for i, extent in enumerate(shape)]  # fmt: skip
    return d.take(dtypes or (x.dtype,), shape=shape, **options)


BINARY: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Mod"), NUMBERS),
    **dict.fromkeys(("And", "Or", "Xor"), ("bool",)),
    **dict.fromkeys(("BitwiseAnd", "BitwiseOr", "BitwiseXor"), INTEGERS),
    "Equal": ALL,
    **dict.fromkeys(("Greater", "GreaterOrEqual", "Less", "LessOrEqual"), NUMBERS),
    "PRelu": (*FLOATS, "int32", "int64", "uint32", "uint64"),
}


def binary(d: Drawing, operator: str) -> None:
    x = d.take(BINARY[operator])
    attributes: dict[str, Any] = {}
    if operator == "PRelu":
        shape = [1 if d.chance(0.4) else e for e in x.shape][d.rng.randrange(x.rank + 1) :]
        d.add(operator, [x, d.take((x.dtype,), shape=shape)])
        return
    if operator in {"Div", "Mod"} and x.dtype in INTEGERS:
        low = np.iinfo(x.dtype).min

        def divides(v: Value) -> bool:
            return fixed(d, v) and bool(np.all(v.data != 0)) and (low == 0 or not np.any(v.data == -1))

        y = partner(d, x, where=divides)
        if operator == "Mod":
            attributes["fmod"] = d.rng.randrange(2)
    else:
        y = partner(d, x)
        if operator == "Mod":
            attributes["fmod"] = 1
    pair = [x, y] if d.chance(0.7) or "fmod" in attributes or operator == "Div" else [y, x]
    d.add(operator, pair, **attributes)


def shift(d: Drawing, operator: str) -> None:
    x = d.take(UNSIGNED)
    bits = np.iinfo(x.dtype).bits
    y = partner(d, x, where=lambda v: fixed(d, v) and bool(np.all(v.data < bits)))
    d.add(operator, [x, y], direction=d.rng.choice(("LEFT", "RIGHT")))


def power(d: Drawing, operator: str) -> None:
    x = d.take((*FLOATS, "int32", "int64"))
    if x.dtype in INTEGERS:
        y = partner(d, x, where=lambda v: fixed(d, v) and bool(np.all((v.data >= 0) & (v.data < 5))))
    elif d.chance(0.6):
        y = d.scalar(d.rng.choice((0.5, 2, 3, -1, 1, 0, 1.5)), x.dtype)
    else:
        y = partner(d, x, (x.dtype, x.dtype, "int32", "float32"))
    if x.dtype in FLOATS and d.chance(0.7):
        x = d.add("Abs", [x])
    d.add(operator, [x, y])


def variadic(d: Drawing, operator: str) -> None:
    x = d.take(FLOATS if operator in {"Mean", "Sum"} else NUMBERS)
    d.add(operator, [x, *(partner(d, x) for _ in range(d.rng.choice((0, 1, 1, 2, 3))))])


def clip(d: Drawing, operator: str) -> None:
    x = d.take(NUMBERS)
    low, high = (0, 6) if x.dtype in UNSIGNED else d.rng.choice(((-1, 1), (0, 6), (-3, 2), (2, 2)))
    bounds: list[Value | None] = [
        None if d.chance(0.2) else d.scalar(n, x.dtype) if d.chance(0.8) else d.leaf(np.array(n, numpy_type(x.dtype)))
        for n in (low, high)
    ]
    d.add(operator, [x, *bounds])


def where(d: Drawing, operator: str) -> None:
    x = d.take(ALL)
    d.add(operator, [partner(d, x, ("bool",)), x, partner(d, x)])


def fits(data: np.ndarray[Any, Any], to: str) -> bool:
    """Whether each number becomes one of an integer type without leaving its range, by a margin."""
    if to not in INTEGERS or data.dtype.name in (*INTEGERS, "bool"):
        return True
    bounds, wide = np.iinfo(to), data.astype(np.float64)
    return bool(np.all(np.isfinite(wide) & (wide > bounds.min - 0.5) & (wide < bounds.max * 0.99)))


def cast(d: Drawing, operator: str) -> None:
    to = d.dtype(ALL)
    x = d.take(ALL, where=lambda v: fits(v.data, to) and (v.dtype in INTEGERS or to not in INTEGERS or fixed(d, v)))
    if operator == "Cast":
        d.add(operator, [x], to=helper.np_dtype_to_tensor_dtype(numpy_type(to)))
    else:
        d.add(operator, [x, d.take((to,))])


def bit_cast(d: Drawing, operator: str) -> None:
    """To another type of as many bits."""
    x = d.take((*NUMBERS, "bool"))
    alike = [t for t in (*NUMBERS, "bool") if numpy_type(t).itemsize == x.data.itemsize and t != x.dtype]
    to = numpy_type(d.rng.choice([t for t in alike if t != "bool"]))
    d.add(operator, [x], to=helper.np_dtype_to_tensor_dtype(to))


def some_axes(d: Drawing, rank: int) -> list[int]:
    axes = d.rng.sample(range(rank), d.rng.randint(1, rank)) if rank else []
    return [axis - rank if d.chance(0.3) else axis for axis in axes]


REDUCED = ("float32", "float64", "float16", "bfloat16", "int32", "int64", "uint32", "uint64")


def reduction(d: Drawing, operator: str) -> None:
    more = ("int8", "uint8", *(("bool",) if d.opset >= 20 else ())) if operator in {"ReduceMax", "ReduceMin"} else ()
    logarithm = operator in {"ReduceLogSum", "ReduceLogSumExp"}  # of integers the standard says nothing
    x = d.take(FLOATS if logarithm else (*REDUCED, *more))
    if operator == "ReduceLogSum" and d.chance(0.8):
        x = d.add("Abs", [x])
    axes = None if d.chance(0.15) else some_axes(d, x.rank)
    keep = d.rng.choice((None, 0, 1))
    if d.opset >= (13 if operator == "ReduceSum" else 20 if operator in {"ReduceMax", "ReduceMin"} and more else 18):
        given = None if axes is None else d.integers(*axes)
        d.add(operator, [x, given], keepdims=keep, noop_with_empty_axes=d.rng.choice((None, None, 0, 1)))
    else:
        d.add(operator, [x], keepdims=keep, axes=axes or None)


def extremum(d: Drawing, operator: str) -> None:
    x = d.take(
        ("float32", "float64", "float16", "int8", "uint8", "int32", "int64"),
        range(1, 5),
        where=lambda v: 0 not in v.shape,
    )
    last = d.rng.choice((None, 0, 1))
    d.add(
        operator,
        [x],
        axis=d.rng.randrange(-x.rank, x.rank),
        keepdims=d.rng.choice((None, 0, 1)),
        select_last_index=last,
    )


def along_axis(d: Drawing, operator: str) -> None:
    x = d.take(FLOATS, range(1, 5))
    axis = None if d.chance(0.2) else d.rng.randrange(-x.rank, x.rank)
    d.add(operator, [x], axis=axis, p=d.rng.choice((None, 1, 2)) if operator == "LpNormalization" else None)


def cumulative(d: Drawing, operator: str) -> None:
    x = d.take(("float32", "float64", "float16", "bfloat16", "int32", "int64"), range(1, 5))
    axis = d.scalar(d.rng.randrange(-x.rank, x.rank), d.rng.choice(("int32", "int64")))
    d.add(operator, [x, axis], exclusive=d.rng.choice((None, 1)), reverse=d.rng.choice((None, 1)))


def top_k(d: Drawing, operator: str) -> None:
    x = d.take(NUMBERS, range(1, 5), where=lambda v: min(v.shape) > 0)
    axis = d.rng.randrange(-x.rank, x.rank)
    k = d.integers(d.rng.randint(0 if d.chance(0.1) else 1, x.shape[axis]))
    d.add_many(operator, [x, k], 2, axis=axis, largest=d.rng.choice((None, 0, 1)))
