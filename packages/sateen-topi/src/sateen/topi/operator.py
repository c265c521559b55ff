"""What an operator is: one class that holds all facts about it. Its fields are its attributes.

`Operator` is the base of the operators of graphs and of those that other packages bring.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from sateen.runtime.device import DeviceKind
from sateen.runtime.errors import ArgumentError, ExpressionError, InferenceError, LoweringError
from sateen.tensor_ir import Machine, te
from sateen.topi.attributes import attributes_of, check_attributes
from sateen.topi.injective import INJECTIVE
from sateen.topi.layout import Layout, View
from sateen.topi.types import TensorType

ScheduleFunction = Callable[[te.Schedule, te.Tensor, Machine], None]
"""Schedules an operator's own stages in a schedule whose output is the given tensor: the operator's last stage itself,
or an element-wise function of it that was fused behind it."""

Array = np.ndarray[Any, Any]

NUMERICS = ("strict", "default", "fast")
"""How far the sums of a network may be rearranged, from the least on (semantics 4.8)."""

ELEMENT_BY_ELEMENT_SLOWDOWN = 100.0
"""Of an operator in a layout that it is only defined for."""


ScheduleTable = Mapping[DeviceKind, ScheduleFunction]
"""The schedule of an operator by the kind of machine."""


def on_cpu(schedule: ScheduleFunction) -> ScheduleTable:
    """A schedule for the cores of a CPU alone."""
    return {DeviceKind.CPU: schedule}


@dataclass(frozen=True, slots=True, eq=False)
class Computation:
    """The outputs of an operator and the schedule of its stages: one for all machines, or one for each kind of them.

    Without `schedule` the computation is injective: single stages without reductions, which may be inlined anywhere.
    An operator with one takes element-wise consumers behind it, unless `takes_epilogue` is false. Raises
    ExpressionError for outputs that are no tuple of views.
    """

    outputs: tuple[View, ...]
    schedule: ScheduleFunction | ScheduleTable | None = None
    takes_epilogue: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.outputs, tuple) or not all(isinstance(v, View) for v in self.outputs):
            raise ExpressionError(
                f"Computation: expected a tuple of a view for each output, as (view,), found {_kinds(self.outputs)}"
            )

    @property
    def view(self) -> View:
        """The only output."""
        (view,) = self.outputs
        return view

    def schedule_on(self, machine: Machine) -> ScheduleFunction:
        """The schedule for a machine. Raises LoweringError where there is none for its kind."""
        table = INJECTIVE if self.schedule is None else self.schedule
        if not isinstance(table, Mapping):
            return table
        found = table.get(machine.kind)
        if found is None:
            known = ", ".join(kind.name.lower() for kind in table)
            name = self.outputs[0].name
            raise LoweringError(f"{name}: expected a machine of kind {known}, found {machine.kind.name.lower()}")
        return found


def _kinds(value: object) -> str:
    """The type of a value, of a tuple the types of its elements."""
    if isinstance(value, tuple):
        return f"({', '.join(type(item).__name__ for item in value)})"
    return type(value).__name__


@dataclass(frozen=True, slots=True)
class LayoutChoice:
    """A way to run an operator: the layouts it takes and gives. None: row-major.

    `slowdown` is how much longer the operator takes than in its best layouts, conversions aside.
    """

    inputs: tuple[Layout | None, ...]
    outputs: tuple[Layout | None, ...]
    slowdown: float = 1.0


class Method:
    """Base of methods: frozen dataclasses whose fields are numbers from 1 on. `Operator.methods` lists its own."""

    __slots__ = ()
    numerics: ClassVar[str] = "strict"
    """The least of NUMERICS that this method needs."""

    def __post_init__(self) -> None:
        """Raises ArgumentError for numbers below 1."""
        own: Any = self
        for f in fields(own):
            if getattr(self, f.name) < 1:
                raise ArgumentError(
                    f"{self.method_name()}: expected {f.name} of 1 or more, found {getattr(self, f.name)}"
                )

    @classmethod
    def method_name(cls) -> str:
        """The name in text form: that of the class in lower case."""
        return cls.__name__.lower()

    def __str__(self) -> str:
        """Such as direct(rows=1, columns=14, vectors=2)."""
        own: Any = self
        return f"{self.method_name()}({', '.join(f'{f.name}={getattr(self, f.name)}' for f in fields(own))})"

    def compute(self, op: Operator, inputs: Sequence[View | None], outputs: Sequence[TensorType]) -> Computation:
        """What the operator computes by this method."""
        return op.compute(*inputs, outputs=outputs, method=self)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A way to compute an operator, and the cycles that it is estimated to take of all cores together."""

    method: Method
    cycles: float


