"""Actions of a network, made ready once when it is loaded: a run only calls what stands here."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from math import prod
from typing import Any

import numpy as np

from sateen.runtime.actions import Action, BlockCopy, Choice, Conditional, HostCall, Repeat
from sateen.runtime.devices import DeviceMemory, Kernels, MemoryPart, OpenDevice, PreparedLaunch
from sateen.runtime.errors import ArtifactError
from sateen.runtime.launches import BlockPlace, NetworkLaunch
from sateen.runtime.module import CompiledFunction
from sateen.runtime.ndarray import NDArray
from sateen.runtime.signature import Parameter
from sateen.runtime.steps import Step
from sateen.runtime.views import compact_strides

Run = Callable[[], object]
Array = np.ndarray[Any, Any]

NUMBERS = 1024
"""The numbers of iterations that a device gets at once."""


class LaunchRun:
    """Kernels in a row on one device: launched one by one at first, then as one, where the driver can."""

    def __init__(self, device: OpenDevice, launches: Sequence[PreparedLaunch]) -> None:
        self.device = device
        self.launches = tuple(launches)
        self._has_run = False
        self._joined: PreparedLaunch | None = None

    def __call__(self) -> None:
        if self._joined is not None:
            self.device.launch(self._joined)
            return
        self.launch_each()
        if not self._has_run:
            self._has_run, self._joined = True, self.device.joined(self.launches)

    def launch_each(self) -> None:
        """Launch one by one, as a run that is measured does."""
        for launch in self.launches:
            self.device.launch(launch)


@dataclass(frozen=True, slots=True, eq=False)
class _Choosing:
    condition: Array
    then: Sequence[Run]
    otherwise: Sequence[Run]

    def __call__(self) -> None:
        for run in self.then if self.condition[0] else self.otherwise:
            run()


class _NumbersThere:
    """Writes the numbers 0, 1, … of iterations to a place of a device.

    The device gets many of them at once, and copies each from there: a copy from the host would wait for the device.
    """

    def __init__(self, place: DevicePart) -> None:
        self._place = place
        self._some = np.zeros(NUMBERS, np.int64)
        self._there = place.device.allocate(self._some.nbytes)
        self._first: int | None = None
        """The number that those on the device begin with."""

    def __call__(self, number: int) -> None:
        first, device = number - number % NUMBERS, self._place.device
        if first != self._first:
            self._first, self._some[:] = first, np.arange(first, first + NUMBERS)
            device.write(self._there.part(), self._some.ctypes.data)
        size = self._some.itemsize
        device.copy(self._place.part, self._there.part(size * (number - first), size))


@dataclass(frozen=True, slots=True, eq=False)
class _Repeating:
    count: int
    write_number: Callable[[int], object]
    body: Sequence[Run]
    rows: Callable[[int], Iterable[Run]]

    def __call__(self) -> None:
        for i in range(self.count):
            self.write_number(i)
            for run in self.body:
                run()
            for copy in self.rows(i):
                copy()


@dataclass(frozen=True, slots=True, eq=False)
class _Looping:
    condition: Array
    most: Array
    write_number: Callable[[int], object]
    body: Sequence[Run]

    def __call__(self) -> None:
        number, most = 0, int(self.most[0])
        while self.condition[0] and number < most:
            self.write_number(number)
            for run in self.body:
                run()
            number += 1


@dataclass(frozen=True, slots=True, eq=False)
class ActionMaker:
    """Makes actions ready, on blocks of memory of the host and of devices."""

    blocks: Sequence[NDArray | DeviceMemory]
    kernels: Mapping[OpenDevice, Kernels]
    functions: Mapping[str, CompiledFunction]
    steps: Sequence[Step]
    _prepared: dict[NetworkLaunch, PreparedLaunch] = field(default_factory=dict)

    def runs(self, actions: Sequence[Action]) -> list[Run]:
        """What does the actions in their order, kernels in a row as one. Raises ArtifactError for a call of a function
        that is not there or takes other bytes, and the errors of OpenDevice for a kernel."""

        def device_of(action: Action) -> OpenDevice | None:
            return self._memory(action.places[0]).device if isinstance(action, NetworkLaunch) else None

        made: list[Run] = []
        for device, group in groupby(actions, device_of):
            if device is None:
                made += [self._other(action) for action in group]
            else:
                made.append(LaunchRun(device, [self._launch(a) for a in group if isinstance(a, NetworkLaunch)]))
        return made

    def _other(self, action: Action) -> Run:
        match action:
            case HostCall():
                return self._call(action)
            case BlockCopy():
                return self.copy(action.to, action.source)
            case Choice():
                condition = self._array(action.condition, np.bool_)
                return _Choosing(condition, self.runs(action.then), self.runs(action.otherwise))
            case Repeat():
                numbers, rows = self._numbers(action.number), partial(self._rows, action.rows)
                return _Repeating(action.count, numbers, self.runs(action.body), rows)
            case Conditional():
                condition, most = self._array(action.condition, np.bool_), self._array(action.most, np.int64)
                return _Looping(condition, most, self._numbers(action.number), self.runs(action.body))
        raise AssertionError(f"{type(action).__name__} is launched")

    def _launch(self, launch: NetworkLaunch) -> PreparedLaunch:
        if launch not in self._prepared:
            device = self._memory(launch.places[0]).device
            self._prepared[launch] = device.prepare(
                self.kernels[device],
                launch.kernel,
                launch.grid,
                launch.block,
                [self._memory(p).part(p.offset, p.size) for p in launch.places],
                launch.scalars,
                [self._memory(p) for p in launch.places],
                f"{launch.kernel} of {self.steps[launch.step]}",
                launch.shared_bytes,
            )
        return self._prepared[launch]

    def _call(self, call: HostCall) -> Run:
        function = self.functions.get(call.function)
        if function is None:
            raise ArtifactError(f"expected a library with function {call.function!r}, found none of that name")
        parameters = function.signature.parameters
        if any(isinstance(extent, str) for p in parameters for extent in p.shape):
            raise ArtifactError(f"expected functions of arrays of known extents, found {function.signature}")
        sizes = [_bytes(p) for p in parameters]
        if sizes != [p.size for p in call.places]:
            raise ArtifactError(f"expected places of {sizes} bytes for {call.function}, found others: {call.places}")
        return function.bind(*map(self._argument, parameters, call.places))

    def _argument(self, p: Parameter, place: BlockPlace) -> NDArray:
        block = self.blocks[place.block]
        assert isinstance(block, NDArray)
        shape = tuple(map(int, p.shape))
        start, strides = block.data + place.offset, compact_strides(shape)
        return NDArray(start, shape, strides, p.dtype, block.device, owner=block, read_only=False)

    def _numbers(self, place: BlockPlace) -> Callable[[int], object]:
        """What writes a number to a place."""
        part = self._part(place)
        if isinstance(part, DevicePart):
            return _NumbersThere(part)
        return partial(self._array(place, np.int64).__setitem__, 0)

    def _rows(self, rows: Sequence[tuple[BlockPlace, BlockPlace]], number: int) -> Iterable[Run]:
        for row, all_rows in rows:
            yield self.copy(BlockPlace(all_rows.block, all_rows.offset + number * row.size, row.size), row)

    def copy(self, to: BlockPlace, source: BlockPlace) -> Run:
        """What copies bytes from a place to another."""
        return copying(self._part(to), self._part(source))

    def _part(self, place: BlockPlace) -> HostPart | DevicePart:
        block = self.blocks[place.block]
        if isinstance(block, NDArray):
            return HostPart(block.data + place.offset, place.size)
        return DevicePart(block.device, block.part(place.offset, place.size))

    def _memory(self, place: BlockPlace) -> DeviceMemory:
        block = self.blocks[place.block]
        assert isinstance(block, DeviceMemory)
        return block

    def _array(self, place: BlockPlace, dtype: type[np.generic]) -> Array:
        block = self.blocks[place.block]
        assert isinstance(block, NDArray)
        found: Array = block.numpy()[place.offset : place.offset + place.size].view(dtype)
        return found


@dataclass(frozen=True, slots=True)
class HostPart:
    """Bytes of the host's memory."""

    address: int
    size: int


@dataclass(frozen=True, slots=True)
class DevicePart:
    """Bytes of a device's memory."""

    device: OpenDevice
    part: MemoryPart


def copying(to: HostPart | DevicePart, source: HostPart | DevicePart) -> Run:
    """What copies bytes from one part of memory to another of the same size; between devices through the host."""
    match to, source:
        case HostPart(), HostPart():
            return partial(ctypes.memmove, to.address, source.address, source.size)
        case DevicePart(), HostPart():
            return partial(to.device.write, to.part, source.address)
        case HostPart(), DevicePart():
            return partial(source.device.read, to.address, source.part)
        case DevicePart(), DevicePart() if to.device is source.device:
            return partial(to.device.copy, to.part, source.part)
        case DevicePart(), DevicePart():
            between = ctypes.create_string_buffer(max(source.part.size or 0, 1))
            address = ctypes.addressof(between)

            def through_the_host() -> None:
                source.device.read(address, source.part)
                to.device.write(to.part, address)
                assert between is not None  # which the addresses belong to

            return through_the_host
    raise AssertionError("memory of the host or of a device")


def _bytes(p: Parameter) -> int:
    return prod(map(int, p.shape)) * p.dtype.bytes
