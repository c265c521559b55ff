"""Makes a Graph and its parameters of the steps of a CoreML model, or a report of all gaps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from sateen.frontends.core.bodies import Bodies
from sateen.frontends.core.custom import custom_operator
from sateen.frontends.core.cut import part_of
from sateen.frontends.core.importer import Conversion, Importer, Results
from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.place import Call, Heading, Place
from sateen.frontends.core.report import Report, in_model
from sateen.frontends.coreml.allowed_sizes import require_allowed
from sateen.frontends.coreml.loading import CoremlFile
from sateen.frontends.coreml.steps import Step, Steps
from sateen.graph_ir.ir import Graph, OpSet
from sateen.runtime.errors import FrontendError


def import_coreml(file: CoremlFile, steps: Steps, bindings: Bindings, operators: OpSet) -> tuple[Graph | None, Report]:
    """The graph of a model, None if it has gaps, and the report of these. Raises FrontendError if it is malformed."""
    with in_model(file.name):
        return _imported(file, steps, bindings, _computed_types(file, steps, bindings, operators), operators)


def _imported(
    file: CoremlFile, steps: Steps, bindings: Bindings, types: Mapping[str, Declaration], operators: OpSet
) -> tuple[Graph | None, Report]:
    importer = CoremlImporter(file, steps, bindings, types, operators)
    importer.bind_inputs()
    importer.read(importer.part.nodes, importer.scope, Place(importer.emitter))
    for name, labels in steps.labels.items():
        importer.emitter.label(name, labels)
    graph, report = importer.finish({})
    return (None if graph is None else _with_states(graph, steps.states)), report


def _with_states(graph: Graph, states: Mapping[str, str]) -> Graph:
    """The graph whose next values of states may reuse the memory of the states. Raises FrontendError where a state
    would change its type."""
    inputs = {value.name: value for value in graph.inputs}
    aliases = {output: inputs[states[output.name]] for output in graph.outputs if states.get(output.name) in inputs}
    for after, before in aliases.items():
        if after.type != before.type:
            raise FrontendError(f"state {before.name!r} is {before.type}, but {after.type} is written to it")
    return replace(graph, aliases=aliases) if aliases else graph


def _computed_types(file: CoremlFile, steps: Steps, bindings: Bindings, operators: OpSet) -> Mapping[str, Declaration]:
    """The types of blobs at which the network begins, as the layers in front compute them: networks declare none.

    Nothing of a blob whose shape the user gives; nothing at all if those layers can't be read.
    """
    stated = {declared.name: declared for declared in steps.declared}
    wanted = [
        name
        for name in dict.fromkeys(bindings.inputs)
        if name in stated and stated[name].shape is None and name not in {*bindings.shapes, *bindings.constants}
    ]
    if not wanted:
        return {}
    try:
        graph, _ = _imported(file, steps, Bindings(outputs=wanted), {}, operators)
    except FrontendError:
        return {}
    values = () if graph is None else graph.outputs
    return {value.name: Declaration(value.name, value.type.dtype, value.type.shape) for value in values}


class CoremlImporter(Importer[Step]):
    """`types` are those of values at which the network begins, where the model does not declare them."""

    def __init__(
        self,
        file: CoremlFile,
        steps: Steps,
        bindings: Bindings,
        types: Mapping[str, Declaration],
        operators: OpSet,
    ) -> None:
        self.known = operators
        inputs = {declared.name: declared for declared in steps.inputs}
        self.part = part_of(steps.steps, list(inputs), steps.outputs, lambda s: s.inputs, lambda s: s.outputs, bindings)
        self.declared = {**{declared.name: declared for declared in steps.declared}, **types}
        names = [*inputs, *(name for step in steps.steps for name in step.outputs)]
        declarations = [inputs[name] for name in self.part.inputs]
        super().__init__(file.name, "main", declarations, names, self.part.outputs, bindings, file.limits)
        require_allowed(file.model.description, {name: type_ for name, type_ in self.inputs.items() if name in inputs})

    def heading_of(self, node: Step, place: Place) -> Heading:
        return Heading(node.name, node.operator, node.inputs, node.outputs)

    def conversion_of(self, node: Step, heading: Heading) -> Conversion:
        if node.control is not None:
            return partial(_opened, self, node.control)
        operator = None if node.custom is None else custom_operator(self.known, node.custom.kind, "coreml")
        return node.conversion() if node.custom is None or operator is None else partial(node.custom.convert, operator)

    def declaration(self, name: str) -> Declaration | None:
        return self.declared.get(name)


def _opened(importer: CoremlImporter, control: Callable[[Bodies[Step]], Results | None], call: Call) -> Results | None:
    return control(Bodies(importer, call))
