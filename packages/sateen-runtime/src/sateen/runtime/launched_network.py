"""A network on a device: its blocks of memory, its kernels, and a run as one launch after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

import numpy as np

from sateen.runtime.abi import Failure, Status
from sateen.runtime.artifact import Artifact
from sateen.runtime.content import whole
from sateen.runtime.devices import OpenDevice, PreparedLaunch
from sateen.runtime.diagnosis import failure_of, wrong_argument
from sateen.runtime.ndarray import NDArray
from sateen.runtime.signature import Parameter


class LaunchedNetwork:
    """The network of an artifact on an open device, with memory of its own for everything.

    Raises DeviceError for code that the driver refuses, OutOfMemoryError.
    """

    def __init__(self, artifact: Artifact, device: OpenDevice) -> None:
        self._device = device
        self._signature = artifact.signature
        parameters = np.frombuffer(whole(artifact.parameters), np.uint8)
        self._arrays = (*artifact.inputs, *artifact.outputs)
        self._count = len(artifact.inputs)
        self._blocks = [device.allocate(size) for size in artifact.block_sizes]
        device.write(self._blocks[-2].part(0, parameters.nbytes), parameters.ctypes.data)
        kernels = device.load(artifact.kernels)
        self._steps: list[list[PreparedLaunch]] = [[] for _ in artifact.steps]
        self._has_run = False
        self._joined: PreparedLaunch | None = None
        self._seconds: list[list[float]] | None = None
        for launch in artifact.launches:
            prepared = device.prepare(
                kernels,
                launch.kernel,
                launch.grid,
                launch.block,
                [self._blocks[p.block].part(p.offset, p.size) for p in launch.places],
                launch.scalars,
                self._blocks,
                f"{launch.kernel} of {artifact.steps[launch.step]}",
                launch.shared_bytes,
            )
            self._steps[launch.step].append(prepared)

    @contextmanager
    def measured(self) -> Iterator[list[list[float]]]:
        """Within, each run adds the seconds of its steps to the list, by the device's own clock."""
        self._seconds = []
        try:
            yield self._seconds
        finally:
            self._seconds = None

    def call_arrays(self, arrays: Sequence[NDArray]) -> None:
        """Run on compact inputs, then outputs, in memory of the host or of the device; outputs are complete.

        Raises ArgumentError for an array of another type, shape or device.
        """
        for position, (p, array) in enumerate(zip(self._arrays, arrays, strict=True)):
            self._check(position, p, array, arrays)
        device = self._device
        for block, array in zip(self._blocks, arrays[: self._count], strict=False):
            if array.is_readable:
                device.write(block.part(0, array.nbytes), array.data)
            else:
                device.copy(block.part(0, array.nbytes), array.part())
        if self._seconds is None:
            self._launch()
        else:
            self._seconds.append(self._launch_measured())
        for block, array in zip(self._blocks[self._count :], arrays[self._count :], strict=False):
            if array.is_readable:
                device.read(array.data, block.part(0, array.nbytes))
            else:
                device.copy(array.part(), block.part(0, array.nbytes))

    def _launch(self) -> None:
        """Launch all: one by one at first, then as one, where the driver can."""
        if self._joined is not None:
            self._device.launch(self._joined)
            return
        launches = [launch for step in self._steps for launch in step]
        for launch in launches:
            self._device.launch(launch)
        if not self._has_run:
            self._has_run, self._joined = True, self._device.joined(launches)

    def _launch_measured(self) -> list[float]:
        """Launch all; the seconds of each step."""
        device = self._device
        events = [device.record()]
        for launches in self._steps:
            for launch in launches:
                device.launch(launch)
            events.append(device.record())
        seconds = [device.elapsed(a, b) for a, b in pairwise(events)]
        for event in events:
            device.forget(event)
        return seconds

    def _check(self, position: int, p: Parameter, array: NDArray, arrays: Sequence[NDArray]) -> None:
        if words := self._wrong_memory(p, array):
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

    def _wrong_memory(self, p: Parameter, array: NDArray) -> str:
        """What is expected and found of an array whose memory can't be used."""
        place = self._device.description.device
        if not array.is_readable and array.device != place:
            return f"expected memory of {place}, or of the host, found {array.device}; to('{place}') copies it"
        if array.is_read_only and p.is_output:
            return "expected memory to write the output to, found a read-only array"
        if not array.is_readable and array.holder() is not self._device:
            return (
                f"expected memory of {place} as it is open, found some from before it was lost or closed; make the "
                "array again"
            )
        return ""
