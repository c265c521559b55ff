"""A neural network as steps: its layers in order, and what happens at its borders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from sateen.frontends.core.folding import converted
from sateen.frontends.core.importer import Conversion, Results
from sateen.frontends.core.inputs import Declaration
from sateen.frontends.core.node import ModelNode
from sateen.frontends.core.operands import Operand
from sateen.frontends.core.order import in_order
from sateen.frontends.core.place import Call
from sateen.frontends.coreml.features import Feature, feature_of, is_tensor
from sateen.frontends.coreml.loading import Message
from sateen.frontends.coreml.network.borders import (
    blob_shape,
    preprocessing_of,
    sequence_blob,
    sequence_shape,
    to_blob,
    to_feature,
)
from sateen.frontends.coreml.network.converters import CONVERTERS
from sateen.frontends.coreml.network.custom import custom_of
from sateen.frontends.coreml.network.node import FLOAT, LayerNode
from sateen.frontends.coreml.network.refusals import refusal_of
from sateen.frontends.coreml.steps import Step, Steps
from sateen.graph_ir.ir import Dim, Symbol
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

_FIRST_NEW_LAYER = 600
"""The layers of versions 1 to 3 have numbers below this one; they take blobs of rank 5."""
_SEQUENCE_LAYERS = frozenset({"simpleRecurrent", "gru", "uniDirectionalLSTM", "biDirectionalLSTM", "embedding"})
_EXACT, _RANK_4 = 1, 1
"""Values of the mappings of arrays and pictures that are not those to rank 5."""


def steps_of_network(network: Message, description: Message) -> Steps:
    """The steps of a network, a classifier or a regressor. Raises FrontendError if it is malformed."""
    features = [_with_shape(feature_of(given)) for given in description.input]
    layers = network.layers
    check_names(layers, [feature.name for feature in features])
    blobs = _Blobs.of(network, features)
    outputs = _outputs(network, description)
    names = {*outputs, *(feature.name for feature in features)}
    names.update(name for layer in layers for name in (*layer.input, *_gives(layer)))
    renamed: dict[str, str] = {}
    steps: list[Step] = []
    declared: list[Declaration] = []
    for feature in features:
        shape = blobs.given_shape(feature)
        declared.append(Declaration(feature.name, feature.dtype, shape))
        pixels = preprocessing_of(network.preprocessing, feature, sum(other.is_picture for other in features))
        blob = blobs.shape(feature)
        if pixels or blob != shape or feature.dtype != FLOAT:
            renamed[feature.name] = _fresh(feature.name, names)
            term = "imageType" if feature.is_picture else "multiArrayType"
            enter = _border(partial(_enter, feature, shape, pixels, blob))
            steps.append(Step(feature.name, term, (feature.name,), (renamed[feature.name],), enter))
    leaving = [output for output in outputs.values() if blobs.changes(output)]
    renamed.update({o.blob: _fresh(o.blob, names) for o in leaving if o.blob == o.name and o.blob not in renamed})
    for layer in layers:
        kind = layer.WhichOneof("layer") or "none"
        reads, gives = (tuple(renamed.get(n, n) for n in each) for each in (layer.input, _gives(layer)))
        conversion = partial(_conversion_of, layer, kind, has_batch=not blobs.is_old)
        name = layer.name or next(iter(gives), kind)
        steps.append(Step(name, kind, reads, gives, conversion, custom=custom_of(layer)))
    for output in leaving:
        blob_name = (renamed.get(output.blob, output.blob),)
        steps.append(Step(output.name, "multiArrayType", blob_name, (output.name,), _border(blobs.leave(output))))
    ordered = in_order(steps, lambda step: step.inputs, lambda step: step.outputs, lambda step: f"layer {step.name!r}")
    scores, classes = description.predictedProbabilitiesName, _classes(network)
    held = [Declaration(name, FLOAT, None) for step in steps for name in step.outputs if name not in outputs]
    return Steps(declared, ordered, list(outputs), held, {scores: classes} if scores and classes else {})


def _classes(network: Message) -> tuple[str, ...]:
    """The names of a classifier's classes."""
    kind = network.WhichOneof("ClassLabels")
    return tuple(map(str, getattr(network, kind).vector)) if kind else ()


def _with_shape(feature: Feature) -> Feature:
    if feature.shape is None:
        raise FrontendError(f"feature {feature.name!r}: expected a shape, found none")
    return feature


@dataclass(frozen=True, slots=True)
class _Output:
    """An output, the blob that it is, and its feature if that is an array or a picture."""

    name: str
    blob: str
    feature: Feature | None

    @property
    def dtype(self) -> DType:
        return FLOAT if self.feature is None else self.feature.dtype


@dataclass(frozen=True, slots=True)
class _Blobs:
    """How a network maps features to blobs. `is_old`: to those of rank 5, of which Batch is left out, since it is 1."""

    is_old: bool
    arrays_are_exact: bool
    pictures_are_exact: bool
    sequences: frozenset[str]

    @classmethod
    def of(cls, network: Message, features: Sequence[Feature]) -> _Blobs:
        arrays, pictures = network.arrayInputShapeMapping == _EXACT, network.imageInputShapeMapping == _RANK_4
        is_old = not arrays and not pictures and _is_old(network.layers, features)
        sequences = _sequence_inputs(network.layers, features) if is_old else frozenset[str]()
        return cls(is_old, arrays, pictures, sequences)

    def given_shape(self, feature: Feature) -> tuple[Dim, ...]:
        """The shape of an input as it is given."""
        assert feature.shape is not None
        return sequence_shape(feature) if feature.name in self.sequences else feature.shape

    def shape(self, feature: Feature) -> tuple[Dim, ...]:
        """The shape of the blob of an input."""
        if feature.name in self.sequences:
            return sequence_blob(self.given_shape(feature), has_batch=not self.is_old)
        is_exact = self.pictures_are_exact if feature.is_picture else self.arrays_are_exact
        return blob_shape(feature, is_rank_5=not is_exact, has_batch=not self.is_old)

    def squeezes(self, output: _Output) -> bool:
        return self.is_old and (output.feature is None or not output.feature.is_picture)

    def changes(self, output: _Output) -> bool:
        """Whether an output is not just a blob."""
        return self.squeezes(output) or output.dtype != FLOAT or output.blob != output.name

    def leave(self, output: _Output) -> Callable[[ModelNode], Operand]:
        """What makes an output of its blob."""
        shape = () if output.feature is None else output.feature.shape or ()
        extents = tuple(extent for extent in shape if isinstance(extent, int))
        declared = extents if len(extents) == len(shape) else ()
        return partial(to_feature, declared=declared, dtype=output.dtype, squeezes=self.squeezes(output))


