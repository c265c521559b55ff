"""Reads the nodes of a model in order: each becomes operators of a graph, or a gap.

A node that can't be converted is a gap; the nodes after it are looked up by their operators only, so that one reading
finds all gaps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import ChainMap, Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Generic, TypeVar

import numpy as np

from sateen.frontends.core.emitter import Allowance, Emitter
from sateen.frontends.core.inputs import (
    Bindings,
    Declaration,
    bound,
    constant_input,
    input_types,
    require_inputs,
    require_known,
)
from sateen.frontends.core.operands import Operand, binding_of, open_dimensions_of, require_bound, type_of
from sateen.frontends.core.place import UNKNOWN, Call, Heading, Place, Scope, Unknown
from sateen.frontends.core.report import BehindGapError, Gap, Report, UnsupportedError
from sateen.frontends.core.source import Limits
from sateen.graph_ir.ir import Array, Graph, NodeSpan, Value
from sateen.graph_ir.ops import Identity
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError, InferenceError, SateenError

P = TypeVar("P")
"""A node in the form of its format."""
Results = Sequence[Operand | Unknown]
Conversion = Callable[[Call], Results | None]
"""Gives the outputs of a node; None if they are unknown because of a gap inside it."""


class Importer(ABC, Generic[P]):
    """One reading of a model. `declarations` are those of the inputs that it reads, `names` the names of the model's
    own values, `outputs` the names of its results."""

    def __init__(
        self,
        model: str,
        graph: str,
        declarations: Sequence[Declaration],
        names: Iterable[str],
        outputs: Sequence[str],
        bindings: Bindings,
        limits: Limits,
    ) -> None:
        self.model = model
        self.limits = limits
        self.outputs = tuple(outputs)
        self.constants = bindings.constants
        given = {declared.name for declared in declarations}
        begun = [self._begun(name, bindings) for name in dict.fromkeys(bindings.inputs) if name not in given]
        inputs = [*(_told_by(bindings, declared) for declared in declarations), *begun]
        names = tuple(names)
        require_inputs([declared.name for declared in inputs], names, bindings)
        self.inputs, self.dims = input_types(inputs, bindings.shapes, bindings.dims)
        self._open = {name for type_ in self.inputs.values() for name in type_.symbols}
        self._allowance = Allowance()
        self.emitter = self.emitter_of(graph, names, outputs)
        self.scope: Scope = ChainMap({})
        self._gaps: list[Gap] = []
        self._operators: Counter[str] = Counter()
        self._unchecked = 0
        self._inner_nodes = 0

    @abstractmethod
    def heading_of(self, node: P, place: Place) -> Heading:
        """The parts of a node that every format has. Raises FrontendError if it can't be read."""

    @abstractmethod
    def conversion_of(self, node: P, heading: Heading) -> Conversion:
        """The conversion of a node, by its operator. Raises UnsupportedError if it can't be converted with any
        inputs."""

    @abstractmethod
    def declaration(self, name: str) -> Declaration | None:
        """The model's declaration of a value that it computes; None if there is none. Raises FrontendError for a value
        that is no tensor."""

    def _begun(self, name: str, bindings: Bindings) -> Declaration:
        """The declaration of a value at which the network begins; a constant tells its own. Raises FrontendError if it
        has no element type; `shapes` may give the shape."""
        declared = self.declaration(name)
        given = bindings.constants.get(name)
        if given is not None and declared is None:
            data = np.asarray(given)
            return Declaration(name, DType.of(data.dtype), data.shape)
        if declared is None:
            raise FrontendError(f"the network can't begin at {name!r}: the model does not say of what type it is")
        return _told_by(bindings, declared)

    def emitter_of(self, graph: str, names: Iterable[str], outputs: Iterable[str]) -> Emitter:
        """An emitter of a graph whose own values have these names."""
        return Emitter(graph, names, outputs, self.limits.tensor_bytes, self._allowance)

    def bind_inputs(self) -> None:
        """Make each input of the model an input of the graph, or the constant that the user gives for it."""
        for name, type_ in self.inputs.items():
            if name not in self.constants:
                self.scope[name] = self.emitter.input(name, type_)
        require_known(self.constants, self.inputs, "constants (--bind)", "inputs")
        for name, given in self.constants.items():
            self.scope[name] = constant_input(name, given, self.inputs[name])

    def define(self, scope: Scope, name: str, data: Array) -> None:
        """Define data of the model. Raises FrontendError if the user gives a constant of that name."""
        if scope is self.scope and name in self.constants:
            raise FrontendError(f"constant {name!r} has data in the model already")
        scope[name] = data

    def finish(self, opsets: Mapping[str, int]) -> tuple[Graph | None, Report]:
        """The graph, None if there are gaps, and the report of these, with the versions of operator sets.

        Raises FrontendError if an output has another element type than it declares.
        """
        if not self._gaps:
            for name in self.outputs:
                self._require_known(name)
        report = Report(self.model, opsets, dict(self._operators), tuple(self._gaps), self._unchecked)
        if self._gaps:
            return None, report
        for name in self.outputs:
            self.emitter.output(self._output(name))
        return self.emitter.finish(), report

    def _require_known(self, name: str) -> None:
        """Report an output that is data of dimensions without a number."""
        operand = self.scope[name]
        if not isinstance(operand, Unknown) and operand is not None:
            try:
                require_bound(open_dimensions_of(operand), "its value")
            except UnsupportedError as error:
                self._gaps.append(Gap(name, "output", "", 0, (), str(error), error.help))

    def _output(self, name: str) -> Value:
        """An output of the graph under its own name."""
        operand = self.scope[name]
        if isinstance(operand, Unknown):
            raise FrontendError(f"output {name!r}: {operand.reason}")
        assert operand is not None, name
        value = self.emitter.value(operand, f"{name}.data")
        declared = self.declaration(name)
        if declared is not None and declared.dtype != value.type.dtype:
            raise FrontendError(f"output {name!r} is declared {declared.dtype}, but computed as {value.type.dtype}")
        if value.name == name:
            return value
        return self.emitter.add(Identity(), (value,), (name,), (NodeSpan(self.model, name, "Identity"),))[0]

    def read(self, nodes: Iterable[P], scope: Scope, place: Place) -> None:
        """Convert nodes, each after those that it reads, and add their results to the scope."""
        for node in nodes:
            heading = self.heading_of(node, place)
            if place.depth:
                self._count_expanded()
            else:
                self._operators[heading.qualified_operator] += 1
            results = self._results_of(node, heading, scope, place)
            lacking = [_lacking(heading, len(results))] * (len(heading.outputs) - len(results))
            begun = self.inputs if scope is self.scope else ()
            named = zip(heading.outputs, (*results, *lacking), strict=False)
            scope.update((name, result) for name, result in named if name not in begun)

    def _count_expanded(self) -> None:
        self._inner_nodes += 1
        if self._inner_nodes > self.limits.expanded:
            raise FrontendError(f"expected at most {self.limits.expanded} nodes from functions, found more")

    def _results_of(self, node: P, heading: Heading, scope: Scope, place: Place) -> Results:
        """The outputs of a node; after a gap, values of the types that the model declares."""
        try:
            results = self._converted(node, heading, scope, place)
        except SateenError as error:
            if place.is_inner or place.is_trial:
                where = f"inside it, node {heading.name!r} ({heading.operator})"
                raise UnsupportedError(f"{where}: {error}", _remedy(error, heading, scope)) from error
            if isinstance(error, BehindGapError):
                self._unchecked += 1
            else:
                self._report(heading, scope, place, error)
            results = None
        return [self._stand_in(name, place) for name in heading.outputs] if results is None else results

    def _converted(self, node: P, heading: Heading, scope: Scope, place: Place) -> Results | None:
        conversion = self.conversion_of(node, heading)
        inputs = [scope[name] if name else None for name in heading.inputs]
        for operand in inputs:
            if isinstance(operand, Unknown) and operand.reason:
                raise FrontendError(operand.reason)
        known = tuple(operand for operand in inputs if not isinstance(operand, Unknown))
        if len(known) < len(inputs):
            self._unchecked += 1
            return None
        outputs = tuple(place.name_of(name) for name in heading.outputs)
        spans = place.spans or (NodeSpan(self.model, heading.name, heading.operator),)
        with _fitting(heading):
            return conversion(Call(heading, known, outputs, spans, scope, place))

    def inside(self, call: Call, results: Sequence[str], opsets: Mapping[str, int] | None = None) -> Place:
        """The place inside a node, whose outputs are called `results` there. Raises FrontendError if it is too deep."""
        self.require_depth(call.place)
        held = call.place.opsets if opsets is None else opsets
        return call.place.inside(call.outputs, results, call.spans, held)

    def require_depth(self, place: Place) -> None:
        """Raises FrontendError if no graph may be nested in a node there."""
        if place.depth >= self.limits.nesting:
            raise FrontendError(f"expected functions and branches nested at most {self.limits.nesting} deep")

    def _report(self, heading: Heading, scope: Scope, place: Place, error: SateenError) -> None:
        remedies = [_remedy(error, heading, scope), place.remedy]
        self._gaps.append(
            Gap(
                heading.name,
                heading.operator,
                heading.domain,
                heading.opset,
                tuple(_type_text(name, scope) for name in heading.inputs),
                str(error),
                "; or ".join(filter(None, remedies)),
            )
        )

    def _stand_in(self, name: str, place: Place) -> Operand | Unknown:
        """A value of the type that the model declares, so that the nodes after a gap can be checked. A type with
        dimensions that no input has would cause further gaps."""
        try:
            declared = self.declaration(name)
        except FrontendError:
            return UNKNOWN
        if declared is None or declared.type is None:
            return UNKNOWN
        known = bound(declared.type, self.dims)
        return place.emitter.stand_in(name, known) if self._open.issuperset(known.symbols) else UNKNOWN