@dataclass(frozen=True, slots=True)
class Preparation:
    """What a constant input becomes before the network runs.

    `loss` is what an element of the result may lose by it, in proportion to Σ|w| of its terms times the largest input
    that it depends on.
    """

    function: Callable[[Array], Array]
    loss: Callable[[Array], float] = lambda _: 0.0


@dataclass(frozen=True, slots=True)
class Substitution:
    """The operator that computes another one by a method, from inputs some of which are prepared, by position."""

    operator: Operator
    method: Method | None
    prepared: Mapping[int, Preparation]


@dataclass(frozen=True, slots=True)
class Transposed:
    """What an operator is on inputs that are not transposed: its outputs are transposed by a permutation instead."""

    operator: Operator
    permutation: tuple[int, ...]


class Operator:
    """Base of operators: frozen dataclasses, equal where their attributes are.

    A subclass gives `infer` and `compute`; what it is to fusion follows from what its computation reads. Both take one
    argument for each input, under names of its own: one with default None is an optional input, `*inputs` are any
    number. Attributes are bool, int, float, str, DType, Layout, None, or tuples of these. Raises ArgumentError for an
    attribute of another kind than its annotation says.
    """

    __slots__ = ()
    name: ClassVar[str | None] = None
    """Whose operator it is and what it is called, such as "acme.Swish": in text form, and in ONNX domain and type.
    None, for operators of sateen alone: they are called as their class."""
    is_pure: ClassVar[bool] = True
    methods: ClassVar[tuple[type[Method], ...]] = ()
    """The ways to compute it where there is a choice. Then `compute` takes a keyword `method`, which is of
    one of those classes or None."""
    minds_layouts: ClassVar[bool] = False
    """Whether types have their layouts when `infer` takes and gives them; all others infer row-major ones."""

    def __post_init__(self) -> None:
        check_attributes(self, self.op_name())

    @classmethod
    def op_name(cls) -> str:
        """The name in text form: `name`, or that of the class in snake case."""
        return cls.name or _snake_case(cls.__name__)

    def infer(self, *inputs: Any, **_: Any) -> tuple[TensorType, ...]:
        """The types of the outputs, for row-major types of the inputs. Raises InferenceError where those don't fit."""
        raise AssertionError(f"{type(self).__name__} gives no inference")

    def compute(self, *inputs: Any, **_: Any) -> Computation:
        """The computation over views of the inputs; keyword `outputs` is the types of the outputs, whose layouts it
        keeps to."""
        raise AssertionError(f"{type(self).__name__} gives no computation")

    def candidates(
        self, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType], machine: Machine
    ) -> Sequence[Candidate]:
        """The methods that suit static row-major types on a machine, best first by estimate; by default none."""
        return ()

    def substitute(self, method: Method) -> Substitution | None:
        """What computes this operator by a method that takes constant inputs in another form; None: this one does."""
        return None

    def layouts(
        self, inputs: Sequence[TensorType], outputs: Sequence[TensorType], machine: Machine
    ) -> Iterable[LayoutChoice]:
        """The layouts in which this operator can run on a machine, best first; by default row-major only.

        `inputs` are those that are present, in the layouts that they have.
        """
        yield LayoutChoice((None,) * len(inputs), (None,) * len(outputs))

    def layouts_by(
        self, method: Any, inputs: Sequence[TensorType], outputs: Sequence[TensorType], machine: Machine
    ) -> Iterable[LayoutChoice]:
        """Those in which it can run by one of its methods; by default the same."""
        return self.layouts(inputs, outputs, machine)

    def transposed(self, permutation: tuple[int, ...]) -> Transposed | None:
        """The operator for which op(transpose(x), …) is transpose(op'(x), …); by default none is known.

        Inputs have the rank of the permutation, those of element-wise operators may broadcast.
        """
        return None

    def parts_of_input(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[int] | None:
        """The byte of the first input's memory at which each output begins, if outputs are parts of that memory."""
        return None

    def parts_of_output(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[int] | None:
        """The byte of the output's memory at which each input begins, if the output is inputs one behind the other."""
        return None

    def operations(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> int:
        """Floating-point operations of the multiply-adds that the definition sums, padding too, each counted as two.

        `inputs` are those that are present; all types are static. 0 for operators that memory limits, not arithmetic.
        """
        return 0

    def attributes(self) -> dict[str, object]:
        """Fields that differ from their defaults, in order."""
        return attributes_of(self)


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def require(condition: bool, op: Operator, message: str) -> None:
    """Raise InferenceError with the operator's name unless the condition holds."""
    if not condition:
        raise InferenceError(f"{op.op_name()}: {message}")
