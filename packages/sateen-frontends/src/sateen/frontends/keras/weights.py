"""The data of each layer's variables, from files of Keras 3 (a group for each layer) and of Keras 1 and 2 (a list for
each layer of the outermost network)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from sateen.frontends.keras.dialects import kernel_of_keras_1
from sateen.frontends.keras.hdf5 import Hdf5Group
from sateen.frontends.keras.layers import Layer
from sateen.frontends.keras.sizes import require_sizes
from sateen.frontends.keras.unread import (
    OF_TRAINING,
    is_unknown,
    require_all_read,
    unreadable_groups,
    without_converter,
)
from sateen.frontends.keras.variables import Owned, owned
from sateen.frontends.keras.version import Version
from sateen.graph_ir.ir import Array
from sateen.runtime.errors import FrontendError

Weights = Mapping[Layer, Mapping[str, Array]]
"""The data of variables by their names, of each layer that has some."""
LIST = "layer_names"
"""The attribute of a group with the lists of Keras 1 and 2."""
_GATES = {"ConvLSTMCell": 12, "GRUCell": 9, "LSTMCell": 12}
"""The number of variables in Keras 1."""
_KERNELS = {"kernel", "recurrent_kernel", "depthwise_kernel", "pointwise_kernel"}
_FLIPPED = {"Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose", "ConvLSTM2D"}
"""Layers whose kernels Theano stored backwards."""


def weights_of(root: Hdf5Group, network: Layer, version: Version) -> Weights:
    """The data of all variables of a network. Raises FrontendError if some are missing, or the file has others or of
    other sizes."""
    lists = next((group for group in _candidates(root) if group.texts(LIST) is not None), None)
    found = _of_groups(root, network) if lists is None else _of_lists(lists, network, version)
    for layer, arrays in found.items():
        if version.generation > 1 or not layer.kind.endswith("Transpose"):  # those of Keras 1 have other axes
            require_sizes(layer, arrays, root.what)
    return found


def _candidates(root: Hdf5Group) -> Iterable[Hdf5Group]:
    """The group of a whole model's weights, or a file that has nothing else."""
    if root.has("model_weights"):
        yield root.group("model_weights")
    yield root


def _of_groups(root: Hdf5Group, network: Layer) -> Weights:
    """Keras 3: /layers/<class>_<n>/…/vars/<i>. The layers of a class are numbered in their order in the network
    (`_save_container_state` of keras/src/saving/saving_lib.py)."""
    found: dict[Layer, dict[str, Array]] = {}
    counts: dict[str, int] = {}
    read: set[str] = set()
    for one in owned(network):
        index = counts.get(one.group, 0)
        counts[one.group] = index + 1
        path, private = f"{one.group}/vars/{index}", f"{_private(one.group)}/vars/{index}"
        if not _has(root, path):
            if not _has(root, private):
                raise _missing(root.what, one, f"found no {path!r}")
            path = private
        read.add(path)
        found.setdefault(one.layer, {})[one.variable.name] = root.array(path)
    paths = list(root.arrays(but=OF_TRAINING))
    for layer, group in without_converter(network):
        if own := [path for path in paths if path.startswith(f"{group}/")]:
            found[layer] = {path.removeprefix(f"{group}/vars/"): root.array(path) for path in own}
    require_all_read(root, read, tuple(unreadable_groups(network)))
    return found


def _private(group: str) -> str:
    """The group of a layer that is an attribute of another without a public name, as in Keras 2."""
    outer, slash, last = group.rpartition("/")
    return f"{outer}{slash}_{last}"


def _has(root: Hdf5Group, path: str) -> bool:
    *groups, name = path.split("/")
    for group in groups:
        if not root.has(group):
            return False
        root = root.group(group)
    return root.has(name)