def _enter(
    feature: Feature, shape: tuple[Dim, ...], pixels: Sequence[Message], blob: tuple[Dim, ...], node: ModelNode
) -> Operand:
    """The blob of an input, whose open dimensions may have got numbers."""
    given = node.shape(0)
    sizes = {dim: extent for dim, extent in zip(shape, given, strict=True) if isinstance(dim, Symbol)}
    bound = tuple(sizes.get(dim, dim) if isinstance(dim, Symbol) else dim for dim in blob)
    return to_blob(node, replace(feature, shape=given), pixels, bound)


def _border(convert: Callable[[ModelNode], Operand]) -> Callable[[], Conversion]:
    """The conversion of a border, which is always known."""
    return lambda: lambda call: converted(ModelNode(call, {}), convert)


def _conversion_of(layer: Message, kind: str, *, has_batch: bool) -> Conversion:
    """The conversion of a layer. Raises UnsupportedError for kinds that can't be compiled."""
    if kind not in CONVERTERS:
        raise refusal_of(kind)
    return partial(_convert, getattr(layer, kind), kind, has_batch)


def _convert(parameters: Message, kind: str, has_batch: bool, call: Call) -> Results:
    return converted(LayerNode(call, parameters, has_batch), CONVERTERS[kind])


def _is_old(layers: Iterable[Message], features: Sequence[Feature]) -> bool:
    """Whether no blob of a network has a Batch other than 1, so that it is left out."""
    old = all(_number(layer) < _FIRST_NEW_LAYER for layer in layers)
    return old and all(len(f.shape or ()) != 5 or (f.shape or ())[1] == 1 for f in features)


def _number(layer: Message) -> int:
    kind = layer.WhichOneof("layer")
    return 0 if kind is None else int(type(layer).DESCRIPTOR.fields_by_name[kind].number)


def _sequence_inputs(layers: Sequence[Message], features: Sequence[Feature]) -> frozenset[str]:
    """Vectors that are steps of a sequence: in a network of recurrent layers, all but their states."""
    if not any(layer.WhichOneof("layer") in _SEQUENCE_LAYERS for layer in layers):
        return frozenset()
    read: set[str] = set()
    for layer in layers:
        is_recurrent = layer.WhichOneof("layer") in _SEQUENCE_LAYERS
        read.update(list(layer.input)[:1] if is_recurrent else layer.input)
    return frozenset(f.name for f in features if f.name in read and len(f.shape or ()) == 1)


def _outputs(network: Message, description: Message) -> dict[str, _Output]:
    """The outputs by name. Raises FrontendError for one that is no blob.

    The label of a classifier is left out; its dictionary of probabilities is the blob that they come from.
    """
    given = {name for layer in network.layers for name in _gives(layer)}
    given.update(feature.name for feature in description.input)
    found: dict[str, _Output] = {}
    for output in description.output:
        if is_tensor(output):
            found[output.name] = _Output(output.name, output.name, feature_of(output))
        elif output.type.WhichOneof("type") == "dictionaryType":
            last = network.layers[-1].output[:1] if network.layers else []
            blob = network.labelProbabilityLayerName or next(iter(last), "")
            found[output.name] = _Output(output.name, blob, None)
        elif output.name != description.predictedFeatureName or output.name in given:
            found[output.name] = _Output(output.name, output.name, None)
    for output in found.values():
        if output.blob not in given:
            raise FrontendError(f"output {output.name!r}: expected the blob {output.blob!r}, which no layer gives")
    return found


def _gives(layer: Message) -> Sequence[str]:
    """The blobs that a layer gives; those of branches and loops are given by the layers within."""
    names = dict.fromkeys(layer.output)
    kind = layer.WhichOneof("layer")
    if kind in ("branch", "loop"):
        for _, network in getattr(layer, kind).ListFields():
            for inner in getattr(network, "layers", ()):
                names.update(dict.fromkeys(_gives(inner)))
    return list(names)


def _fresh(name: str, names: set[str]) -> str:
    """A name beside another that nothing has."""
    found = f"{name}.blob"
    while found in names:
        found += "_"
    names.add(found)
    return found


def check_names(layers: Iterable[Message], given: Sequence[str]) -> None:
    """Raises FrontendError for a blob that two layers give or that nothing gives."""
    makers: dict[str, str] = dict.fromkeys(given, "an input")
    layers = list(layers)
    for layer in layers:
        for name in _gives(layer):
            if name in makers and layer.WhichOneof("layer") not in ("branch", "loop"):
                raise FrontendError(f"layer {layer.name!r}: expected a new name of its output, found {name!r} again")
            makers.setdefault(name, layer.name)
    for layer in layers:
        missing = [name for name in layer.input if name not in makers]
        if missing:
            raise FrontendError(f"layer {layer.name!r}: expected the blob {missing[0]!r}, which nothing gives")
