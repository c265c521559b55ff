"""Makes a Graph and its parameters of an exported program, or a report of all gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import inf

import numpy as np

from sateen.frontends.core.bodies import Bodies
from sateen.frontends.core.custom import custom_operator
from sateen.frontends.core.cut import part_of
from sateen.frontends.core.folding import converted
from sateen.frontends.core.importer import Conversion, Importer, Results
from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.operands import Operand, type_of
from sateen.frontends.core.place import Call, Heading, Place
from sateen.frontends.core.report import Report, UnsupportedError
from sateen.frontends.core.source import Limits
from sateen.frontends.torch.control_flow import CONTROL_FLOW, TOKEN
from sateen.frontends.torch.converters import CONVERTERS, key_of
from sateen.frontends.torch.custom import converted_custom
from sateen.frontends.torch.element_types import dtype_of
from sateen.frontends.torch.node import TorchNode
from sateen.frontends.torch.program import Program, ProgramNode, ValueType
from sateen.frontends.torch.refusals import refusal_of
from sateen.frontends.torch.structure import check_structure, named_tensors
from sateen.graph_ir.ir import Graph, OpSet, Symbol, Value
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator

STRIDED = 7
"""The layout of ordinary tensors."""


def import_program(
    program: Program, bindings: Bindings, limits: Limits, operators: OpSet
) -> tuple[Graph | None, Report]:
    """The graph of a program, None if it has gaps, and the report of these. Raises FrontendError if it is
    malformed."""
    try:
        return TorchImporter(program, bindings, limits, operators).run()
    except FrontendError as error:
        error.add_note(f"in program {program.place!r}")
        raise


def declaration_of(program: Program, name: str) -> Declaration:
    """The type of a value; dimensions whose expression has no meaning here are Symbols called `value.axis`.

    Raises FrontendError if the program declares none, or one that sateen does not have.
    """
    declared = program.graph.declared.get(name)
    if declared is None:
        raise FrontendError(f"expected a declared type of {name!r}, found none")
    return _declaration(name, declared)


def _declaration(name: str, declared: ValueType) -> Declaration:
    if declared.layout != STRIDED:
        raise FrontendError(f"{name!r}: expected a tensor with a place for each element, found a sparse one")
    shape = tuple(Symbol(f"{name}.{axis}") if d is None else d for axis, d in enumerate(declared.shape))
    try:
        return Declaration(name, dtype_of(declared.element_type), shape)
    except UnsupportedError as error:
        raise FrontendError(f"{name!r}: {error}") from None


class TorchImporter(Importer[ProgramNode]):
    def __init__(self, program: Program, bindings: Bindings, limits: Limits, operators: OpSet) -> None:
        self.known = operators
        check_structure(program)
        self.program = program
        self.graph = program.graph
        self.tensors = named_tensors(program)
        nodes, outputs = self.graph.nodes, tuple(map(self.named, program.outputs))
        self.part = part_of(nodes, program.inputs, outputs, ProgramNode.reads, lambda node: node.outputs, bindings)
        declarations = [declaration_of(program, name) for name in self.part.inputs if name in program.inputs]
        names = [*self.tensors.values(), *program.inputs, *(name for node in nodes for name in node.outputs if name)]
        super().__init__(program.place, "program", declarations, names, self.part.outputs, bindings, limits)
        for name, size in self.dims.items():
            least, most = program.ranges.get(name, (0, inf))
            if not least <= size <= most:
                sizes = f"{least} or more" if most == inf else f"{least} to {most}"
                raise FrontendError(f"dimension {name!r}: the program is made for {sizes}, found {size}")

    def run(self) -> tuple[Graph | None, Report]:
        self.bind_inputs()
        for given, name in self.tensors.items():
            self.define(self.scope, name, self.program.data[self.program.parameters[given]])
        self.scope.update(dict.fromkeys(self.program.tokens, TOKEN))
        self.read(self.part.nodes, self.scope, Place(self.emitter))
        graph, report = self.finish({})
        return graph and replace(graph, aliases=self.aliases(graph)), report

    def aliases(self, graph: Graph) -> dict[Value, Value]:
        """Of each buffer that a run changes, the output with its next value, which may take the place of the input."""
        inputs, outputs = ({v.name: v for v in values} for values in (graph.inputs, graph.outputs))
        pairs = {after: before for before, after in self.program.state.items()}
        return {
            outputs[after]: inputs[before]
            for after, before in pairs.items()
            if after in outputs and before in inputs and outputs[after].type == inputs[before].type
        }

    def named(self, name: str) -> str:
        """The name of a value in the graph: tensors have their own names, others those of the program."""
        return self.tensors.get(name, name)

    def declaration(self, name: str) -> Declaration | None:
        declared = self.graph.declared.get(name)
        return None if declared is None else _declaration(name, declared)

    def heading_of(self, node: ProgramNode, place: Place) -> Heading:
        operator = node.target.removeprefix("aten.").removesuffix(".default")
        names = node.reads() if place.depth else map(self.named, node.reads())  # inner graphs have names of their own
        return Heading(node.name, operator, tuple(names), node.outputs)

    def conversion_of(self, node: ProgramNode, heading: Heading) -> Conversion:
        if node.target in CONTROL_FLOW:
            return partial(self._control_flow, node)
        key = key_of(node.target)
        if key is not None:
            return partial(self._converted_by, node, key)
        operator = custom_operator(self.known, node.target.removesuffix(".default").replace(".", ">"), "torch")
        if operator is None:
            raise refusal_of(node.target)
        return partial(self._custom, node, operator)

    def _custom(self, node: ProgramNode, operator: type[Operator], call: Call) -> Results:
        results = converted_custom(TorchNode(node, call), operator)
        _check_results(results, TorchNode(node, call))
        return results

    def _control_flow(self, node: ProgramNode, call: Call) -> Results | None:
        return CONTROL_FLOW[node.target](TorchNode(node, call), Bodies(self, call))

    def _converted_by(self, node: ProgramNode, key: str, call: Call) -> Results:
        view = TorchNode(node, call)
        results = converted(view, CONVERTERS[key])
        if view.unread:
            raise UnsupportedError(f"argument {view.unread[0]!r} is not supported")
        _check_results(results, view)
        return results


def _check_results(results: Sequence[Operand], node: TorchNode) -> None:
    """Raises FrontendError if a result has another type than the program declares."""
    for result, declared, name in zip(results, node.node.declared, node.outputs, strict=False):
        if declared is None:
            continue
        found = type_of(result)
        if isinstance(result, np.ndarray) and result.dtype == object:  # dimensions, which are int64
            dtype_fits = True
        else:
            dtype_fits = found.dtype == dtype_of(declared.element_type)
        shape_fits = len(found.shape) == len(declared.shape) and all(
            not isinstance(a, int) or not isinstance(b, int) or a == b
            for a, b in zip(found.shape, declared.shape, strict=True)
        )
        if not dtype_fits or not shape_fits:
            raise FrontendError(f"the program declares {name!r} otherwise than it computes it: {found}")
