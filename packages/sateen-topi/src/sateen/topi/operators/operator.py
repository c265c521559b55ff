"""What an operator is: one class that holds all facts about it. Its fields are its attributes.

`Operator` is the base of the operators of graphs and of those that other packages bring.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from sateen.runtime.device import Device, cpu
from sateen.runtime.errors import InferenceError
from sateen.tensor_ir import Machine
from sateen.topi.methods import Candidate, Method
from sateen.topi.operators.attributes import attributes_of, check_attributes
from sateen.topi.schedules import Computation
from sateen.topi.types import Layout, TensorType

Array = np.ndarray[Any, Any]


ELEMENT_BY_ELEMENT_SLOWDOWN = 100.0
"""An operator takes so many times its estimate in a layout for which it has a definition, but no schedule."""


@dataclass(frozen=True, slots=True)
class LayoutChoice:
    """A way to run an operator: the layouts it takes and gives. None: row-major.

    `slowdown` is how much longer the operator takes than in its best layouts, conversions aside.
    """

    inputs: tuple[Layout | None, ...]
    outputs: tuple[Layout | None, ...]
    slowdown: float = 1.0


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

    def output_device(self, inputs: Sequence[Device]) -> Device:
        """The device of the outputs, given those of the present inputs: by default theirs, without any the host.

        Raises InferenceError for inputs on several devices.
        """
        found = dict.fromkeys(inputs)
        places = ", ".join(map(str, found))
        require(len(found) <= 1, self, f"expected inputs on one device, found {places}; copy_to moves them")
        return next(iter(found), cpu())

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

    def canonical(self) -> Self:
        """The same operator without attributes that spell out what their defaults mean; by default itself.

        Requires: it takes its inputs, so that all attributes are right. Guarantees: equal for operators that mean the
        same, as far as attributes tell.
        """
        return self

    def attributes(self) -> dict[str, object]:
        """Fields that differ from their defaults, in order."""
        return attributes_of(self)


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def require(condition: bool, op: Operator, message: str) -> None:
    """Raise InferenceError with the operator's name unless the condition holds."""
    if not condition:
        raise InferenceError(f"{op.op_name()}: {message}")
