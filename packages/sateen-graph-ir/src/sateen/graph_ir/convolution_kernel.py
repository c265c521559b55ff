"""A convolution as a kernel of its own, in the layouts that it has within a network."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sateen.graph_ir.graph import Array, GraphBuilder, Node, Value
from sateen.graph_ir.kernels import lower_group
from sateen.graph_ir.ops.conv import Conv, WinogradConv
from sateen.graph_ir.ops.fused import Fused
from sateen.graph_ir.passes.choose_convolutions import operator_of
from sateen.graph_ir.types import TensorType
from sateen.tensor_ir import Machine
from sateen.tensor_ir.ir.stmt import Function
from sateen.topi import winograd
from sateen.topi.contract import infer
from sateen.topi.convolution import Method, Problem
from sateen.topi.layout_conversion import pack, unpack

NAME = "convolution"
"""Of the function."""


@dataclass(frozen=True, slots=True, eq=False)
class ConvolutionKernel:
    """A function of data, weight, bias and output, in this order, and their types."""

    function: Function
    operator: Conv | WinogradConv
    inputs: tuple[TensorType, ...]
    output: TensorType

    def arguments(self, data: Array, weight: Array, bias: Array) -> list[Array]:
        """The arrays of a problem, row-major, as the function takes them."""
        if isinstance(self.operator, WinogradConv):
            weight = winograd.transformed(weight, self.operator.transform)
        return [pack(a, t.memory_layout) for a, t in zip((data, weight, bias), self.inputs, strict=True)]

    def result(self, output: Array) -> Array:
        """What the function wrote, row-major."""
        return unpack(output, self.output.static_shape, self.output.memory_layout)


def convolution_kernel(problem: Problem, method: Method | None, machine: Machine) -> ConvolutionKernel:
    """The kernel that computes a convolution and adds a bias; without a method, in the tile that suits the shapes."""
    window = problem.window
    direct = Conv(window.strides, window.pads, window.dilations)
    operator = direct if method is None else operator_of(direct, method)
    outputs, channels, *kernel = problem.weight
    if isinstance(operator, WinogradConv):
        kernel = [operator.transform.weights] * 2
    given = [TensorType.of("float32", shape) for shape in (problem.data, (outputs, channels, *kernel), (outputs,))]
    results = infer(operator, given)
    choice = next(iter(operator.layouts(given, results, machine)))
    inputs = tuple(replace(t, layout=layout) for t, layout in zip(given, choice.inputs, strict=True))
    (output,) = (replace(t, layout=layout) for t, layout in zip(results, choice.outputs, strict=True))
    builder = GraphBuilder(NAME)
    values = tuple(builder.declare(Value(n, t)) for n, t in zip(("data", "weight", "bias"), inputs, strict=True))
    builder.output(*builder.append(Node(operator, values, (Value("result", output),))).outputs)
    body = builder.finish()
    function = lower_group(Node(Fused(body), body.inputs, body.outputs), NAME, machine)
    return ConvolutionKernel(function, operator, inputs, output)
