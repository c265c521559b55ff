"""Arrays of a file that no layer of the network reads: it is a file of another network."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from collections.abc import Set as AbstractSet

from sateen.frontends.keras.converters import CONVERTERS
from sateen.frontends.keras.hdf5 import Hdf5Group
from sateen.frontends.keras.layers import Layer
from sateen.frontends.keras.refusals import REFUSALS
from sateen.runtime.display import named
from sateen.runtime.errors import FrontendError

OF_TRAINING = ("optimizer", "optimizer_weights", "metrics", "loss_tracker", "seed_generator")
"""Groups of what only training needs: the optimizer's moments, metrics, and generators of random numbers."""


def require_all_read(weights: Hdf5Group, read: AbstractSet[str], exempt: Collection[str]) -> None:
    """Raises FrontendError if a group of weights has arrays that were not read, outside the groups `exempt` and those
    that only training needs."""
    unread = [
        path
        for path in weights.arrays(but=OF_TRAINING)
        if path not in read and not any(path.startswith(f"{group}/") for group in exempt)
    ]
    if unread:
        raise FrontendError(
            f"{weights.what}: expected the weights of this network alone, found arrays that none of its layers has: "
            f"{named(unread)}; give the file that was saved with this network"
        )


def unreadable_groups(layer: Layer, group: str = "") -> Iterator[str]:
    """The groups of Keras 3 whose arrays are not read: of layers that can't be compiled, whose variables are not known,
    and the kernel that SpectralNormalization has again beside that of its layer."""
    if layer.kind == "SpectralNormalization":
        yield f"{group}/vars"
    if is_unknown(layer):
        yield group
    for part in layer.parts:
        yield from unreadable_groups(part.layer, f"{group}/{part.group}" if group else part.group)


def without_converter(layer: Layer, group: str = "") -> Iterator[tuple[Layer, str]]:
    """The layers that only an operator of the user's may stand for, with their groups of Keras 3."""
    if is_unknown(layer) and layer.kind not in _WITH_TABLES and layer.kind not in REFUSALS:
        yield layer, group
    for part in layer.parts:
        yield from without_converter(part.layer, f"{group}/{part.group}" if group else part.group)


def is_unknown(layer: Layer) -> bool:
    """Whether a layer may have variables that are not known: it can't be compiled, or has tables of its own."""
    is_kerass_cell = layer.kind.endswith("Cell") and not layer.kind.startswith("?")
    can_be_compiled = layer.kind in CONVERTERS or layer.kind == "InputLayer" or layer.parts or is_kerass_cell
    return layer.kind in _WITH_TABLES or not can_be_compiled


_WITH_TABLES = {"Discretization", "IntegerLookup"}
"""Layers that keep what they adapted to as variables, which they don't need to compute."""
