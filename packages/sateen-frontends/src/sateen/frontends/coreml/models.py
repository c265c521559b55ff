"""A model as steps, whatever its kind: a network, an ML program, an estimator, or a pipeline, whose models follow each
other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

from sateen.frontends.core.importer import Conversion
from sateen.frontends.core.inputs import Declaration
from sateen.frontends.core.refusals import END
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.coreml.estimators.models import steps_of_estimator
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
        case str(kind):
            return steps_of_estimator(kind, getattr(model, kind), model.description)
        case None:
            raise UnsupportedError("this kind of model is not supported")


def _steps_of_pipeline(pipeline: Message, description: Message, file: CoremlFile) -> Steps:
    """Features connect the models by name, and a model may give one anew. What is inside a model, or is given anew
    later, gets the model's name before its own where that is taken."""
    wanted = [output.name for output in description.output]
    given = [feature.name for feature in description.input]
    stages = [
        (name, _steps_of_stage(model, name, file))
        for name, model in zip(_names_of_stages(pipeline), pipeline.models, strict=True)
    ]
    last = {name: index for index, (_, stage) in enumerate(stages) for name in stage.outputs}
    joined = _Joined({name: name for name in given}, {*given, *wanted})
    declared: dict[str, Declaration] = {}
    for index, (name, stage) in enumerate(stages):
        if stage.states:
            raise UnsupportedError(
                f"model {name!r} of the pipeline has state, which is not supported in pipelines", END
            )
        for declaration in stage.inputs:
            if declaration.name not in joined.current:
                raise FrontendError(f"model {name!r} of the pipeline: nothing gives its input {declaration.name!r}")
            if joined.current[declaration.name] == declaration.name and declaration.name in given:
                declared.setdefault(declaration.name, declaration)
        joined.add(stage, name, {n for n in stage.outputs if n in wanted and last[n] == index})
    inputs = [declared[feature] for feature in given if feature in declared]
    outputs = [name for name in wanted if name in last]
    return Steps(inputs, joined.steps, outputs, joined.declared, joined.labels)


@dataclass(slots=True)
class _Joined:
    """Models that follow each other: what each feature is called now, all names that are taken, and the steps."""

    current: dict[str, str]
    taken: set[str]
    steps: list[Step] = field(default_factory=list)
    declared: list[Declaration] = field(default_factory=list)
    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def add(self, stage: Steps, name: str, final: set[str]) -> None:
        """The steps of the next model; `final` outputs are those of the pipeline, and keep their names."""
        gives = {output for step in stage.steps for output in step.outputs}
        named = {output: output if output in final else self._free(name, output) for output in sorted(gives)}
        names = dict(self.current)
        for step in stage.steps:
            inputs = tuple(names.get(read, read) for read in step.inputs)
            names.update((output, named[output]) for output in step.outputs)
            self.steps.append(replace(step, inputs=inputs, outputs=tuple(named[output] for output in step.outputs)))
        self.declared += [replace(type_, name=named.get(type_.name, type_.name)) for type_ in stage.declared]
        self.labels.update((named.get(output, output), labels) for output, labels in stage.labels.items())
        self.current.update((output, named.get(output, output)) for output in stage.outputs)

    def _free(self, stage: str, name: str) -> str:
        found = name if name not in self.taken else f"{stage}/{name}"
        while found in self.taken:
            found += "_"
        self.taken.add(found)
        return found


def _names_of_stages(pipeline: Message) -> list[str]:
    """The names of a pipeline's models; those without one are numbered."""
    given = list(pipeline.names)[: len(pipeline.models)]
    return [*given, *map(str, range(len(given), len(pipeline.models)))]


def _steps_of_stage(model: Message, name: str, file: CoremlFile) -> Steps:
    """The steps of a model in a pipeline; one of a kind that is not read is a gap."""
    if kind_of(model) is not None:
        return _steps_of_model(model, file)
    inputs = tuple(feature.name for feature in model.description.input)
    outputs = tuple(feature.name for feature in model.description.output)
    return Steps([], [Step(name, "model", inputs, outputs, partial(_refused, name))], outputs)


def _refused(name: str) -> Conversion:
    raise UnsupportedError(
        f"model {name!r} of the pipeline is of a kind that is not supported",
        END,
    )
