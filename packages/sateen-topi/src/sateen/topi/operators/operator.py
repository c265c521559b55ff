"""Operators: one class holds all facts about an operator. Its fields are the attributes.

`Operator` is the base of the operators of graphs and of those of other packages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np

from sateen.runtime.device import Device, cpu
from sateen.runtime.dtype import DType
from sateen.runtime.errors import InferenceError
from sateen.tensor_ir import Machine
from sateen.topi.methods import Candidate, Method
from sateen.topi.operators.attributes import attributes_of, check_attributes
from sateen.topi.schedules import Computation
from sateen.topi.types import Layout, TensorType

Array = np.ndarray[Any, Any]


ELEMENT_BY_ELEMENT_SLOWDOWN = 100.0
"""The slowdown of an operator in a layout for which it has a definition, but no schedule."""


@dataclass(frozen=True, slots=True)
class LayoutChoice:
    """A way to run an operator: the layouts it takes and gives. None: row-major.

    `slowdown` is the time of the operator relative to its best layouts, without conversions.
    """

    inputs: tuple[Layout | None, ...]
    outputs: tuple[Layout | None, ...]
    slowdown: float = 1.0


@dataclass(frozen=True, slots=True)
class Preparation:
    """The preparation of a constant input: the operator that does it, and the same as a function while compiling.

    `loss` is the resulting error of an element, in proportion to Σ|w| of its terms times the largest input that it
    depends on.
    """

    operator: Operator
    function: Callable[[Array], Array]
    loss: Callable[[Array], float] = lambda _: 0.0


@dataclass(frozen=True, slots=True)
class Substitution:
    """The operator that computes another one by a method, from inputs some of which are prepared, by position."""

    operator: Operator
    method: Method | None
    prepared: Mapping[int, Preparation]
    converted: Mapping[int, DType] = field(default_factory=dict)
    """The types to which other inputs are converted, by position."""


@dataclass(frozen=True, slots=True)
class Transposed:
    """The form of an operator on untransposed inputs: its outputs are transposed by a permutation instead. It is the
    first `moved` inputs that are transposed, by default all; the others stay."""

    operator: Operator
    permutation: tuple[int, ...]
    moved: int | None = None


class Operator:
    """Base of operators: frozen dataclasses, equal where their attributes are.

    A subclass gives `infer` and `compute`; its kind for fusion follows from the elements that its computation reads.
    Both take one argument for each input, with names of the subclass's choice: one with default None is an optional
    input, `*inputs` are any number. Attributes are bool, int, float, str, DType, Layout, None, or tuples of these.
    Raises ArgumentError for an attribute that does not fit its annotation.
    """

    __slots__ = ()
    name: ClassVar[str | None] = None
    """The maker and the name, such as "acme.Swish": the name in text form, and domain and type in ONNX. None only for
    operators of sateen, which have the name of their class."""
    is_pure: ClassVar[bool] = True
    methods: ClassVar[tuple[type[Method], ...]] = ()
    """The classes of methods, if there is a choice. Then `compute` takes a keyword `method`, an instance of one of them
    or None."""
    minds_layouts: ClassVar[bool] = False
    """Whether `infer` takes and gives types with layouts; all other operators infer row-major types."""

    def __post_init__(self) -> None:
        check_attributes(self, self.op_name())

    @classmethod
    def op_name(cls) -> str:
        """The name in text form: `name`, or the class's name in snake case."""
        return cls.name or _snake_case(cls.__name__)

    def infer(self, *inputs: Any, **_: Any) -> tuple[TensorType, ...]:
        """The types of the outputs, for row-major types of the inputs. Raises InferenceError if those don't fit."""
        raise AssertionError(f"{type(self).__name__} gives no inference")

    def output_devices(self, inputs: Sequence[Device], count: int) -> tuple[Device, ...]:
        """The device of each of `count` outputs, given those of the present inputs: by default theirs, without any the
        host.

        Raises InferenceError for inputs on devices that it does not take, by default on several ones.
        """
        device = inputs[0] if inputs else cpu()
        if inputs.count(device) < len(inputs):
            places = ", ".join(map(str, dict.fromkeys(inputs)))
            require(False, self, f"expected inputs on one device, found {places}; copy_to moves them")
        return (device,) * count

    def compute(self, *inputs: Any, **_: Any) -> Computation:
        """The computation on views of the inputs; `outputs` are the types of the outputs, whose layouts it uses."""
        raise AssertionError(f"{type(self).__name__} gives no computation")

    def candidates(
        self, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType], machine: Machine
    ) -> Sequence[Candidate]:
        """The methods that suit static row-major types on a machine, best first by estimate; by default none."""
        return ()

    def substitute(self, method: Method) -> Substitution | None:
        """The operator that computes this one by a method that takes constant inputs in another form; None: this
        operator does."""
        return None

    def layouts(
        self, inputs: Sequence[TensorType], outputs: Sequence[TensorType], machine: Machine
    ) -> Iterable[LayoutChoice]:
        """The layouts in which this operator can run on a machine, best first, where no method is chosen.

        `inputs` are those that are present, in the layouts that they have. An operator with methods overrides
        `layouts_by` instead.
        """
        return self.layouts_by(None, inputs, outputs, machine)

    def layouts_by(
        self, method: Any, inputs: Sequence[TensorType], outputs: Sequence[TensorType], machine: Machine
    ) -> Iterable[LayoutChoice]:
        """Those in which it can run by one of its methods, None where none is chosen; by default row-major only."""
        yield LayoutChoice((None,) * len(inputs), (None,) * len(outputs))

    def transposed(self, permutation: tuple[int, ...]) -> Transposed | None:
        """The operator for which op(transpose(x), …) is transpose(op'(x), …); by default there is none.

        Inputs that are transposed have the rank of the permutation; those of element-wise operators may broadcast.
        """
        return None

    def parts_of_input(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[int] | None:
        """The byte offset of each output in the first input's memory, if outputs are parts of that."""
        return None

    def parts_of_output(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[int] | None:
        """The byte offset of each input in the output's memory, if the output is the concatenation of the inputs."""
        return None

    def operations(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> int:
        """The number of floating-point operations in the multiply-adds of the definition, padding included, two for
        each.

        `inputs` are the present ones; all types are static. 0 for operators that memory limits, not arithmetic.
        """
        return 0

    def canonical(self) -> Self:
        """The same operator without attributes that only repeat the meaning of their defaults; by default itself.

        Requires: it takes its inputs, so that all attributes are right. Guarantees: equal for operators that mean the
        same, as far as attributes tell.
        """
        return self

    def attributes(self) -> dict[str, object]:
        """Fields that differ from their defaults, in order."""
        return attributes_of(self)


@cache
def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def require(condition: bool, op: Operator, message: str) -> None:
    """Raise InferenceError with the operator's name unless the condition holds."""
    if not condition:
        raise InferenceError(f"{op.op_name()}: {message}")
