"""A network on devices: its blocks of memory, its code, and a run as one action after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from time import perf_counter

import numpy as np

from sateen.runtime.abi import Failure, Status
from sateen.runtime.artifact import Artifact
from sateen.runtime.content import whole
from sateen.runtime.device import Device, DeviceKind
from sateen.runtime.devices import DeviceMemory, OpenDevice
from sateen.runtime.diagnosis import failure_of, wrong_argument
from sateen.runtime.module import CompiledFunction
from sateen.runtime.ndarray import NDArray, empty
from sateen.runtime.prepared_actions import ActionMaker, DevicePart, HostPart, LaunchRun, Run, copying
from sateen.runtime.signature import Parameter

NO_FUNCTIONS: Mapping[str, CompiledFunction] = {}


class LaunchedNetwork:
    """The network of an artifact on open devices, with memory of its own for everything.

    `opened` gives the device for one that the artifact names, `functions` are those of its library. Raises DeviceError
    for code that the driver refuses, OutOfMemoryError, ArtifactError for a library that lacks functions.
    """

    def __init__(
        self,
        artifact: Artifact,
        opened: Callable[[Device], OpenDevice],
        functions: Mapping[str, CompiledFunction] = NO_FUNCTIONS,
    ) -> None:
        self._signature = artifact.signature
        self._arrays = (*artifact.inputs, *artifact.outputs)
        self._count = len(artifact.inputs)
        devices = {m.device: opened(m.device) for m in artifact.memory if m.device.kind is not DeviceKind.CPU}
        self._devices = tuple(dict.fromkeys(devices.values()))
        self._blocks: list[NDArray | DeviceMemory] = [
            devices[b.device].allocate(b.size) if b.device in devices else empty((b.size,), "uint8")
            for b in artifact.blocks
        ]
        self._write_parameters(artifact)
        kernels = {device: device.load(artifact.kernels) for device in self._devices}
        maker = ActionMaker(self._blocks, kernels, functions, artifact.steps)
        self._whole = maker.runs(artifact.actions)
        self._steps = [maker.runs([a for a in artifact.actions if a.step == i]) for i in range(len(artifact.steps))]
        self._seconds: list[list[float]] | None = None

    def _write_parameters(self, artifact: Artifact) -> None:
        """Give each device its part of the parameters, in the order of the devices."""
        parameters = np.frombuffer(whole(artifact.parameters), np.uint8)
        start = 0
        for i, memory in enumerate(artifact.memory):
            block = len(self._arrays) + 2 * i
            size = min(memory.parameters, parameters.nbytes - start)
            copying(self._part(block, size), HostPart(parameters.ctypes.data + start, size))()
            start += size

    @contextmanager
    def measured(self) -> Iterator[list[list[float]]]:
        """Within, each run adds the seconds of its steps to the list: of kernels by the device's own clock, of others
        by that of the host."""
        self._seconds = []
        try:
            yield self._seconds
        finally:
            self._seconds = None

    def call_arrays(self, arrays: Sequence[NDArray]) -> None:
        """Run on compact inputs, then outputs, in memory of the host or of their devices; outputs are complete.

        Raises ArgumentError for an array of another type, shape or device.
        """
        for position, (p, given) in enumerate(zip(self._arrays, arrays, strict=True)):
            self._check(position, p, given, arrays)
        for i, given in enumerate(arrays[: self._count]):
            copying(self._part(i, given.nbytes), self._given(i, given))()
        if self._seconds is None:
            _do(self._whole)
        else:
            self._seconds.append(self._run_measured())
        for i, given in enumerate(arrays[self._count :], self._count):
            copying(self._given(i, given), self._part(i, given.nbytes))()

    def _part(self, number: int, size: int) -> HostPart | DevicePart:
        """The first bytes of a block."""
        block = self._blocks[number]
        if isinstance(block, NDArray):
            return HostPart(block.data, size)
        return DevicePart(block.device, block.part(0, size))

    def _given(self, number: int, given: NDArray) -> HostPart | DevicePart:
        """The memory of an array for a block."""
        if given.is_readable:
            return HostPart(given.data, given.nbytes)
        block = self._blocks[number]
        assert isinstance(block, DeviceMemory)
        return DevicePart(block.device, given.part())

    def _run_measured(self) -> list[float]:
        """Run all; the seconds of each step. Steps of one device's kernels in a row are measured by its clock."""
        if len(self._devices) == 1 and all(isinstance(run, LaunchRun) for step in self._steps for run in step):
            return self._launch_measured(self._devices[0])
        seconds = []
        for runs in self._steps:
            start = perf_counter()
            _do(runs)
            for device in self._devices:
                device.sync()
            seconds.append(perf_counter() - start)
        return seconds

    def _launch_measured(self, device: OpenDevice) -> list[float]:
        events = [device.record()]
        for runs in self._steps:
            for run in runs:
                assert isinstance(run, LaunchRun)
                run.launch_each()
            events.append(device.record())
        seconds = [device.elapsed(a, b) for a, b in pairwise(events)]
        for event in events:
            device.forget(event)
        return seconds

    def _check(self, position: int, p: Parameter, array: NDArray, arrays: Sequence[NDArray]) -> None:
        if words := self._wrong_memory(position, p, array):
            raise wrong_argument(self._signature, position, words)
        dimension = 0
        if array.dtype != p.dtype:
            code = Status.DTYPE
        elif array.ndim != len(p.shape):
            code = Status.RANK
        elif array.shape != p.shape:
            code = Status.SHAPE
            dimension = next(d for d, (n, m) in enumerate(zip(array.shape, p.shape, strict=True)) if n != m)
        elif not array.is_compact:
            code = Status.STRIDES
        else:
            return
        raise failure_of(self._signature, arrays, Failure(code, position, dimension))

    def device_of(self, position: int) -> Device:
        """Where an input or output is, by its position among all of them."""
        block = self._blocks[position]
        return block.device if isinstance(block, NDArray) else block.device.description.device

    def _wrong_memory(self, position: int, p: Parameter, array: NDArray) -> str:
        """What is expected and found of an array whose memory can't be used."""
        place, block = self.device_of(position), self._blocks[position]
        if not array.is_readable and array.device != place:
            if isinstance(block, NDArray):
                return f"expected memory of the host, found {array.device}; to('cpu') copies it"
            return f"expected memory of {place}, or of the host, found {array.device}; to('{place}') copies it"
        if array.is_read_only and p.is_output:
            return "expected memory to write the output to, found a read-only array"
        if isinstance(block, DeviceMemory) and not array.is_readable and array.holder() is not block.device:
            return (
                f"expected memory of {place} as it is open, found some from before it was lost or closed; make the "
                "array again"
            )
        return ""


def _do(runs: Iterable[Run]) -> None:
    for run in runs:
        run()
