"""The parameters of a network at their places in the file."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod

import numpy as np

from sateen.graph_ir.compile.lowered_network import LoweredNetwork
from sateen.graph_ir.ir import HOST, Array
from sateen.runtime import Device, empty
from sateen.runtime.fork_safe import ForkSafeLock
from sateen.runtime.threads import Threads

CHUNK_BYTES = 4 << 20
"""The bytes that a thread packs at a time, few enough to stay in caches."""


class ParameterBlock:
    """Content of an artifact: arrays at places that do not overlap, with zeros between them.

    Arrays may be views in any order of axes, like weights before packing. They are packed each time a part is read. The
    whole is made once; until then the arrays are kept, with the data that they are views of.
    """

    def __init__(self, size: int, places: Sequence[tuple[int, Array]]) -> None:
        """`places` holds the byte offset of each array, a multiple of its elements' size."""
        ordered = sorted(places, key=lambda entry: entry[0])
        self._size = size
        self._starts = [start for start, _ in ordered]
        self._arrays = [array for _, array in ordered]
        self._whole: memoryview | None = None
        self._lock = ForkSafeLock()
        """Guards the arrays and the whole, which replaces them."""
        self._making = ForkSafeLock()

    def __len__(self) -> int:
        return self._size

    def read_into(self, start: int, place: memoryview) -> None:
        target, end = np.frombuffer(place, np.uint8), start + len(place)
        with self._lock.current:
            known, starts, arrays = self._whole, self._starts, self._arrays
        if known is not None:
            target[...] = np.frombuffer(known[start:end], np.uint8)
            return
        target[...] = 0
        for i in range(max(bisect_right(starts, start) - 1, 0), len(starts)):
            if starts[i] >= end:
                break
            first, last = max(start, starts[i]), min(end, starts[i] + arrays[i].nbytes)
            if first < last:
                part = target[first - start : last - start].view(arrays[i].dtype)
                _copy(arrays[i], (first - starts[i]) // arrays[i].itemsize, part)

    def whole(self) -> memoryview:
        with self._making.current:
            if self._whole is not None:
                return self._whole
            block = empty((self._size,), "uint8").numpy().data
            with Threads() as threads:  # packing takes as long as memory does
                chunks = range(0, self._size, CHUNK_BYTES)
                list(threads.map(lambda start: self.read_into(start, block[start : start + CHUNK_BYTES]), chunks))
            with self._lock.current:
                self._whole, self._starts, self._arrays = block.toreadonly(), [], []
            return self._whole

    def __bytes__(self) -> bytes:
        return bytes(self.whole())


def _copy(array: Array, start: int, place: Array) -> None:
    """Write the elements of an array from number `start` on, in the order of its axes, to all of a flat array."""
    if array.ndim == 1:
        place[...] = array[start : start + len(place)]
        return
    if array.ndim == 0:
        place[...] = array
        return
    row = prod(array.shape[1:])
    first, rest = divmod(start, row)
    done = 0
    if rest:
        done = min(row - rest, len(place))
        _copy(array[first], rest, place[:done])
        first += 1
    rows = (len(place) - done) // row
    end = done + rows * row
    place[done:end].reshape(rows, *array.shape[1:])[...] = array[first : first + rows]
    if end < len(place):
        _copy(array[first + rows], 0, place[end:])


@dataclass(frozen=True, slots=True, eq=False)
class StoredParameters:
    """What a file holds: bytes, and the byte offset and data of each parameter in them."""

    size: int
    places: Sequence[tuple[int, Array]]


def stored_parameters(network: LoweredNetwork, devices: Sequence[Device] = (HOST,)) -> StoredParameters:
    """The parameters that the file holds: the block of each device after the other."""
    plan, packing = network.plan, network.packing
    data = {**network.graph.parameters, **({} if packing is None else packing.graph.parameters)}
    if packing is not None:
        return StoredParameters(network.blocks.stored_bytes, [(n, data[v]) for v, n in network.blocks.stored.items()])
    sizes = [plan.parameter_blocks.get(device, 0) for device in devices]
    starts = dict(zip(devices, accumulate(sizes, initial=0), strict=False))
    return StoredParameters(sum(sizes), [(starts[v.device] + n, data[v]) for v, n in plan.parameters.items()])


def pack_parameters(stored: StoredParameters, given: Iterable[Array] = ()) -> ParameterBlock:
    """The content of a section of parameters.

    They are copied to their places on demand, except those in the memory of `given` arrays that others may still write
    to: these are copied at once.
    """
    changing = {id(owner) for owner in map(_owner, given) if not _is_of_bytes(owner)}

    def lasting(place: tuple[int, Array]) -> tuple[int, Array]:
        start, array = place
        return start, np.array(array, order="C") if id(_owner(array)) in changing else array

    with Threads() as threads:
        return ParameterBlock(max(64, stored.size), list(threads.map(lasting, stored.places)))


def _owner(array: Array) -> Array:
    """The array that owns the memory of a view."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _is_of_bytes(owner: Array) -> bool:
    """Whether the memory of an array is that of a bytes object, which nobody writes to."""
    base = owner.base
    while isinstance(base, memoryview):
        base = base.obj
    return isinstance(base, bytes)
