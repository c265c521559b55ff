"""A model that is no network as one step."""

from __future__ import annotations

from functools import partial

from sateen.frontends.core.folding import converted
from sateen.frontends.core.importer import Conversion, Results
from sateen.frontends.core.inputs import Declaration
from sateen.frontends.core.place import Call
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.coreml.estimators.classes import classes_of
from sateen.frontends.coreml.estimators.converters import CONVERTERS, REFUSALS
from sateen.frontends.coreml.estimators.node import EstimatorNode
from sateen.frontends.coreml.features import array_of
from sateen.frontends.coreml.loading import Message
from sateen.frontends.coreml.steps import Step, Steps
from sateen.runtime.errors import FrontendError

_BOXES = "nonMaximumSuppression"


def steps_of_estimator(kind: str, parameters: Message, description: Message) -> Steps:
    """The step of a model. Raises FrontendError for features that are no numbers."""
    features = [array_of(given) for given in description.input if _reads(kind, parameters, given.name)]
    declared = []
    for feature in features:
        if feature.shape is None:
            raise FrontendError(f"feature {feature.name!r}: expected a shape, found none")
        declared.append(Declaration(feature.name, feature.dtype, feature.shape))
    labels, outputs = _labels(kind, parameters, description), _outputs(description)
    step = Step(
        next(iter(outputs), kind), kind, tuple(given.name for given in declared), outputs,
        partial(_conversion_of, kind, parameters, gives_label=description.predictedFeatureName in outputs),
    )  # fmt: skip
    return Steps(declared, [step], outputs, labels=labels)


def _reads(kind: str, parameters: Message, name: str) -> bool:
    """Whether a feature is read: thresholds of suppression are the model's own."""
    names = (parameters.confidenceInputFeatureName, parameters.coordinatesInputFeatureName) if kind == _BOXES else ()
    return kind != _BOXES or name in names


def _outputs(description: Message) -> tuple[str, ...]:
    """The outputs, without the label of a classifier that gives probabilities, too."""
    label, probabilities = description.predictedFeatureName, description.predictedProbabilitiesName
    names = tuple(output.name for output in description.output)
    return tuple(n for n in names if n != label) if probabilities and probabilities in names else names


def _labels(kind: str, parameters: Message, description: Message) -> dict[str, tuple[str, ...]]:
    classes = classes_of(parameters)
    name = parameters.confidenceOutputFeatureName if kind == _BOXES else description.predictedProbabilitiesName
    return {name: classes} if name and classes else {}


def _conversion_of(kind: str, parameters: Message, *, gives_label: bool) -> Conversion:
    if kind not in CONVERTERS:
        raise UnsupportedError(*REFUSALS[kind])
    if gives_label and classes_of(parameters):
        raise UnsupportedError(
            "a classifier that gives a label alone is not supported", "convert it with its probabilities"
        )
    return partial(_convert, kind, parameters)


def _convert(kind: str, parameters: Message, call: Call) -> Results:
    return converted(EstimatorNode(call, parameters), CONVERTERS[kind])
