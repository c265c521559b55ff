"""The network of a .prototxt: the layers of phase TEST with the values that they read and give.

A layer whose top is its bottom overwrites it (`core/blobs.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from sateen.frontends.caffe.text_format import Message, Scalar, Word, shown
from sateen.frontends.core.blobs import Blobs
from sateen.frontends.core.inputs import Declaration
from sateen.frontends.core.source import Limits
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError, printable

FLOAT = DType.of("float32")
"""The type of every blob."""
MOST_EXTENT = 2**31 - 1
"""Caffe counts the elements of a blob with an int (src/caffe/blob.cpp, Reshape)."""

OLD_TYPES = {
    "ABSVAL": "AbsVal", "ACCURACY": "Accuracy", "ARGMAX": "ArgMax", "BNLL": "BNLL", "CONCAT": "Concat",
    "CONTRASTIVE_LOSS": "ContrastiveLoss", "CONVOLUTION": "Convolution", "DATA": "Data",
    "DECONVOLUTION": "Deconvolution", "DROPOUT": "Dropout", "DUMMY_DATA": "DummyData",
    "EUCLIDEAN_LOSS": "EuclideanLoss", "ELTWISE": "Eltwise", "EXP": "Exp", "FLATTEN": "Flatten",
    "HDF5_DATA": "HDF5Data", "HDF5_OUTPUT": "HDF5Output", "HINGE_LOSS": "HingeLoss", "IM2COL": "Im2col",
    "IMAGE_DATA": "ImageData", "INFOGAIN_LOSS": "InfogainLoss", "INNER_PRODUCT": "InnerProduct", "LRN": "LRN",
    "MEMORY_DATA": "MemoryData", "MULTINOMIAL_LOGISTIC_LOSS": "MultinomialLogisticLoss", "MVN": "MVN",
    "POOLING": "Pooling", "POWER": "Power", "RELU": "ReLU", "SIGMOID": "Sigmoid",
    "SIGMOID_CROSS_ENTROPY_LOSS": "SigmoidCrossEntropyLoss", "SILENCE": "Silence", "SLICE": "Slice",
    "SOFTMAX": "Softmax", "SOFTMAX_LOSS": "SoftmaxWithLoss", "SPLIT": "Split", "TANH": "TanH",
    "THRESHOLD": "Threshold", "WINDOW_DATA": "WindowData",
}  # fmt: skip
"""The types of `layers`, by the enumerators that they had (upgrade_proto.cpp, UpgradeV1LayerType)."""
DATA_TYPES = frozenset({
    "AnnotatedData", "Data", "HDF5Data", "ImageData", "MemoryData", "VideoData", "WindowData",
})  # fmt: skip
"""Layers that read data of a training; what they give are inputs here."""


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """A layer; `inputs` and `outputs` are names of values, `bottoms` and `tops` those of blobs. `lacks` are bottoms
    that no layer before it gives, such as labels in a network without its layers of data."""

    name: str
    type: str
    bottoms: tuple[str, ...]
    tops: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    message: Message
    lacks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Network:
    """Layers in their order, which is that of computation; `outputs` are the values that no layer reads."""

    name: str
    inputs: tuple[Declaration, ...]
    layers: tuple[Layer, ...]
    outputs: tuple[str, ...]


def network_of(message: Message, limits: Limits) -> Network:
    """The network of a file. Raises FrontendError for a file that is none, or of a version before `layers`."""
    layers = [layer for layer in _layers(message) if _is_included(layer)]
    if len(layers) > limits.nodes:
        raise FrontendError(f"expected at most {limits.nodes} layers, found {len(layers)}")
    if not layers:
        raise FrontendError("expected a network with layers in phase TEST, found none")
    signed = [(_signature(layer), layer) for layer in layers]
    declared = [*_inputs(message), *(given for signature, layer in signed for given in _given_by(signature, layer))]
    computing = [(signature, layer) for signature, layer in signed if not _is_input(signature[1])]
    return _valued(message.text("name"), declared, computing)


Signature = tuple[str, str, tuple[str, ...], tuple[str, ...]]
"""Name, type, bottoms and tops of a layer."""


def _layers(message: Message) -> list[Message]:
    """The layers in either field. Raises FrontendError for both, and for the first form of layers."""
    newer, older = message.messages("layer"), message.messages("layers")
    if newer and older:
        raise FrontendError(
            "expected either `layer` or `layers`, found both; upgrade_net_proto_text makes them `layer`"
        )
    if oldest := next((layer for layer in older if layer.values("layer")), None):
        raise FrontendError(
            f"line {oldest.line}: layers {{ layer {{ … }} }} are of 2013; upgrade_net_proto_text of Caffe upgrades them"
        )
    return newer or older


def _signature(layer: Message) -> Signature:
    name, line = layer.text("name"), layer.line
    given = layer.values("type")
    if len(given) != 1 or not isinstance(given[0], str):
        raise FrontendError(f"line {line}: layer {printable(name)!r}: expected one type, found {_shown_all(given)}")
    type_ = str(given[0])
    if isinstance(given[0], Word):
        if type_ not in OLD_TYPES:
            raise FrontendError(f"line {line}: layer {printable(name)!r}: expected a type, found {printable(type_)}")
        type_ = OLD_TYPES[type_]
    bottoms, tops = tuple(layer.texts("bottom")), tuple(layer.texts("top"))
    if not all((*bottoms, *tops)):
        raise FrontendError(f"line {line}: layer {printable(name)!r}: expected names of blobs, found ''")
    return name or (tops[0] if tops else type_), type_, bottoms, tops


def _shown_all(values: Sequence[Scalar | Message]) -> str:
    return ", ".join(map(shown, values)) or "none"


def _is_included(layer: Message) -> bool:
    """Whether a layer belongs to phase TEST (net.cpp, Net::FilterNet and StateMeetsRule), at level 0 of no stage."""
    include, exclude = layer.messages("include"), layer.messages("exclude")
    if include and exclude:
        raise FrontendError(f"line {layer.line}: expected rules to include or to exclude a layer, found both")
    if include:
        return any(map(_is_met, include))
    return not any(map(_is_met, exclude))


def _is_met(rule: Message) -> bool:
    phase = [str(value) for value in rule.values("phase")]
    least, most = rule.values("min_level"), rule.values("max_level")
    return (
        all(value in {"TEST", "1"} for value in phase)
        and not any(isinstance(level, (int, float)) and level > 0 for level in least)
        and not any(isinstance(level, (int, float)) and level < 0 for level in most)
        and not rule.values("stage")
    )


def _is_input(type_: str) -> bool:
    return type_ == "Input" or type_ in DATA_TYPES


def _inputs(message: Message) -> Iterator[Declaration]:
    """The inputs that the network lists itself: four `input_dim` each, or an `input_shape`."""
    names = message.texts("input")
    dims, shapes = message.values("input_dim"), message.messages("input_shape")
    if dims and shapes:
        raise FrontendError("expected input_dim or input_shape, found both")
    if dims:
        if len(dims) != 4 * len(names):
            raise FrontendError(f"expected {4 * len(names)} input_dim, four for each input, found {len(dims)}")
        given = [tuple(dims[4 * i : 4 * i + 4]) for i in range(len(names))]
    else:
        if shapes and len(shapes) != len(names):
            raise FrontendError(f"expected {len(names)} input_shape, one for each input, found {len(shapes)}")
        given = [tuple(shape.values("dim")) for shape in shapes]
    for i, name in enumerate(names):
        yield _declared(name, given[i] if given else None)


def _given_by(signature: Signature, layer: Message) -> Iterator[Declaration]:
    """The inputs that a layer Input, or a layer of data, declares: a shape for all tops or one for each."""
    name, type_, _, tops = signature
    if type_ == "Input":
        shapes = [shape for part in layer.messages("input_param") for shape in part.messages("shape")]
        if shapes and len(shapes) not in {1, len(tops)}:
            raise FrontendError(f"layer {printable(name)!r}: expected 1 or {len(tops)} shapes, found {len(shapes)}")
        for i, top in enumerate(tops):
            yield _declared(top, tuple(shapes[min(i, len(shapes) - 1)].values("dim")) if shapes else None)
    elif type_ == "MemoryData":
        sizes = [part.values(field) for part in layer.messages("memory_data_param") for field in _MEMORY]
        known = tuple(size[0] for size in sizes if size)
        for i, top in enumerate(tops):
            yield _declared(top, (known if i == 0 else known[:1]) if len(known) == len(_MEMORY) else None)
    elif type_ in DATA_TYPES:
        for top in tops:
            yield _declared(top, None)


_MEMORY = ("batch_size", "channels", "height", "width")


def _declared(name: str, shape: tuple[Scalar | Message, ...] | None) -> Declaration:
    """An input. Raises FrontendError for a shape that no blob has."""
    if shape is None:
        return Declaration(name, FLOAT, None)
    sizes = [size for size in shape if isinstance(size, int) and not isinstance(size, bool)]
    fits = len(sizes) == len(shape) <= 32 and all(0 < size <= MOST_EXTENT for size in sizes)
    if not fits or prod(sizes) > MOST_EXTENT:
        raise FrontendError(f"input {printable(name)!r}: expected a shape of 1 or more, found {_shown_all(shape)}")
    return Declaration(name, FLOAT, tuple(sizes), is_usual=True)


def _valued(name: str, declared: Sequence[Declaration], layers: Sequence[tuple[Signature, Message]]) -> Network:
    """The network with a value for each top, whose name tells it from those that overwrite it.

    Blobs that no layer reads after they are written last are the outputs (net.cpp, Net::Init).
    """
    _check_names(declared, layers)
    blobs = Blobs([given.name for given in declared], (top for (_, _, _, tops), _ in layers for top in tops))
    made = []
    for (layer, type_, bottoms, tops), message in layers:
        lacks = tuple(bottom for bottom in bottoms if bottom not in blobs.values)
        inputs = blobs.read([bottom for bottom in bottoms if bottom not in lacks], f"layer {layer!r}")
        if foreign := next((top for top in tops if top in blobs.values and top not in bottoms), None):
            raise FrontendError(f"layer {layer!r}: expected a top of its own, found {foreign!r}, which another gives")
        outputs = blobs.write(tops, f"layer {layer!r}", layer)
        made.append(Layer(layer, type_, bottoms, tops, inputs, outputs, message, lacks))
    return Network(name, tuple(declared), tuple(made), tuple(blobs.unread))


def _check_names(declared: Sequence[Declaration], layers: Sequence[tuple[Signature, Message]]) -> None:
    """Raises FrontendError for names that can't be printed, and for two inputs of one name."""
    names = Counter(given.name for given in declared)
    for (layer, _, bottoms, tops), _ in layers:
        for name in (layer, *bottoms, *tops):
            _check_printable(name)
    for name, count in names.items():
        _check_printable(name)
        if count > 1:
            raise FrontendError(f"expected one input {name!r}, found {count}")


def _check_printable(name: str) -> None:
    if not name or name != printable(name):
        raise FrontendError(f"expected a name that can be printed, found {printable(name)!r}")
