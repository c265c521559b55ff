"""Loads a Keras model as data: a .keras archive, an .h5 file of a whole model, or an architecture with weights."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sateen.frontends.core.archive import open_archive
from sateen.frontends.core.json_text import MOST_BYTES, parse_object
from sateen.frontends.core.pairs import Half, paired, require_alone
from sateen.frontends.core.report import in_model
from sateen.frontends.core.source import Limits, Source
from sateen.frontends.keras.hdf5 import Hdf5Group, open_hdf5
from sateen.frontends.keras.importer import KerasFile
from sateen.frontends.keras.networks import layer_of
from sateen.frontends.keras.recognition import is_architecture, is_archive, is_hdf5
from sateen.frontends.keras.version import Version
from sateen.frontends.keras.weights import LIST, weights_of
from sateen.runtime.errors import FrontendError, printable

_WHOLE = "model_config"
"""The attribute of an .h5 file that holds the configuration of its model."""


def load_keras(source: Source, limits: Limits) -> tuple[KerasFile, tuple[Path, ...]]:
    """A model, and the other files that were read. Raises FrontendError if it is damaged or exceeds the limits."""
    with in_model(_name(source)):
        return _loaded(source, limits)


def _name(source: Source) -> str:
    return "the given bytes" if source.path is None else printable(source.path.name)


def _loaded(source: Source, limits: Limits) -> tuple[KerasFile, tuple[Path, ...]]:
    name = _name(source)
    if is_archive(source):
        require_alone(source, "a whole model of Keras")
        archive = open_archive(source.data, source.place)
        root = open_hdf5(bytes(archive.read("model.weights.h5")), limits.tensor_bytes, f"the weights of {name}")
        configuration, metadata = (
            parse_object(archive.read(part, MOST_BYTES), f"{source.place}: {part}", by_python=True)
            for part in ("config.json", "metadata.json")
        )
        whole = {**configuration, "keras_version": metadata.get("keras_version")}
        return _file(name, whole, root, limits), ()
    if is_hdf5(source):
        root = open_hdf5(source.data, limits.tensor_bytes, name)
        text = root.text(_WHOLE)
        if text is not None:
            require_alone(source, "a whole model of Keras")
            return _file(
                name, parse_object(text.encode(), f"{source.place}: {_WHOLE}", by_python=True), root, limits
            ), ()
    architecture, weights_source = paired(source, _ARCHITECTURE, _WEIGHTS, limits)
    root = open_hdf5(weights_source.data, limits.tensor_bytes, weights_source.place)
    if root.text(_WHOLE) is not None:
        raise FrontendError(f"{weights_source.place}: a whole model, found with an architecture; read it alone")
    other = weights_source if source is architecture else architecture
    files = () if other.path is None else (other.path,)
    return _file(
        _name(architecture), parse_object(architecture.data, architecture.place, by_python=True), root, limits
    ), files


def _file(name: str, configuration: dict[str, Any], root: Hdf5Group, limits: Limits) -> KerasFile:
    network = layer_of(configuration, limits)
    if network.network is None:
        raise FrontendError(
            f"expected a network of layers (Sequential or Functional), found {network.term!r}, a class of the user's, "
            "whose program is not in the file; save a Functional model, or export it to ONNX"
        )
    version = _version(configuration, root)
    return KerasFile(name, network, weights_of(root, network, version), version, limits)


def _version(configuration: dict[str, Any], root: Hdf5Group) -> Version:
    """The version that the file names. Otherwise only Keras 1 had no version (`load_weights_from_hdf5_group`), and only
    Keras 3 has no list of layers."""
    lists = root.group("model_weights") if root.has("model_weights") else root
    named = configuration.get("keras_version")
    texts = [named if isinstance(named, str) else None, root.text("keras_version"), lists.text("keras_version")]
    found = next((version for text in texts if (version := Version.of(text)) is not None), None)
    return found or Version(1 if lists.texts(LIST) is not None else 3)


def _names_of_architecture(weights: str) -> Sequence[str]:
    stem = re.sub(r"(_weights|\.weights)?\.(h5|hdf5|keras)$", "", weights)
    return (f"{stem}.json", f"{stem}*.json", "*.json")


def _names_of_weights(architecture: str) -> Sequence[str]:
    stem = architecture.removesuffix(".json")
    return (f"{stem}*.h5", f"{stem}*.hdf5", "*.h5", "*.hdf5")


_ARCHITECTURE = Half(
    "the architecture of a Keras model (JSON)",
    is_architecture,
    _names_of_architecture,
    "save_weights writes none; model.save('NAME.keras') writes both in one file, model.to_json() gives it alone",
)
_WEIGHTS = Half("the weights of a Keras model (HDF5)", is_hdf5, _names_of_weights)
