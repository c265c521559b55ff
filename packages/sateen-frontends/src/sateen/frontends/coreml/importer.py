"""Makes a Graph and its parameters of the steps of a CoreML model, or a report of all gaps."""

from __future__ import annotations

from sateen.frontends.core.cut import part_of
from sateen.frontends.core.importer import Conversion, Importer
from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.place import Heading, Place
from sateen.frontends.core.report import Report
from sateen.frontends.coreml.loading import CoremlFile
from sateen.frontends.coreml.steps import Step, Steps
from sateen.graph_ir.ir import Graph
from sateen.runtime.errors import FrontendError


def import_coreml(file: CoremlFile, steps: Steps, bindings: Bindings) -> tuple[Graph | None, Report]:
    """The graph of a model, None if it has gaps, and the report of these. Raises FrontendError if it is malformed."""
    try:
        importer = CoremlImporter(file, steps, bindings)
        importer.bind_inputs()
        importer.read(importer.part.nodes, importer.scope, Place(importer.emitter))
        for name, labels in steps.labels.items():
            importer.emitter.label(name, labels)
        return importer.finish({})
    except FrontendError as error:
        error.add_note(f"in model {file.name!r}")
        raise


class CoremlImporter(Importer[Step]):
    def __init__(self, file: CoremlFile, steps: Steps, bindings: Bindings) -> None:
        inputs = {declared.name: declared for declared in steps.inputs}
        self.part = part_of(steps.steps, list(inputs), steps.outputs, lambda s: s.inputs, lambda s: s.outputs, bindings)
        self.declared = {declared.name: declared for declared in steps.declared}
        names = [*inputs, *(name for step in steps.steps for name in step.outputs)]
        declarations = [inputs[name] for name in self.part.inputs]
        super().__init__(file.name, "main", declarations, names, self.part.outputs, bindings, file.limits)

    def heading_of(self, node: Step, place: Place) -> Heading:
        return Heading(node.name, node.operator, node.inputs, node.outputs)

    def conversion_of(self, node: Step, heading: Heading) -> Conversion:
        return node.conversion()

    def declaration(self, name: str) -> Declaration | None:
        return self.declared.get(name)
