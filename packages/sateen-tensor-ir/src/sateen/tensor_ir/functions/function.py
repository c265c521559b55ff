"""A function of numbers as one value: its operands, meaning and code. Interpreters and emitters read it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from sateen.runtime.dtype import DType
from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir.functions.spelling import CSpelling, LlvmSpelling
from sateen.tensor_ir.ir.expr import Call, Const, Expr, as_data, as_expr, call, cast
from sateen.tensor_ir.ir.types import FLOAT32

Array = np.ndarray[Any, Any]
FLOAT64 = DType.of("float64")

LIBRARY = "libm."
"""Calls of this prefix are the C library's function of the name that follows, for float64, one lane at a time."""


class NumberKind(Enum):
    """The kinds of operands of a function, all of one type."""

    FLOAT = "floating-point operands"
    INTEGER = "integers"

    def holds(self, dtype: DType) -> bool:
        """Whether a type is of this kind."""
        return dtype.is_float if self is NumberKind.FLOAT else dtype.is_int


class Lack(Enum):
    """What a machine, or what runs beside code there, may lack, so that functions take other formulas."""

    FLOAT64 = "instructions for float64"
    FMA = "an instruction or a library for fma"
    LIBRARY = "a C library"


@dataclass(frozen=True, slots=True)
class OperandTypes:
    """`count` operands of one type of a kind, followed by operands of the types `others`.

    The result has the type of the first.
    """

    kind: NumberKind
    count: int = 1
    others: tuple[DType, ...] = ()

    def check_number(self, name: str, found: int) -> None:
        """Raise ExpressionError if function `name` gets another number of operands."""
        expected = self.count + len(self.others)
        if found != expected:
            raise ExpressionError(f"{name} expects {expected} operand{'s' * (expected > 1)}, found {found}")

    def check(self, name: str, found: tuple[DType, ...]) -> None:
        """Raise ExpressionError if the operands of function `name` have other types or another number."""
        self.check_number(name, len(found))
        first = found[0]
        if not self.kind.holds(first) or found != (first,) * self.count + self.others:
            types = "".join(f", then {dtype}" for dtype in self.others)
            raise ExpressionError(
                f"{name} expects {self.kind.value} of one type{types}, found {', '.join(map(str, found))}"
            )


@dataclass(frozen=True, slots=True)
class Domain:
    """The range of an integer operand: outside of it the function has no result."""

    operand: int
    what: str
    range: Callable[[DType], range]

    def refusal(self, function: str, dtype: DType, found: object) -> str:
        """The error about an operand outside the range, for a function that gives `dtype`."""
        within = self.range(dtype)
        return f"{function} of {dtype} expects {self.what} in [{within.start}, {within.stop}), found {found}"


@dataclass(frozen=True, eq=False)  # without slots: each value has a __doc__ of its own
class MathFunction:
    """A pure function of numbers, called as `function(x, …)` with expressions, Python numbers among them.

    `name` is that of the text form, `meaning` the docstring of the value. A function is given by

    - `reference`: the result from arrays, float64 for any floating-point type, integers in their own type;
    - `exact`: from a type to the function on single values of it (int, np.float32, np.float64), for functions that are
      exact or correctly rounded; of the others the reference in float64 is rounded;
    - `derivative`: from the operands to the partial derivative by each of them; None for functions of integers;
    - `formulas`: by element type, the arithmetic that it becomes where an emitter has no spelling for it; 16-bit floats
      are computed as float32 and rounded;
    - `library`: its name in C's library, which float64 calls unless there is a formula;
    - `without`: by what a machine lacks, formulas by element type that do without it;
    - `error`: the largest error in units of the last place of float32, infinite results and subnormal numbers included,
      where the formula for float32 promises one;
    - `llvm`, `c99`, `opencl`, `wgsl`: its spelling, where an emitter has one; a function of OpenCL's library is used if
      it is within 4 ulp (OpenCL 1.2, 7.4), and then those of CUDA and Metal with its name are, too (CUDA C++
      Programming Guide, "Mathematical Functions"; Metal Shading Language Specification, 8.2).
    """

    name: str
    meaning: str
    operands: OperandTypes
    reference: Callable[..., Array]
    exact: Callable[[DType], Callable[..., Any]] | None = None
    domain: Domain | None = None
    derivative: Callable[..., tuple[Expr, ...]] | None = None
    formulas: Mapping[DType, Callable[..., Expr]] = field(default_factory=dict)
    library: str = ""
    without: Mapping[Lack, Mapping[DType, Callable[..., Expr]]] = field(default_factory=dict)
    error: float | None = None
    llvm: LlvmSpelling | None = None
    c99: CSpelling | None = None
    opencl: CSpelling | None = None
    wgsl: CSpelling | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "__doc__", self.meaning)

    def __repr__(self) -> str:
        return f"MathFunction({self.name})"

    def __call__(self, *operands: Any) -> Expr:
        """The function of these operands; a number or literal takes the type of the others, an index is an int64.

        Raises ExpressionError for operands of other types or another number of them.
        """
        self.operands.check_number(self.name, len(operands))
        given = [a if isinstance(a, (int, float)) else as_data(as_expr(a)) for a in operands]
        shared = given[: self.operands.count]
        typed = [a.dtype for a in shared if isinstance(a, Expr) and not isinstance(a, Const)]
        first = typed[0] if typed else as_data(as_expr(shared[0])).dtype
        types = (*(first for _ in shared), *self.operands.others)
        values = [as_expr(a.value if isinstance(a, Const) else a, t) for a, t in zip(given, types, strict=True)]
        self.operands.check(self.name, tuple(v.dtype for v in values))
        return call(self.name, values)

    @property
    def is_native(self) -> bool:
        """Whether every emitter spells it, so that it has no formulas."""
        return not self.formulas and not self.library

    def formula(self, e: Call) -> Expr | None:
        """The formula of a call, for emitters without a spelling of the function; None for a type without formula."""
        if e.dtype == FLOAT64 and self.library and e.dtype not in self.formulas:
            return call(LIBRARY + self.library, e.args)
        return self._chosen(self.formulas, e)

    def formula_without(self, lack: Lack, e: Call) -> Expr | None:
        """The formula of a call for a machine that lacks something; None if the call does not need it."""
        return self._chosen(self.without.get(lack, {}), e)

    def _chosen(self, formulas: Mapping[DType, Callable[..., Expr]], e: Call) -> Expr | None:
        if e.dtype in formulas:
            return formulas[e.dtype](*e.args)
        if e.dtype.is_float and e.dtype.bits == 16 and FLOAT32 in formulas:
            operands = [cast(FLOAT32, a) if a.dtype == e.dtype else a for a in e.args]
            return cast(e.dtype, call(self.name, operands))
        return None
