"""The converter's view of a step: inputs in the layer's type, settings with their defaults, variables, masks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from sateen.frontends.core.bodies import Bodies
from sateen.frontends.core.node import ModelNode
from sateen.frontends.core.place import Call
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.keras.layers import Layer, Structure, mapped, quantised_mode
from sateen.frontends.keras.steps import Step, Tensor
from sateen.frontends.keras.version import Version
from sateen.graph_ir.ir import Array, Value
from sateen.graph_ir.ops import Cast
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

_DEFAULTS = {
    "activation": "linear",
    "data_format": "channels_last",
    "dilation_rate": 1,
    "groups": 1,
    "padding": "valid",
    "strides": 1,
    "use_bias": True,
}
"""Settings that old files leave out."""
_MIXED = {"mixed_float16": "float16", "mixed_bfloat16": "bfloat16"}
"""Policies with variables of float32: the type that layers compute in."""


class KerasNode(ModelNode):
    """One step while it is converted. `weights` are the layer's variables by name, `version` is the Keras that
    wrote the file. `bodies` opens the bodies of loops."""

    def __init__(
        self, call: Call, step: Step, weights: Mapping[str, Array], version: Version, bodies: Bodies[Step]
    ) -> None:
        super().__init__(call, {**_DEFAULTS, **step.layer.config})
        self.step_call = step
        self.layer = step.layer
        self.weights = weights
        self.version = version
        self.bodies = bodies
        self.is_quantised = quantised_mode(step.layer.config) is not None
        self.dtype_of_layer = compute_dtype(step.layer)

    @property
    def generation(self) -> int:
        """That of the Keras that wrote the file: 1, 2 or 3."""
        return self.version.generation

    def input_name(self, index: int) -> str:
        names = (*self.step_call.inputs, *self.step_call.masks)
        return names[index] if index < len(names) else str(index)

    @property
    def input_count(self) -> int:
        """The number of inputs, without their masks."""
        return len(self.step_call.inputs)

    def value(self, index: int) -> Value:
        """Input `index`; numbers of floating point are in the layer's type, as Keras casts them (`autocast`)."""
        found = super().value(index)
        dtype = found.type.dtype
        if not dtype.is_float or dtype == self.dtype_of_layer:
            return found
        self._require_autocast()
        return self.step(Cast(self.dtype_of_layer), found)

    def values(self) -> tuple[Value, ...]:
        return tuple(self.value(index) for index in range(self.input_count))

    def raw(self, index: int) -> Value:
        """Input `index` in its own type."""
        return super().value(index)

    def mask(self, index: int = 0) -> Value | None:
        """The mask of input `index`; None if it has none."""
        return self.raw(self.input_count + index) if self.has_mask(index) else None

    def has_mask(self, index: int = 0) -> bool:
        return index < len(self.step_call.masks) and bool(self.step_call.masks[index])

    def refuse_masks(self) -> None:
        """Raises UnsupportedError if an input has a mask."""
        if any(self.step_call.masks):
            raise UnsupportedError("a mask of its input is not supported here", "leave out mask_zero and Masking")

    def argument(self, position: int, name: str, default: Structure = None) -> Structure:
        """An argument of the call, with Values in place of tensors, in their own types."""
        given = self.step_call.arguments
        found = given.positional[position] if position < len(given.positional) else given.named.get(name, default)
        return mapped(found, Tensor, lambda tensor: self.raw(self.step_call.inputs.index(tensor.name)))

    def setting(self, name: str, default: Any) -> Any:
        """A setting of the layer; None in the file counts as a value."""
        return self.layer.config.get(name, default)

    def per_axis(self, name: str, rank: int) -> tuple[int, ...]:
        """A setting that is one number for all spatial axes, or one for each."""
        value = self.attribute(name)
        values = (value,) * rank if isinstance(value, int) else value
        fits = isinstance(values, (list, tuple)) and len(values) == rank
        if not fits or not all(type(one) is int and one >= 0 for one in values):
            raise FrontendError(f"expected {rank} numbers as {name!r}, found {value!r}")
        return tuple(values)

    def attribute(self, name: str) -> Any:
        """A setting, or its default; Keras 3 writes None for the layout that it takes without a setting."""
        found = super().attribute(name)
        return _DEFAULTS["data_format"] if name == "data_format" and found is None else found

    def choice(self, name: str, *known: str) -> str:
        """A setting that is one of some words."""
        value = self.text(name).lower()
        if value not in known:
            raise FrontendError(f"expected {' or '.join(map(repr, known))} as {name!r}, found {value!r}")
        return value

    @property
    def is_channels_last(self) -> bool:
        return self.choice("data_format", "channels_last", "channels_first") == "channels_last"

    def has_weight(self, name: str) -> bool:
        return name in self.weights

    def variable(self, name: str, rank: int | None = None) -> Array:
        """The data of a variable, in the layer's type. Raises FrontendError if there is none of that rank."""
        if name not in self.weights:
            raise FrontendError(f"expected its variable {name!r}, found none")
        data = self.weights[name]
        if rank is not None and data.ndim != rank:
            raise FrontendError(f"expected variable {name!r} of {rank} dimensions, found shape {list(data.shape)}")
        dtype = self.dtype_of_layer.numpy
        if data.dtype == dtype:
            return data
        self._require_autocast()
        return self.evaluated(data.astype(dtype))

    def _require_autocast(self) -> None:
        """Raises UnsupportedError if the layer wants an input or a variable of another type as it is."""
        if self.layer.config.get("autocast", True) is not True:
            raise UnsupportedError(
                f"without autocast it computes in several types, {self.dtype_of_layer} and that of its data",
                "save the model in one type",
            )

    def weight(self, name: str, rank: int | None = None) -> Value:
        """A variable as a parameter of the graph, called after the layer."""
        data = self.variable(name, rank)
        return self._emitter.value(data, f"{self.step_call.name}/{name}", own=True)

    def weight_of_bytes(self, name: str, rank: int) -> Value:
        """A variable of int8. Raises FrontendError if it has another type."""
        data = self.weights.get(name)
        if data is None or data.dtype != np.int8 or data.ndim != rank:
            found = "none" if data is None else f"{data.dtype}{list(data.shape)}"
            raise FrontendError(f"expected variable {name!r} of int8 and {rank} dimensions, found {found}")
        return self.weight_as_stored(name)

    def weight_as_stored(self, name: str) -> Value:
        """A variable in its own type."""
        return self._emitter.value(self.weights[name], f"{self.step_call.name}/{name}", own=True)

    def weight_or(self, number: float, name: str, shape: tuple[int, ...]) -> Value:
        """A variable of as many dimensions as the shape, or if the layer has none, one number in this shape."""
        if self.has_weight(name):
            return self.weight(name, len(shape))
        return self.filled(number, shape, self.dtype_of_layer)

    def made(self, data: Array, role: str) -> Value:
        """A parameter in the layer's type, made of variables or settings."""
        return self.parameter(np.asarray(data, self.dtype_of_layer.numpy), role)

    def number_like(self, number: float) -> Value:
        """A number in the layer's type."""
        return self.literal(number, self.dtype_of_layer)


