"""A model as steps, whatever its kind: a network, an ML program, or a pipeline, whose models follow each other."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from sateen.frontends.core.importer import Conversion
from sateen.frontends.core.inputs import Declaration
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.coreml.loading import CoremlFile, Message, kind_of
from sateen.frontends.coreml.network.layers import steps_of_network
from sateen.frontends.coreml.program.operations import steps_of_program
from sateen.frontends.coreml.steps import Step, Steps
from sateen.runtime.errors import FrontendError
from sateen.runtime.signature import LONGEST_NAME

MOST_FEATURES = 250
"""The most inputs and outputs: a compiled function takes 255 (docs/design/abi.md)."""


def steps_of(file: CoremlFile) -> Steps:
    """The steps of a model. Raises FrontendError if it is malformed."""
    found = _steps_of_model(file.model, file)
    names = [*(declared.name for declared in found.inputs), *found.outputs]
    if not found.outputs or len(names) > MOST_FEATURES:
        raise FrontendError(f"expected a model with outputs, and at most {MOST_FEATURES} features, found {len(names)}")
    for name in names:
        if not (name.isprintable() and 0 < len(name) <= LONGEST_NAME):
            raise FrontendError(
                f"expected names of features as printable text of 1 to {LONGEST_NAME} characters, found "
                f"{name[:LONGEST_NAME]!r}"
            )
    if len(set(names)) < len(names):
        raise FrontendError(f"expected features of different names, found {', '.join(sorted(names))}")
    _require_makers(found)
    return found


def _require_makers(steps: Steps) -> None:
    """Raises FrontendError for a value that nothing gives."""
    known = {declared.name for declared in steps.inputs}.union(*(step.outputs for step in steps.steps))
    for step in steps.steps:
        if missing := [name for name in step.inputs if name and name not in known]:
            raise FrontendError(f"{step.operator} {step.name!r}: expected {missing[0]!r}, which nothing gives")
    if missing := [name for name in steps.outputs if name not in known]:
        raise FrontendError(f"output {missing[0]!r}: nothing gives it")


def _steps_of_model(model: Message, file: CoremlFile) -> Steps:
    match kind_of(model):
        case "neuralNetwork" | "neuralNetworkClassifier" | "neuralNetworkRegressor" as kind:
            return steps_of_network(getattr(model, kind), model.description)
        case "mlProgram":
            return steps_of_program(model.mlProgram, model.description, file)
        case "pipeline":
            return _steps_of_pipeline(model.pipeline, model.description, file)
        case "pipelineClassifier" | "pipelineRegressor" as kind:
            return _steps_of_pipeline(getattr(model, kind).pipeline, model.description, file)
        case kind:
            raise UnsupportedError(f"{kind or 'this kind of model'} is not supported")


def _steps_of_pipeline(pipeline: Message, description: Message, file: CoremlFile) -> Steps:
    """Features connect the models by name; what is inside a model gets its name before it where it is taken."""
    given = [feature.name for feature in description.input]
    declared: dict[str, Declaration] = {}
    known, taken = set(given), {*given, *(feature.name for feature in description.output)}
    steps: list[Step] = []
    inside_types: list[Declaration] = []
    labels: dict[str, tuple[str, ...]] = {}
    for index, model in enumerate(pipeline.models):
        name = pipeline.names[index] if index < len(pipeline.names) else str(index)
        stage = _steps_of_stage(model, name, file)
        for declaration in stage.inputs:
            if declaration.name not in known:
                raise FrontendError(f"model {name!r} of the pipeline: nothing gives its input {declaration.name!r}")
            if declaration.name in given:
                declared.setdefault(declaration.name, declaration)
        features = {*stage.outputs, *(declaration.name for declaration in stage.inputs)}
        if again := known & set(stage.outputs):
            raise FrontendError(f"model {name!r} of the pipeline: expected new outputs, found {min(again)!r} again")
        inner = {output for step in stage.steps for output in step.outputs} - features
        renamed = {inside: f"{name}/{inside}" for inside in inner if inside in taken}
        steps += [_renamed(step, renamed) for step in stage.steps]
        inside_types += [replace(type_, name=renamed.get(type_.name, type_.name)) for type_ in stage.declared]
        known |= set(stage.outputs)
        labels.update(stage.labels)
        taken |= {renamed.get(inside, inside) for inside in inner} | features
    outputs = [output.name for output in description.output if output.name in known]
    return Steps([declared[feature] for feature in given if feature in declared], steps, outputs, inside_types, labels)


def _steps_of_stage(model: Message, name: str, file: CoremlFile) -> Steps:
    """The steps of a model in a pipeline; one that is no network is a gap."""
    if kind_of(model) is not None:
        return _steps_of_model(model, file)
    inputs = tuple(feature.name for feature in model.description.input)
    outputs = tuple(feature.name for feature in model.description.output)
    return Steps([], [Step(name, "model", inputs, outputs, partial(_refused, name))], outputs)


def _refused(name: str) -> Conversion:
    raise UnsupportedError(
        f"model {name!r} of the pipeline is no network", "read the pipeline up to it: outputs=, or --to"
    )


def _renamed(step: Step, names: dict[str, str]) -> Step:
    inputs, outputs = (tuple(names.get(n, n) for n in each) for each in (step.inputs, step.outputs))
    return replace(step, inputs=inputs, outputs=outputs)
