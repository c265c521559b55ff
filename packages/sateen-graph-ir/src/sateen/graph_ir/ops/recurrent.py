"""Recurrent layers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from sateen.graph_ir.ir import TensorType
from sateen.tensor_ir import Machine
from sateen.topi.computations import recurrent
from sateen.topi.computations.recurrent import GateTiles
from sateen.topi.methods import Candidate, Method
from sateen.topi.operators import LayoutChoice, Operator, require
from sateen.topi.schedules import Computation
from sateen.topi.types import View

DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
"""By ONNX name: whether each direction runs backwards in time."""


@dataclass(frozen=True, slots=True)
class Recurrent(Operator):
    """A layer over a sequence, giving y [time, direction, batch, hidden] and the last state.

    Inputs: x [time, batch, in], weight [direction, gates·hidden, in], recurrence [direction, gates·hidden, hidden] and,
    each possibly absent, bias [direction, 2·gates·hidden], lengths [batch], initial states [direction, batch, hidden].

    `activations` has the names of one direction after the other, empty for the usual ones; `alphas` and `betas` belong
    to those that take them. `clip` limits the arguments of activations.
    """

    methods: ClassVar[tuple[type[Method], ...]] = (GateTiles,)
    gates: ClassVar[int]
    states: ClassVar[int]
    usual: ClassVar[tuple[str, ...]]
    hidden_size: int
    direction: str = "forward"
    activations: tuple[str, ...] = ()
    alphas: tuple[float | None, ...] = ()
    betas: tuple[float | None, ...] = ()
    clip: float | None = None

    def _infer(
        self, x: TensorType, weight: TensorType, recurrence: TensorType, bias: TensorType | None,
        lengths: TensorType | None, initial: Sequence[TensorType | None], peepholes: TensorType | None = None,
    ) -> tuple[TensorType, ...]:  # fmt: skip
        known = ", ".join(DIRECTIONS)
        require(self.direction in DIRECTIONS, self, f"expects a direction of {known}, found {self.direction!r}")
        require(x.rank == 3, self, f"expects x [time, batch, in], found {x}")
        require(x.dtype.is_float and x.dtype.bits >= 32, self, f"expects float32 or float64, found {x.dtype}")
        require(self.clip is None or self.clip > 0, self, f"expects a clip above 0, found {self.clip}")
        time, batch, features = x.shape
        require(0 not in x.shape, self, f"expects x with elements, found {x}")
        count, hidden, width = len(DIRECTIONS[self.direction]), self.hidden_size, self.gates * self.hidden_size
        require(hidden >= 1, self, f"expects a hidden size of at least 1, found {hidden}")
        state = (count, batch, hidden)
        expected: list[tuple[str, TensorType | None, tuple[object, ...]]] = [
            ("weight", weight, (count, width, features)), ("recurrence", recurrence, (count, width, hidden)),
            ("bias", bias, (count, 2 * width)), *(("initial state", s, state) for s in initial),
            ("peepholes", peepholes, (count, 3 * hidden)),
        ]  # fmt: skip
        for name, found, shape in expected:
            fits = found is None or (found.shape == shape and found.dtype == x.dtype)
            require(fits, self, f"expects {name} {x.dtype}[{', '.join(map(str, shape))}], found {found}")
        fits = lengths is None or (lengths.shape == (batch,) and lengths.dtype.is_int)
        require(fits, self, f"expects lengths of integers [{batch}], found {lengths}")
        self._check_activations(count)
        y = TensorType(x.dtype, (time, count, batch, hidden))
        return (y, *[TensorType(x.dtype, state)] * self.states)

    def _check_activations(self, directions: int) -> None:
        wanted = len(self.usual) * directions
        for name, values in (("activations", self.activations), ("alphas", self.alphas), ("betas", self.betas)):
            require(len(values) in (0, wanted), self, f"expects {wanted} {name}, found {len(values)}")
        for a in self.activations:
            known = ", ".join(recurrent.ACTIVATIONS)
            require(a in recurrent.ACTIVATIONS, self, f"expects activations of {known}, found {a!r}")

    def settings(self) -> recurrent.Settings:
        """The attributes in the form that the computation takes."""
        backwards = DIRECTIONS[self.direction]
        count = len(self.usual)
        names = self.activations or self.usual * len(backwards)
        alphas = self.alphas or (None,) * len(names)
        betas = self.betas or (None,) * len(names)
        all_of_them = [recurrent.Activation(*a) for a in zip(names, alphas, betas, strict=True)]
        grouped = tuple(tuple(all_of_them[d * count : (d + 1) * count]) for d in range(len(backwards)))
        return recurrent.Settings(grouped, backwards, self.clip)

    def candidates(
        self, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType], machine: Machine
    ) -> Sequence[Candidate]:
        x, _, recurrence = (t for t in inputs[:3] if t is not None)
        return recurrent.recurrent_candidates(x.static_shape, recurrence.static_shape, x.dtype, machine)

    def layouts_by(
        self, method: GateTiles | None, inputs: Sequence[TensorType], outputs: Sequence[TensorType], machine: Machine
    ) -> Iterable[LayoutChoice]:
        """The panels of recurrent weights are those of the method."""
        packed = recurrent.weight_layout(machine, inputs[0].dtype)
        own = packed if method is None else recurrent.weight_layout(machine, inputs[0].dtype, method.vectors)
        yield LayoutChoice((None, packed, own, *[None] * (len(inputs) - 3)), (None,) * len(outputs))

    def operations(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> int:
        """The operations of the products with weight and recurrence at each time step."""
        x, weight, recurrence, *_ = inputs
        time, batch, _ = x.static_shape
        return 2 * time * batch * (prod(weight.static_shape) + prod(recurrence.static_shape))


@dataclass(frozen=True, slots=True)
class LSTM(Recurrent):
    """Long short-term memory (ONNX LSTM): gates i o f c, states hidden and cell; an eighth input are peepholes."""

    gates: ClassVar[int] = 4
    states: ClassVar[int] = 2
    usual: ClassVar[tuple[str, ...]] = ("Sigmoid", "Tanh", "Tanh")
    input_forget: bool = False

    def infer(
        self, x: TensorType, weight: TensorType, recurrence: TensorType, bias: TensorType | None = None,
        lengths: TensorType | None = None, hidden: TensorType | None = None, cell: TensorType | None = None,
        peepholes: TensorType | None = None,
    ) -> tuple[TensorType, ...]:  # fmt: skip
        return self._infer(x, weight, recurrence, bias, lengths, (hidden, cell), peepholes)

    def compute(
        self, x: View, weight: View, recurrence: View, bias: View | None = None, lengths: View | None = None,
        hidden: View | None = None, cell: View | None = None, peepholes: View | None = None, *,
        outputs: Sequence[TensorType], method: GateTiles | None = None,
    ) -> Computation:  # fmt: skip
        operands = recurrent.Inputs(x, weight, recurrence, bias, lengths, hidden, cell, peepholes)
        return recurrent.lstm(operands, self.settings(), self.input_forget, method)


@dataclass(frozen=True, slots=True)
class GRU(Recurrent):
    """Gated recurrent unit (ONNX GRU): gates z r h."""

    gates: ClassVar[int] = 3
    states: ClassVar[int] = 1
    usual: ClassVar[tuple[str, ...]] = ("Sigmoid", "Tanh")
    linear_before_reset: bool = False

    def infer(
        self, x: TensorType, weight: TensorType, recurrence: TensorType, bias: TensorType | None = None,
        lengths: TensorType | None = None, initial: TensorType | None = None,
    ) -> tuple[TensorType, ...]:  # fmt: skip
        return self._infer(x, weight, recurrence, bias, lengths, (initial,))

    def compute(
        self, x: View, weight: View, recurrence: View, bias: View | None = None, lengths: View | None = None,
        initial: View | None = None, *, outputs: Sequence[TensorType], method: GateTiles | None = None,
    ) -> Computation:  # fmt: skip
        operands = recurrent.Inputs(x, weight, recurrence, bias, lengths, initial)
        return recurrent.gru(operands, self.settings(), self.linear_before_reset, method)


@dataclass(frozen=True, slots=True)
class RNN(Recurrent):
    """The simple recurrent layer (ONNX RNN)."""

    gates: ClassVar[int] = 1
    states: ClassVar[int] = 1
    usual: ClassVar[tuple[str, ...]] = ("Tanh",)

    def infer(
        self, x: TensorType, weight: TensorType, recurrence: TensorType, bias: TensorType | None = None,
        lengths: TensorType | None = None, initial: TensorType | None = None,
    ) -> tuple[TensorType, ...]:  # fmt: skip
        return self._infer(x, weight, recurrence, bias, lengths, (initial,))

    def compute(
        self, x: View, weight: View, recurrence: View, bias: View | None = None, lengths: View | None = None,
        initial: View | None = None, *, outputs: Sequence[TensorType], method: GateTiles | None = None,
    ) -> Computation:  # fmt: skip
        operands = recurrent.Inputs(x, weight, recurrence, bias, lengths, initial)
        return recurrent.rnn(operands, self.settings(), method)


OPS = (GRU, LSTM, RNN)
"""The operators of this file."""
