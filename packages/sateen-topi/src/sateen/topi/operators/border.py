"""The border of operators: it checks their arguments, and that their results fit their types.

All operators are called through it, ours and those of other packages.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import is_dataclass, replace
from functools import cache
from math import inf
from typing import Any

from sateen.runtime.device import Device
from sateen.runtime.display import counted
from sateen.runtime.errors import ArgumentError, InferenceError
from sateen.tensor_ir import Machine, te
from sateen.topi.methods import Method
from sateen.topi.operators.operator import Operator, require
from sateen.topi.schedules import Computation
from sateen.topi.types import TensorType, View

_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_QUALIFIED = re.compile(r"[A-Za-z][\w-]*(\.[\w-]+)+", re.ASCII)


def require_class(op: type[Operator]) -> str:
    """The name of a class of operators.

    Raises ArgumentError for anything else, for a class of another package without a qualified name, and for one that is
    no frozen dataclass.
    """
    if not isinstance(op, type) or not issubclass(op, Operator):
        raise ArgumentError(f"expected a subclass of sateen.topi.Operator, found {op!r}")
    if op.name is None and op.__module__.startswith("sateen."):
        return op.op_name()
    if not isinstance(op.name, str) or not _QUALIFIED.fullmatch(op.name):
        raise ArgumentError(f"{place_of(op)}: expected a qualified name such as 'acme.Swish', found {op.name!r}")
    if not is_dataclass(op) or op.__hash__ is None or not op.__dataclass_params__.frozen:
        raise ArgumentError(f"{place_of(op)}: expected a frozen dataclass, whose fields are the attributes")
    return op.name


def place_of(op: type[Operator]) -> str:
    """The place in source code of a class of operators."""
    return f"{op.__module__}.{op.__qualname__}"


def types_of(op: Operator, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """The types of the outputs of an operator.

    Raises InferenceError if it takes other inputs, or gives no tuple of row-major types.
    """
    given = (
        inputs
        if op.minds_layouts
        else [t if t is None or t.layout is None else replace(t, layout=None) for t in inputs]
    )
    arguments = _arguments(op, given)
    with _noted(op):
        types = op.infer(*arguments)
    if not isinstance(types, tuple) or not all(_is_type(t, op) for t in types):
        raise InferenceError(f"{op.op_name()}: expected infer to give a tuple of row-major types, found {types!r}")
    return types


def devices_of(op: Operator, inputs: Sequence[Device], count: int) -> tuple[Device, ...]:
    """The devices of the outputs of an operator, given those of its present inputs and the number of its outputs.

    Raises InferenceError if it takes inputs on other devices, or gives no tuple of a device for each output.
    """
    try:
        devices = op.output_devices(inputs, count)
    except Exception as error:
        _note(op, error)
        raise
    if not isinstance(devices, tuple) or len(devices) != count or not {*map(type, devices)} <= {Device}:
        raise InferenceError(
            f"{op.op_name()}: expected output_devices to give a tuple of {counted(count, 'device')}, found {devices!r}"
        )
    return devices


def _is_type(found: object, op: Operator) -> bool:
    return isinstance(found, TensorType) and (found.layout is None or op.minds_layouts)


def computation_of(
    op: Operator, inputs: Sequence[View | None], outputs: Sequence[TensorType], method: Method | None = None
) -> Computation:
    """The computation of an operator over views, by a method if one was chosen.

    Reductions and several stages without a schedule run in plain loops. Raises InferenceError if the operator takes
    other inputs, or computes other outputs or none.
    """
    arguments = _arguments(op, inputs)
    with _noted(op):
        if method is None:
            computation = op.compute(*arguments, outputs=tuple(outputs))
        else:
            computation = method.compute(op, arguments, tuple(outputs))
    return _accepted(op, computation, inputs, outputs)


def parameters(op: type[Operator]) -> Mapping[str, inspect.Parameter]:
    """The inputs that a class of operators takes, by name: the parameters of `infer`."""
    return _signature(op).parameters


def _signature(op: type[Operator]) -> inspect.Signature:
    return _without_self(op.infer)


@cache
def _without_self(method: Callable[..., Any]) -> inspect.Signature:
    signature = inspect.signature(method)
    return signature.replace(parameters=list(signature.parameters.values())[1:])


@cache
def _counts(method: Callable[..., Any]) -> tuple[int, float]:
    """The least and the most inputs with which `infer` can be called."""
    taken = _without_self(method).parameters.values()
    needed = [p.default is p.empty for p in taken if p.kind in _BY_POSITION]
    return sum(needed), inf if any(p.kind is p.VAR_POSITIONAL for p in taken) else len(needed)


def _arguments(op: Operator, inputs: Sequence[Any]) -> Sequence[Any]:
    """The inputs up to the last present one. Raises InferenceError if `infer` takes others."""
    present = list(inputs)
    while present and present[-1] is None:
        present.pop()
    least, most = _counts(type(op).infer)
    if least <= len(present) <= most and all(value is not None for value in present):
        return present
    signature = _signature(type(op))
    try:
        bound = signature.bind(*present)
    except TypeError:
        names = ", ".join(signature.parameters) or "none"
        raise InferenceError(f"{op.op_name()}: takes inputs {names}; found {len(present)} of them") from None
    for name, value in bound.arguments.items():
        require(
            value is not None or signature.parameters[name].default is None, op, f"expects input {name!r}, found none"
        )
    return present


@contextmanager
def _noted(op: Operator) -> Iterator[None]:
    """Add to an error of another package's code where that code is."""
    try:
        yield
    except Exception as error:
        _note(op, error)
        raise


def _note(op: Operator, error: Exception) -> None:
    if op.name is not None:
        error.add_note(f"in operator {op.name!r}, {place_of(type(op))}")


def _accepted(
    op: Operator, computation: object, inputs: Sequence[View | None], outputs: Sequence[TensorType]
) -> Computation:
    """The computation that an operator's code gives, in plain loops if it lacks a schedule.

    Raises InferenceError if it computes other outputs or none.
    """
    if not isinstance(computation, Computation):
        raise InferenceError(f"{op.op_name()}: expected a Computation, found {computation!r}")
    found = [TensorType.of(v.dtype, v.shape, v.layout) for v in computation.outputs]
    if found != list(outputs):
        expected, given = (", ".join(map(str, types)) for types in (outputs, found))
        raise InferenceError(f"{op.op_name()}: expected a computation of {expected}, found one of {given}")
    require(not any(v in inputs for v in computation.outputs), op, "expected outputs that are computed, found an input")
    if computation.schedule is None and not _is_injective(computation, inputs):
        return replace(computation, schedule=_in_plain_loops, takes_epilogue=False)
    return computation


def _is_injective(computation: Computation, inputs: Sequence[View | None]) -> bool:
    """Whether each output is a separate stage without a reduction, which may be inlined."""
    given = {v.tensor for v in inputs if v is not None}
    for view in computation.outputs:
        op = view.tensor.op
        if not op.body or op.reduce_axis:
            return False
        if any(t not in given and t.op.data is None for t in op.inputs):
            return False
    return True


def _in_plain_loops(_s: te.Schedule, _output: te.Tensor, _machine: Machine) -> None:
    """Each stage in separate loops, as in a default schedule."""
