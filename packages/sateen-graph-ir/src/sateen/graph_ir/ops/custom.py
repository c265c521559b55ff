"""Operators of other packages in graphs."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from sateen.graph_ir.op import LayoutChoice, Op, attributes_of, check_attributes, require
from sateen.graph_ir.op_set import name_of
from sateen.graph_ir.types import TensorType
from sateen.runtime.errors import ArgumentError, InferenceError
from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.ir.expr import Reduce
from sateen.tensor_ir.te.tensor import ComputeOp, ConstantOp
from sateen.topi.layout import View
from sateen.topi.operator import Computation, Operator


@dataclass(frozen=True, slots=True)
class Custom(Op):
    """An operator that is written with sateen-topi alone, as an operator of graphs.

    It has the name and the attributes of what it wraps. Inputs are checked against the parameters of `infer`, and what
    it computes against what it infers. Reductions and several stages that come without a schedule run in plain loops.
    Raises ArgumentError for an operator that no set of operators would take, and for attributes of other kinds than
    their annotations say.
    """

    operator: Operator

    def __post_init__(self) -> None:
        if not isinstance(self.operator, Operator):
            is_class = isinstance(self.operator, type) and issubclass(self.operator, Operator)
            remedy = f"; write {self.operator.__name__}(…)" if is_class else ""
            raise ArgumentError(f"Custom: expected an operator, found {self.operator!r:.200}{remedy}")
        name = name_of(type(self.operator))
        check_attributes(self.operator, name)
        try:
            hash(self.operator)
        except TypeError as error:
            raise ArgumentError(f"{name}: expected attributes that can't change, such as tuples: {error}") from None

    def op_name(self) -> str:  # type: ignore[override]  # a class of wrappers has no name, each wrapper has one
        return self.operator.name

    def attributes(self) -> dict[str, object]:
        return attributes_of(self.operator)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        plain = [None if t is None else replace(t, layout=None) for t in inputs]
        arguments = self._arguments(plain)
        with self._noted():
            types = self.operator.infer(*arguments)
        require(
            isinstance(types, tuple) and all(isinstance(t, TensorType) and t.layout is None for t in types), self,
            f"expected infer to give a tuple of row-major types, found {types!r}",
        )  # fmt: skip
        return types

    def compute(self, *inputs: View | None, outputs: Sequence[TensorType]) -> Computation:
        arguments = self._arguments(inputs)
        with self._noted():
            computation = self.operator.compute(*arguments, outputs=tuple(outputs))
        return accepted(self, computation, inputs, outputs)

    def layouts(
        self, inputs: Sequence[TensorType], outputs: Sequence[TensorType], lanes: int
    ) -> Iterable[LayoutChoice]:
        return self.operator.layouts(inputs, outputs, lanes)

    def operations(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> int:
        return self.operator.operations(inputs, outputs)

    def _arguments(self, inputs: Sequence[Any]) -> Sequence[Any]:
        """The inputs up to the last that is present. Raises InferenceError where `infer` takes others."""
        present = list(inputs)
        while present and present[-1] is None:
            present.pop()
        signature = inspect.signature(self.operator.infer)
        try:
            bound = signature.bind(*present)
        except TypeError:
            names = ", ".join(signature.parameters) or "none"
            raise InferenceError(f"{self.op_name()}: takes inputs {names}; found {len(present)} of them") from None
        for name, value in bound.arguments.items():
            is_optional = signature.parameters[name].default is None
            require(value is not None or is_optional, self, f"expects input {name!r}, found none")
        return present

    @contextmanager
    def _noted(self) -> Iterator[None]:
        """Tell whose code it is that raises an error."""
        try:
            yield
        except Exception as error:
            kind = type(self.operator)
            error.add_note(f"in operator {self.operator.name!r}, {kind.__module__}.{kind.__qualname__}")
            raise


def accepted(op: Op, computation: object, inputs: Sequence[View | None], outputs: Sequence[TensorType]) -> Computation:
    """What code of users gives as the computation of an operator; in plain loops where a schedule is needed but absent.

    Raises InferenceError where it computes other outputs or none.
    """
    if not isinstance(computation, Computation):
        raise InferenceError(f"{op.op_name()}: expected a Computation, found {computation!r}")
    found = [TensorType.of(v.dtype, v.shape, v.layout) for v in computation.outputs]
    expected, given = (", ".join(map(str, types)) for types in (outputs, found))
    require(found == list(outputs), op, f"expected a computation of {expected}, found one of {given}")
    require(not any(v in inputs for v in computation.outputs), op, "expected outputs that are computed, found an input")
    if computation.schedule is None and not _is_injective(computation, inputs):
        return replace(computation, schedule=_in_plain_loops, takes_epilogue=False)
    return computation


def _is_injective(computation: Computation, inputs: Sequence[View | None]) -> bool:
    """Whether each output is a stage of its own without a reduction, which may be inlined."""
    given = {v.tensor for v in inputs if v is not None}
    for view in computation.outputs:
        op = view.tensor.op
        if not isinstance(op, ComputeOp) or isinstance(op.body[0], Reduce):
            return False
        if any(t not in given and not isinstance(t.op, ConstantOp) for t in op.inputs):
            return False
    return True


def _in_plain_loops(_s: te.Schedule, _output: te.Tensor, _machine: Machine) -> None:
    """Each stage in loops of its own, as a schedule begins."""
