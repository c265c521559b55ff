"""Functions of networks: what a call makes, and what it becomes in a graph.

A function is written once, over values of a graph: its positional parameters are inputs, those of type `Parameter` are
made where a call leaves them out, and keywords are attributes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_type_hints

import numpy as np

from sateen.graph_ir.ir import Array, Dim, GraphBuilder, Symbol, TensorType, Value
from sateen.graph_ir.sym.net import VARIABLE, Net, NetNode, entry_of
from sateen.runtime.errors import ArgumentError
from sateen.topi.operators import Operator, is_of, kind_text

SWITCHES = {"bias": "use_bias", "gamma": "scale", "beta": "center"}
"""The attribute, by default true, that says whether there is an optional parameter of that role."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value that a function gives a shape unless it has one: `value` is None until then."""

    name: str
    dtype: str
    value: Value | None


@dataclass(frozen=True, slots=True)
class Site:
    """The place of a node in a graph: where a function adds operators."""

    builder: GraphBuilder
    name: str
    made: dict[str, Value]
    """The values of parameters that got a shape, by name."""

    def step(self, op: Operator, *inputs: Value | None) -> Value:
        """Apply an operator on the way to the result."""
        return self.builder.add(op, *inputs, name=f"{self.name}.{op.op_name()}")

    def result(self, op: Operator, *inputs: Value | None) -> Value:
        """Apply the operator that gives the node's output."""
        return self.builder.add(op, *inputs, name=self.name)

    def results(self, op: Operator, *inputs: Value | None, count: int) -> tuple[Value, ...]:
        """Apply the operator that gives all of the node's outputs."""
        names = [self.name, *(f"{self.name}.{i}" for i in range(1, count))]
        return self.builder.add_all(op, *inputs, names=names)

    def parameter(self, parameter: Parameter, shape: Sequence[Dim]) -> Value:
        """The value of a parameter, an input of this shape if it had none."""
        if parameter.value is not None:
            return parameter.value
        if parameter.name not in self.made:
            self.made[parameter.name] = self.builder.input(parameter.name, parameter.dtype, tuple(shape))
        return self.made[parameter.name]

    def constant(self, data: Array, role: str) -> Value:
        return self.builder.parameter(f"{self.name}.{role}", data)

    def scalar(self, number: float, like: Value) -> Value:
        """A number of a value's type. Raises ArgumentError if the type has no such number."""
        kind = like.type.dtype.numpy
        data = np.asarray(number).astype(kind)
        if like.type.dtype.is_int and data != number:
            raise ArgumentError(f"{self.name}: expected a number of type {like.type.dtype}, found {number}")
        return self.constant(data, "scalar")


