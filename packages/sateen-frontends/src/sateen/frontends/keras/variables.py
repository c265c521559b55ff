"""The variables of each class of layers, in the order in which Keras creates them, which is that of files.

Source: add_weight in `build` of keras/src/layers and tf_keras/src/layers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sateen.frontends.keras.layers import Layer, quantised_mode

Config = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a layer: its name there, the group of Keras 3 within the layer's, and whether training changes it,
    which decides its place in files of Keras 1 and 2."""

    name: str
    group: str = ""
    is_trained: bool = True


@dataclass(frozen=True, slots=True)
class Owned:
    """A variable with its layer, the group of the layer within the whole file, and whether training changes it."""

    layer: Layer
    variable: Variable
    group: str
    is_trained: bool


def owned(layer: Layer, group: str = "", is_trained: bool = True) -> Iterator[Owned]:
    """The variables of a layer and of those inside it, in order."""
    trained = is_trained and layer.is_trainable
    for variable in variables_of(layer):
        where = "/".join(part for part in (group, variable.group) if part)
        yield Owned(layer, variable, where, trained and variable.is_trained)
    for part in layer.parts:
        yield from owned(part.layer, f"{group}/{part.group}" if group else part.group, trained)


def variables_of(layer: Layer) -> tuple[Variable, ...]:
    """The layer's own variables; none of a class that is not known."""
    return _VARIABLES[layer.kind](layer.config) if layer.kind in _VARIABLES else ()


def _named(*names: str, group: str = "", is_trained: bool = True) -> tuple[Variable, ...]:
    return tuple(Variable(name, group, is_trained) for name in names)


def _uses(config: Config, flag: str, usual: bool = True) -> bool:
    return bool(config.get(flag, usual))


def _with_bias(*names: str) -> Callable[[Config], tuple[Variable, ...]]:
    return lambda config: _named(*names, *["bias"] * _uses(config, "use_bias"))


def _quantised(config: Config, *names: str) -> tuple[Variable, ...]:
    """A layer that `quantize("int8")` gives a scale behind its other variables (`variable_serialization_spec`)."""
    return _named(*names, *[f"{names[0]}_scale"] * (quantised_mode(config) == "int8"))


def _batch_normalization(config: Config) -> tuple[Variable, ...]:
    statistics = _named("moving_mean", "moving_variance", is_trained=False)
    return (*_scale_and_center(config), *statistics)


def _scale_and_center(config: Config) -> tuple[Variable, ...]:
    if config.get("rms_scaling"):  # LayerNormalization of Keras 3 then has neither mean nor offset
        return _named("gamma")
    return _named(*["gamma"] * _uses(config, "scale"), *["beta"] * _uses(config, "center"))


def _cell(config: Config) -> tuple[Variable, ...]:
    return _named("kernel", "recurrent_kernel", *["bias"] * _uses(config, "use_bias"))


def _attention(config: Config) -> tuple[Variable, ...]:
    concat = config.get("score_mode") == "concat"
    return _named(*["scale"] * _uses(config, "use_scale", False), *["concat_score_weight"] * concat)


def _projections(config: Config) -> tuple[Variable, ...]:
    names = ("kernel", *["bias"] * _uses(config, "use_bias"))
    roles = ("query", "key", *["gate"] * _uses(config, "use_gate", False), "value", "attention_output")
    return tuple(
        Variable(f"{role}/{name}", f"{role.removeprefix('attention_')}_dense") for role in roles for name in names
    )


def _normalization(config: Config) -> tuple[Variable, ...]:
    """Mean and variance that are given as arguments are no variables."""
    given = config.get("mean") is not None
    return () if given else _named("mean", "variance", "count", is_trained=False)


_VARIABLES: Mapping[str, Callable[[Config], tuple[Variable, ...]]] = {
    "AdditiveAttention": lambda config: _named(*["scale"] * _uses(config, "use_scale")),
    "Attention": _attention,
    "BatchNormalization": _batch_normalization,
    "Conv1D": _with_bias("kernel"),
    "Conv1DTranspose": _with_bias("kernel"),
    "Conv2D": _with_bias("kernel"),
    "Conv2DTranspose": _with_bias("kernel"),
    "Conv3D": _with_bias("kernel"),
    "Conv3DTranspose": _with_bias("kernel"),
    "ConvLSTMCell": _cell,
    "Dense": lambda config: _quantised(config, "kernel", *["bias"] * _uses(config, "use_bias")),
    "DepthwiseConv1D": _with_bias("kernel"),
    "DepthwiseConv2D": _with_bias("kernel"),
    "EinsumDense": lambda config: _named("kernel", *["bias"] * (config.get("bias_axes") is not None)),
    "Embedding": lambda config: _quantised(config, "embeddings"),
    "GRUCell": _cell,
    "GroupNormalization": _scale_and_center,
    "GroupQueryAttention": _projections,
    "GroupedQueryAttention": _projections,
    "Highway": lambda config: _named("kernel", "carry_kernel", *["bias", "carry_bias"] * _uses(config, "use_bias")),
    "LSTMCell": _cell,
    "LayerScale": lambda config: _named("gamma"),
    "LayerNormalization": _scale_and_center,
    "LocallyConnected1D": _with_bias("kernel"),
    "LocallyConnected2D": _with_bias("kernel"),
    "MaxoutDense": _with_bias("kernel"),
    "MultiHeadAttention": _projections,
    "Normalization": _normalization,
    "PReLU": lambda config: _named("alpha"),
    "ParametricSoftplus": lambda config: _named("alpha", "beta"),
    "RMSNormalization": lambda config: _named("scale"),
    "SReLU": lambda config: _named("left", "left_slope", "right", "right_slope"),
    "SeparableConv1D": _with_bias("depthwise_kernel", "pointwise_kernel"),
    "SeparableConv2D": _with_bias("depthwise_kernel", "pointwise_kernel"),
    "SimpleRNNCell": _cell,
    "SpectralNormalization": lambda config: _named("vector_u", is_trained=False),
}