def _of_lists(group: Hdf5Group, network: Layer, version: Version) -> Weights:
    """Keras 1 and 2, and .h5 files of Keras 3: for each layer of the outermost network its arrays, those that training
    changes first (`save_weights_to_hdf5_group` of keras/src/legacy/saving/legacy_h5_format.py).

    Layers are found by their names; if these are others, by their order, as `load_weights` does. A list for one layer
    of a user's class, inside another, is that layer's.
    """
    backwards = (group.text("backend") or "") == "theano"
    stored = {name: group.group(name) for name in group.texts(LIST) or ()}
    lists = {name: names for name, one in stored.items() if (names := one.texts("weight_names"))}
    wanted = {part.layer.name: variables for part in network.parts if (variables := _listed(part.layer))}
    if not wanted.keys() <= lists.keys():
        if len(wanted) != len(lists):
            raise FrontendError(
                f"{group.what}: expected the weights of {len(wanted)} layers ({_some(wanted)}), found those of "
                f"{len(lists)} ({_some(lists)}); give the file that was saved with this network"
            )
        names_there = dict(zip(wanted, lists, strict=True))
    else:
        names_there = {name: name for name in wanted}
    outer = {part.layer.name: part.layer for part in network.parts}
    found: dict[Layer, dict[str, Array]] = {}
    read: set[str] = set()
    for name, variables in wanted.items():
        own = names_there[name]
        arrays = [stored[own].array(path) for path in lists[own]]
        read.update(f"{own}/{path}" for path in lists[own])
        kind = variables[0].layer.kind
        if len(arrays) == _GATES.get(kind) and len(arrays) > len(variables):
            arrays = _joined(arrays, variables[0].layer)
        elif kind == "Highway":  # kernels come first, as in Keras 1.2; before, each had its bias behind it
            arrays = sorted(arrays, key=lambda data: -data.ndim)
        if len(arrays) > len(variables) and _unknown(outer[name]):
            raise _undivided(outer[name], group.what)
        if len(arrays) != len(variables):
            raise FrontendError(
                f"{group.what}: layer {name!r} expects {len(variables)} arrays "
                f"({', '.join(one.variable.name for one in variables)}), found {len(lists[own])}: {_some(lists[own])}"
            )
        for one, data in zip(variables, arrays, strict=True):
            found.setdefault(one.layer, {})[one.variable.name] = _in_todays_order(one, data, version, backwards)
    theirs = {layer for layer, _ in without_converter(network)}
    with_unknown = [part.layer for part in network.parts if _unknown(part.layer)]
    for layer in with_unknown:
        if layer.name not in wanted and (paths := lists.get(layer.name)):
            first, *others = _unknown(layer)
            if others:
                raise _undivided(layer, group.what)
            if first in theirs:
                found[first] = {str(index): stored[layer.name].array(path) for index, path in enumerate(paths)}
    require_all_read(group, read, [layer.name for layer in with_unknown])
    return found


def _unknown(layer: Layer) -> list[Layer]:
    """The layers, of this one and those inside it, that may have variables which are not known."""
    return [*[layer] * is_unknown(layer), *(one for part in layer.parts for one in _unknown(part.layer))]


def _undivided(layer: Layer, what: str) -> FrontendError:
    unknown = _some(one.term for one in _unknown(layer))
    return FrontendError(
        f"{what}: layer {layer.name!r} has layers in it whose variables are not known ({unknown}), and the file does "
        "not say which of its arrays are theirs; save the model as .keras"
    )


def _in_todays_order(one: Owned, data: Array, version: Version, backwards: bool) -> Array:
    """A variable with its axes, and the elements of a kernel, where they are today."""
    if version.generation == 1 and one.variable.name in _KERNELS and one.layer.kind not in _GATES:
        data = kernel_of_keras_1(one.layer.kind, one.layer.config, data)
    is_kernel = one.variable.name in {"kernel", "recurrent_kernel"}
    return _flipped(data) if backwards and is_kernel and one.layer.kind in _FLIPPED else data


def _listed(layer: Layer) -> Sequence[Owned]:
    """The variables of a layer in the order of its list."""
    return sorted(owned(layer), key=lambda one: not one.is_trained)


def _joined(arrays: Sequence[Array], cell: Layer) -> list[Array]:
    """The variables of Keras 1, three for each gate, as kernel, recurrent kernel and bias. LSTM has its gates as
    i c f o (keras-1.2.2/keras/layers/recurrent.py, convolutional_recurrent.py)."""
    turned = [kernel_of_keras_1(cell.kind, cell.config, data) for data in arrays]
    gates = [turned[start : start + 3] for start in range(0, len(turned), 3)]
    if len(gates) == 4:
        gates = [gates[index] for index in (0, 2, 1, 3)]
    if any(one.ndim != other.ndim for gate in gates for one, other in zip(gate, gates[0], strict=True)):
        raise FrontendError(
            f"expected a kernel, a recurrent kernel and a bias of each gate, found {len(arrays)} arrays"
        )
    return [np.concatenate(parts, -1) for parts in zip(*gates, strict=True)]


def _flipped(kernel: Array) -> Array:
    """Theano's convolutions turn the kernel around (`convert_kernel` of keras/utils/conv_utils.py)."""
    return np.ascontiguousarray(np.flip(kernel, tuple(range(kernel.ndim - 2))))


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    return ", ".join(map(repr, listed[:5])) + f" and {len(listed) - 5} more" * (len(listed) > 5)


def _missing(what: str, one: Owned, found: str) -> FrontendError:
    wanted = f"expected {one.variable.name!r} of layer {one.layer.name!r} ({one.layer.term})"
    return FrontendError(f"{what}: {wanted}, {found}; give the file that was saved with this network")