class Function:
    """A function of networks by its definition over values: `conv2d(data, channels=8, kernel_size=(3, 3))`."""

    def __init__(
        self, definition: Callable[..., Any], name: str = "", outputs: Callable[[Mapping[str, Any]], int] = lambda _: 1
    ) -> None:
        self.name = name or definition.__name__
        self.outputs = outputs
        self.__name__ = self.name
        self.__doc__ = definition.__doc__
        self.definition = definition
        signature = inspect.signature(definition)
        self._signature = signature.replace(parameters=list(signature.parameters.values())[1:])
        optional = [n for n, p in self._signature.parameters.items() if p.annotation == "Parameter | None"]
        self._switches = {role: SWITCHES[role] for role in optional}
        hints = get_type_hints(definition)
        keywords = [n for n, p in self._signature.parameters.items() if p.kind is inspect.Parameter.KEYWORD_ONLY]
        self._kinds = {name: hints[name] for name in keywords} | dict.fromkeys(self._switches.values(), bool)
        self._required = {n for n in keywords if self._signature.parameters[n].default is inspect.Parameter.empty}

    def __call__(self, *inputs: Net | Sequence[Net], name: str = "", **attributes: Any) -> Net:
        """The network of this function of its inputs, which may be named. Parameters that are left out become
        variables with the node's name and their role.

        Raises ArgumentError for inputs or attributes that it does not take, and for missing ones.
        """
        listed: list[Net] = []
        for one in inputs:
            listed += [one] if isinstance(one, Net) or not isinstance(one, Sequence) else one
        named = {key: attributes.pop(key) for key in self._inputs() if key in attributes}
        own = {key: as_attribute(value) for key, value in attributes.items()}
        self._check_attributes(own)
        given = self._bound(listed, named, own)
        sources = tuple(Net((entry_of(net, f"{self.name}: {key}"),)) for key, net in given)
        node = NetNode(self.name, sources, own, name)
        return Net(tuple((node, i) for i in range(self.outputs(own))))

    def check(self, count: int, attributes: Mapping[str, Any]) -> None:
        """Raises ArgumentError if a node of this function can't have so many inputs, or such attributes."""
        self._check_attributes(attributes)
        roles = self._roles(count, attributes)
        if (not roles and self._inputs()) or count != len(roles):
            raise ArgumentError(f"{self.name}: expected inputs {', '.join(r for r, _ in roles)}; found {count}")

    def _check_attributes(self, attributes: Mapping[str, Any]) -> None:
        known = ", ".join(sorted(self._kinds)) or "none"
        for what, wrong in (
            ("unknown", set(attributes) - set(self._kinds)), ("missing", self._required - set(attributes)),
        ):  # fmt: skip
            if wrong:
                raise ArgumentError(f"{self.name}: {what} attributes {', '.join(sorted(wrong))}; it has {known}")
        for name, value in attributes.items():
            if not is_of(value, self._kinds[name]):
                raise ArgumentError(f"{self.name}: {name} expects {kind_text(self._kinds[name])}, found {value!r:.200}")

    def apply(self, at: Site, inputs: Sequence[Parameter], attributes: Mapping[str, Any]) -> tuple[Value, ...]:
        """The values of a node in a graph. Raises ArgumentError if an input has no shape."""
        roles = self._roles(len(inputs), attributes)
        arguments: dict[str, Any] = {}
        several: list[Value] = []
        for (role, kind), found in zip(roles, inputs, strict=True):
            if kind == "Parameter":
                arguments[role] = found
            elif found.value is None:
                raise unknown_shape(found.name)
            elif kind == "several":
                several.append(found.value)
            else:
                arguments[role] = found.value
        absent = dict.fromkeys(set(self._switches) - set(arguments))
        own = {key: value for key, value in attributes.items() if key not in self._switches.values()}
        given: Any = self.definition(at, *several, **arguments, **absent, **own)
        return given if isinstance(given, tuple) else (given,)

    def _inputs(self) -> dict[str, str]:
        """The kind of each input by its name: Value, Parameter, or several."""
        kinds = {}
        for parameter in self._signature.parameters.values():
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                kinds[parameter.name] = "several"
            elif parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
                kinds[parameter.name] = "Parameter" if "Parameter" in str(parameter.annotation) else "Value"
        return kinds

    def _roles(self, count: int, attributes: Mapping[str, Any]) -> list[tuple[str, str]]:
        """The name and kind of each input of a node that has `count`."""
        inputs = self._inputs()
        if "several" in inputs.values():
            (role,) = inputs
            return [(role, "several")] * count
        return [(role, kind) for role, kind in inputs.items() if self._is_there(role, attributes)]

    def _is_there(self, role: str, attributes: Mapping[str, Any]) -> bool:
        return role not in self._switches or bool(attributes.get(self._switches[role], True))

    def _bound(self, listed: list[Net], named: dict[str, Net], attributes: Mapping[str, Any]) -> list[tuple[str, Net]]:
        inputs = self._inputs()
        if "several" in inputs.values():
            (role,) = inputs
            if not listed or named:
                raise ArgumentError(f"{self.name}: expected at least one input, found {len(listed)}")
            return [(role, net) for net in listed]
        roles = self._roles(0, attributes)
        if len(listed) > len(roles):
            raise ArgumentError(f"{self.name}: expected inputs {', '.join(r for r, _ in roles)}; found {len(listed)}")
        by_role = dict(zip((role for role, _ in roles), listed, strict=False)) | named
        result = []
        for role, kind in roles:
            if role not in by_role and kind == "Value":
                raise ArgumentError(f"{self.name}: expected input {role!r}, found none")
            own = Net(((NetNode(VARIABLE, (), {"shape": None, "dtype": "float32"}, role=role), 0),))
            result.append((role, by_role.get(role, own)))
        return result


def unknown_shape(name: str) -> ArgumentError:
    return ArgumentError(f"variable {name!r} has no shape; give shapes={{{name!r}: …}}")


def as_attribute(value: Any) -> Any:
    """Lists as tuples, as attributes and JSON have them."""
    return tuple(map(as_attribute, value)) if isinstance(value, (list, tuple)) else value


def type_of(variable: NetNode, shapes: Mapping[str, Sequence[Dim | str]], name: str) -> TensorType | None:
    """The type of a variable, None if its shape is not given."""
    assert variable.attributes is not None
    shape = shapes.get(name, variable.attributes["shape"])
    if shape is None:
        return None
    dims = tuple(Symbol(extent) if isinstance(extent, str) else extent for extent in shape)
    return TensorType.of(variable.attributes["dtype"], dims)
