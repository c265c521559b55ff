"""The languages of the C family as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sateen.tensor_ir.functions import FUNCTIONS, MathFunction
from sateen.tensor_ir.functions.spelling import CSpelling
from sateen.tensor_ir.intrinsics import TensorIntrinsic
from sateen.tensor_ir.intrinsics.code import StatementText
from sateen.tensor_ir.lowering.expand_calls import IntrinsicRules
from sateen.tensor_ir.lowering.pipelines import Calls


@dataclass(frozen=True, slots=True, eq=False)
class Dialect:
    """A language: its names of sateen's types, and how it writes functions and instructions (None: not at all).

    `float_suffix` distinguishes the float32 functions of its library from those of float64.
    """

    name: str
    types: Mapping[str, str]
    spelling: Callable[[MathFunction], CSpelling | None]
    instruction: Callable[[TensorIntrinsic], StatementText | None]
    float_suffix: str = ""

    def calls(self, rules: IntrinsicRules) -> Calls:
        """The treatment of calls: those that the language spells are kept, unless the user gives a rule for them."""
        return Calls(rules, rules.unchanged(f for f in FUNCTIONS.values() if self.spelling(f) is not None))

    def spells(self, intrinsic: TensorIntrinsic) -> bool:
        """Whether it has words for an instruction."""
        return self.instruction(intrinsic) is not None


C99 = Dialect(
    "C99",
    {
        **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
        "float32": "float", "float64": "double", "bool": "bool",
    },
    spelling=lambda function: function.c99,
    instruction=lambda intrinsic: intrinsic.c99,
    float_suffix="f",
)  # fmt: skip

OPENCL_C = Dialect(
    "OpenCL C",
    {
        "int8": "char", "int16": "short", "int32": "int", "int64": "long",
        "uint8": "uchar", "uint16": "ushort", "uint32": "uint", "uint64": "ulong",
        "float32": "float", "float64": "double", "bool": "bool",
    },
    spelling=lambda function: function.opencl,
    instruction=lambda intrinsic: intrinsic.opencl,
)  # fmt: skip
