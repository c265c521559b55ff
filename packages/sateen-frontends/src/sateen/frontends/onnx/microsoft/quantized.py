"""Quantised operators, which onnxruntime's quantiser writes, as functions of the standard's operators.

Each follows its description (onnxruntime, docs/ContribOperators.md): the inputs are dequantised, the operator runs in
float32, and the result is quantised. QGemm, like QLinearMatMul, sums in integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import onnx
from onnx import parser

from sateen.frontends.core.inputs import MOST_ARGUMENTS
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.onnx.loading import text
from sateen.frontends.onnx.microsoft.description import Description
from sateen.frontends.onnx.microsoft.standard import as_standard

LEAST_OF_CONCAT = 5
"""The fewest inputs: scale and zero point of the result; data, scale and zero point of a part."""
_FLAGS = {"opset", "transA", "transB"}
"""The attributes that are read here, all integers."""

_BINARY = {"QLinearAdd": "Add", "QLinearMul": "Mul"}
_UNARY = {
    "QLinearLeakyRelu": ("LeakyRelu", {"alpha": "float"}, []),
    "QLinearSigmoid": ("Sigmoid", {}, []),
    "QLinearSoftmax": ("Softmax", {"axis": "int"}, ["opset"]),
}
"""The operator that each applies, the attributes that it hands on, and those that only say whether this is meant."""


def contrib_function(node: onnx.NodeProto) -> onnx.FunctionProto | None:
    """The function that a node of this domain means; None for another operator.

    Raises UnsupportedError for a variant that the function does not cover, and for an unknown attribute.
    """
    operator, count = text(node.op_type, "an operator"), len(node.input)
    if count > MOST_ARGUMENTS:
        raise UnsupportedError(f"more than {MOST_ARGUMENTS} inputs of a node are not supported")
    attributes = {text(attribute.name, "an attribute"): attribute for attribute in node.attribute}
    for name in _FLAGS & attributes.keys():
        if attributes[name].type != onnx.AttributeProto.INT:
            raise UnsupportedError(f"expected an integer as attribute {name!r}")
    if operator in _BINARY:
        function = _binary(operator)
    elif operator in _UNARY:
        function = _unary(operator)
    elif operator == "QLinearConcat":
        if count < LEAST_OF_CONCAT:
            raise UnsupportedError(f"expected at least {LEAST_OF_CONCAT} inputs, found {count}")
        function = _concat(count)
    elif operator in _PLAIN:
        return _PLAIN[operator](node)
    elif operator == "QGemm":
        transposed = tuple(name in attributes and bool(attributes[name].i) for name in ("transA", "transB"))
        function = _gemm(*transposed, count > 6 and bool(node.input[6]))
    else:
        return None
    known = [*function.attribute, *(attribute.name for attribute in function.attribute_proto)]
    if unknown := [name for name in attributes if name not in known]:
        raise UnsupportedError(f"{operator} has no attribute {unknown[0]!r}")
    result = node.input[:2] if operator == "QLinearConcat" else node.input[-2:]
    if count != len(function.input) or not all(result):
        raise UnsupportedError(
            f"expected {len(function.input)} inputs, among them scale and zero point of the result; found {count}"
        )
    if operator == "QLinearSoftmax" and ("opset" not in attributes or attributes["opset"].i < 13):
        raise UnsupportedError("Softmax as before operator set 13 is not supported", "convert the model to a newer one")
    return function


def _product_in_float(node: onnx.NodeProto) -> onnx.FunctionProto:
    """The product of the centred integers, scaled in float32, with a bias in float32."""
    given = [*node.input, *[""] * (7 - len(node.input))]
    return _function(
        "MatMulIntegerToFloat (A, B, a_scale, b_scale, a_zero_point, b_zero_point, bias) => (Y)",
        f"product = MatMulInteger(A, B{', a_zero_point' if given[4] else ', '}{', b_zero_point' if given[5] else ''})",
        *_scaled_product(bool(given[6])),
    )


def _dynamic_product(node: onnx.NodeProto) -> onnx.FunctionProto:
    """A is quantised by its own range."""
    given = [*node.input, *[""] * (5 - len(node.input))]
    return _function(
        "DynamicQuantizeMatMul (A, B, b_scale, b_zero_point, bias) => (Y)",
        "a, a_scale, a_zero_point = DynamicQuantizeLinear(A)",
        f"product = MatMulInteger(a, B, a_zero_point{', b_zero_point' if given[3] else ''})",
        *_scaled_product(bool(given[4])),
    )


def _scaled_product(has_bias: bool) -> list[str]:
    return [
        "scale = Mul(a_scale, b_scale)",
        "total = Cast <to = 1> (product)",
        *(["scaled = Mul(total, scale)", "Y = Add(scaled, bias)"] if has_bias else ["Y = Mul(total, scale)"]),
    ]


def _where(_: onnx.NodeProto) -> onnx.FunctionProto:
    return _function(
        "QLinearWhere (condition, X, x_scale, x_zero, Y, y_scale, y_zero, z_scale, z_zero) => (Z)",
        "x = DequantizeLinear(X, x_scale, x_zero)",
        "y = DequantizeLinear(Y, y_scale, y_zero)",
        "z = Where(condition, x, y)",
        "Z = QuantizeLinear(z, z_scale, z_zero)",
    )


def _mean(_: onnx.NodeProto) -> onnx.FunctionProto:
    return _function(
        "QLinearReduceMean <axes, keepdims> (X, x_scale, x_zero, y_scale, y_zero) => (Y)",
        "x = DequantizeLinear(X, x_scale, x_zero)",
        "places = Constant <value_ints: ints = @axes> ()",
        "y = ReduceMean <keepdims: int = @keepdims> (x, places)",
        "Y = QuantizeLinear(y, y_scale, y_zero)",
    )


_PLAIN = {
    "DynamicQuantizeMatMul": _dynamic_product,
    "MatMulIntegerToFloat": _product_in_float,
    "QLinearReduceMean": _mean,
    "QLinearWhere": _where,
}
"""The functions of operators whose variants all work."""


@cache
def _binary(operator: str) -> onnx.FunctionProto:
    return _function(
        f"{operator} (A, A_scale, A_zero_point, B, B_scale, B_zero_point, C_scale, C_zero_point) => (C)",
        "a = DequantizeLinear(A, A_scale, A_zero_point)",
        "b = DequantizeLinear(B, B_scale, B_zero_point)",
        f"c = {_BINARY[operator]}(a, b)",
        "C = QuantizeLinear(c, C_scale, C_zero_point)",
    )


@cache
def _unary(operator: str) -> onnx.FunctionProto:
    applied, handed_on, others = _UNARY[operator]
    names = _listed([*handed_on, *others])
    references = _listed([f"{name}: {kind} = @{name}" for name, kind in handed_on.items()])
    return _function(
        f"{operator} {names} (X, X_scale, X_zero_point, Y_scale, Y_zero_point) => (Y)",
        "x = DequantizeLinear(X, X_scale, X_zero_point)",
        f"y = {applied} {references} (x)",
        "Y = QuantizeLinear(y, Y_scale, Y_zero_point)",
    )


@cache
def _concat(count: int) -> onnx.FunctionProto:
    """The inputs are scale and zero point of the result, then data, scale and zero point of each part."""
    parts = range((count - 2) // 3)
    inputs = ["Y_scale", "Y_zero_point", *(f"{name}{i}" for i in parts for name in ("X", "X_scale", "X_zero_point"))]
    return _function(
        f"QLinearConcat <axis> ({', '.join(inputs)}) => (Y)",
        *(f"x{i} = DequantizeLinear(X{i}, X_scale{i}, X_zero_point{i})" for i in parts),
        f"y = Concat <axis: int = @axis> ({', '.join(f'x{i}' for i in parts)})",
        "Y = QuantizeLinear(y, Y_scale, Y_zero_point)",
    )


@cache
def _gemm(transposes_a: bool, transposes_b: bool, has_bias: bool) -> onnx.FunctionProto:
    """The bias is of the scale of the product, alpha · a_scale · b_scale."""
    return _function(
        "QGemm <alpha: float = 1.0, transA, transB> "
        "(A, a_scale, a_zero_point, B, b_scale, b_zero_point, C, y_scale, y_zero_point) => (Y)",
        f"a = {'Transpose <perm = [1, 0]>' if transposes_a else 'Identity'} (A)",
        f"b = {'Transpose <perm = [1, 0]>' if transposes_b else 'Identity'} (B)",
        "product = MatMulInteger(a, b, a_zero_point, b_zero_point)",
        f"sum = {'Add(product, C)' if has_bias else 'Identity(product)'}",
        "alpha = Constant <value_float: float = @alpha> ()",
        "scales = Mul(a_scale, b_scale)",
        "scale = Mul(scales, alpha)",
        "total = Cast <to = 1> (sum)",
        "y = Mul(total, scale)",
        "Y = QuantizeLinear(y, y_scale, y_zero_point)",
    )


def _listed(attributes: Sequence[str]) -> str:
    return f"<{', '.join(attributes)}>" if attributes else ""


def _function(head: str, *nodes: str) -> onnx.FunctionProto:
    body = "\n".join(nodes)
    return parser.parse_function(f'<opset_import: ["" : 21], domain: "com.microsoft"> {head} {{\n{body}\n}}')


_SCALED = "x:any scale zero_point:any?"
QUANTIZED: dict[str, Description] = {
    "DequantizeLinear": Description(as_standard("DequantizeLinear"), _SCALED, 1, {"axis": 1}),
    "QuantizeLinear": Description(as_standard("QuantizeLinear"), _SCALED, 1, {"axis": 1}),
}
FUNCTIONS = frozenset({*_BINARY, *_UNARY, *_PLAIN, "QGemm", "QLinearConcat"})
"""The operators that `contrib_function` knows."""
