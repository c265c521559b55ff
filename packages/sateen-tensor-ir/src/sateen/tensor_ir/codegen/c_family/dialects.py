"""The languages of the C family as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sateen.tensor_ir.codegen.c_family.identifiers import is_reserved
from sateen.tensor_ir.functions import FUNCTIONS, Lack, MathFunction
from sateen.tensor_ir.functions.spelling import CSpelling, Routine
from sateen.tensor_ir.intrinsics import TensorIntrinsic
from sateen.tensor_ir.intrinsics.code import StatementText
from sateen.tensor_ir.lowering.expand_calls import IntrinsicRules
from sateen.tensor_ir.lowering.pipelines import Calls


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Dialect:
    """A language: its names of sateen's types, and how it writes functions and instructions (None: not at all).

    `float_suffix` distinguishes the float32 functions of its library from those of float64. `routine` are the words
    before the definition of a routine, `own` its own definitions by the names of routines. `lacks` is what functions
    do without. `is_reserved` tells the names that it leaves to nobody.
    """

    name: str
    types: Mapping[str, str]
    spelling: Callable[[MathFunction], CSpelling | None]
    instruction: Callable[[TensorIntrinsic], StatementText | None]
    float_suffix: str = ""
    routine: str = "static inline"
    own: Mapping[str, Routine] = field(default_factory=dict)
    lacks: frozenset[Lack] = frozenset()
    is_reserved: Callable[[str], bool] = is_reserved

    def calls(self, rules: IntrinsicRules) -> Calls:
        """The treatment of calls: those that the language spells are kept, unless the user gives a rule for them."""
        kept = rules.unchanged(f for f in FUNCTIONS.values() if self.spelling(f) is not None)
        return Calls(rules.without(self.lacks), kept)

    def spells(self, intrinsic: TensorIntrinsic) -> bool:
        """Whether it has words for an instruction."""
        return self.instruction(intrinsic) is not None


C99 = Dialect(
    name="C99",
    types={
        **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
        "float32": "float", "float64": "double", "bool": "bool",
    },
    spelling=lambda function: function.c99,
    instruction=lambda intrinsic: intrinsic.c99,
    float_suffix="f",
)  # fmt: skip