def _told_by(bindings: Bindings, declared: Declaration) -> Declaration:
    """The declaration with the shape of the user's constant, if the model declares none."""
    given = bindings.constants.get(declared.name)
    if given is None or declared.shape is not None or declared.name in bindings.shapes:
        return declared
    return replace(declared, shape=np.shape(given))


def _lacking(heading: Heading, count: int) -> Unknown:
    """The result that a node has in the model, but not by its operator."""
    return Unknown(f"node {heading.name!r} ({heading.operator}) gives {count} results, the model reads more")


@contextmanager
def _fitting(heading: Heading) -> Iterator[None]:
    """Refuses a node whose inputs and attributes no model has that its framework wrote: converters rely on numbers of
    inputs, ranks and ranges that frameworks check. Raises FrontendError with the error that came of it as its cause."""
    try:
        yield
    except SateenError:
        raise
    except MemoryError:
        raise FrontendError(f"{heading.operator} asks for more memory than there is") from None
    except (ArithmeticError, IndexError, KeyError, RecursionError, TypeError, ValueError) as error:
        found = f"{type(error).__name__}: {error}"
        raise FrontendError(f"its inputs and attributes don't fit {heading.operator}: {found}") from error


def _remedy(error: SateenError, heading: Heading, scope: Scope) -> str:
    """What would help with a gap: types that don't fit may fit once the dimensions of inputs are known."""
    if isinstance(error, UnsupportedError):
        return error.help
    if not isinstance(error, InferenceError):
        return ""
    operands = [scope[name] for name in heading.inputs if name]
    known = [operand for operand in operands if isinstance(operand, (Value, np.ndarray))]
    return binding_of(name for operand in known for name in (*type_of(operand).symbols, *open_dimensions_of(operand)))


def _type_text(name: str, scope: Scope) -> str:
    operand = scope.get(name) if name else None
    if operand is None:
        return "none"
    return "?" if isinstance(operand, Unknown) else str(type_of(operand))