def result_dtype(layer: Layer) -> DType:
    """The type of a layer's result, as far as its settings tell it: layers that look up text and numbers give indices
    if they are not asked for something else (keras/src/layers/preprocessing), others the type that they compute in."""
    if layer.kind in _GIVING_INDICES and layer.config.get("output_mode", "int") == "int":
        return DType.of("int64")
    return compute_dtype(layer)


_GIVING_INDICES = {"Hashing", "HashedCrossing", "IntegerLookup", "StringLookup", "TextVectorization"}


def compute_dtype(layer: Layer) -> DType:
    """The type that a layer computes in, by its policy: a name, or an object with one.

    Raises UnsupportedError for types that are not floating-point, which only quantised layers have.
    """
    policy = layer.config.get("dtype")
    mode = quantised_mode(layer.config)
    if mode is not None:
        _require_known_quantisation(layer, mode)
        policy = policy["config"].get("source_name") if isinstance(policy, dict) else str(policy).partition("_from_")[2]
    name = policy_name(policy)
    if name is None:
        return DType.of("float32")
    found = _MIXED.get(str(name), str(name))
    if found not in {"float16", "bfloat16", "float32", "float64"}:
        if re.fullmatch(r"u?int\d+|bool", found):  # of a layer of indices, whose weights are float32
            return DType.of("float32")
        raise UnsupportedError(f"the policy {found!r} is not supported", _UNQUANTISED)
    return DType.of(found)


def policy_name(policy: Any) -> Any:
    """The name of a policy: files of Keras 3 have an object with it, others the name itself."""
    inner = policy.get("config") if isinstance(policy, dict) else None
    return inner.get("name") if isinstance(inner, dict) else policy


def _require_known_quantisation(layer: Layer, mode: str) -> None:
    """Raises UnsupportedError for layers and settings other than int8 as `quantize` makes them without settings."""
    if mode != "int8" or layer.kind not in {"Dense", "Embedding"}:
        raise UnsupportedError(f"a quantised layer ({mode} {layer.kind}) is not supported", _UNQUANTISED)
    settings = layer.config.get("quantization_config")
    if not _is_usual(settings) or layer.config.get("lora_rank"):
        raise UnsupportedError("quantisation with settings of its own is not supported", _UNQUANTISED)


def _is_usual(settings: object) -> bool:
    """Whether a layer is quantised with the settings that `quantize` has by default."""
    if settings is None:
        return True
    inner = settings.get("config") if isinstance(settings, dict) else None
    rounding = inner.get("activation_quantizer") if isinstance(inner, dict) else None
    if not isinstance(rounding, dict) or not isinstance(inner, dict) or inner.get("weight_quantizer") is not None:
        return False
    return rounding.get("class_name") == "AbsMaxQuantizer" and rounding.get("config") == _ROUNDING


_ROUNDING = {"value_range": [-127, 127], "epsilon": 1e-07, "output_dtype": "int8"}
_UNQUANTISED = "save the model before it is quantised"
