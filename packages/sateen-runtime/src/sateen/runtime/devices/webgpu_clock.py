"""Events of WebGPU: when queued work is done, the device's own time then, and what was read until then."""

from __future__ import annotations

import ctypes
import struct
import threading
from collections import deque
from typing import Any

_TIME = 8
"""Bytes of a time: nanoseconds."""


class Slot:
    """What an event needs of the device: a query for the time, where it is put, and memory that the host reads it from.

    That memory is mapped for the host when all work before is done, which is how WebGPU tells so.
    """

    def __init__(self, wgpu: Any, device: Any, *, measures: bool) -> None:
        flags = wgpu.BufferUsage
        resolved = flags.QUERY_RESOLVE if measures else flags.COPY_DST
        self.query = device.create_query_set(type="timestamp", count=1) if measures else None
        self.time = device.create_buffer(size=_TIME, usage=resolved | flags.COPY_SRC)
        self.on_host = device.create_buffer(size=_TIME, usage=flags.COPY_DST | flags.MAP_READ)


class Mapping:
    """Memory that is mapped for the host when the work before is done. A thread waits for the device, which tells only
    who waits."""

    def __init__(self, memory: Any, failures: tuple[type[Exception], ...]) -> None:
        self.memory = memory
        self._failures = failures
        self._mapped = memory.map_async("READ")
        self._answer = "no answer"
        """What the device said; nothing when it got there."""
        self._thread = threading.Thread(target=self._wait, name="sateen-webgpu-event", daemon=True)
        self._thread.start()

    def _wait(self) -> None:
        try:
            self._mapped.sync_wait()
            self._answer = ""
        except self._failures as error:  # which `is_reached` raises where it is asked
            self._answer = str(error)

    def is_reached(self) -> bool:
        """Whether the device got there. Raises RuntimeError if it is lost."""
        if self._thread.is_alive():
            return False
        if self._answer:
            raise RuntimeError(f"the work of the queue failed: {self._answer}")
        return True


class Event(Mapping):
    """The end of the work that was queued before."""

    def __init__(self, slot: Slot, failures: tuple[type[Exception], ...]) -> None:
        super().__init__(slot.on_host, failures)
        self.slot = slot

    def nanoseconds(self) -> int:
        """The device's time when it got there."""
        return int(struct.unpack("<Q", self.memory.read_mapped())[0])


class Read(Mapping):
    """A copy to the host's memory, which is done where it is first seen that the device got there."""

    def __init__(self, memory: Any, begin: int, size: int, address: int, failures: tuple[type[Exception], ...]) -> None:
        """To `address`, of `size` bytes from `begin` on in `memory`."""
        super().__init__(memory, failures)
        self._bytes = slice(begin, begin + size)
        self._address = address

    def is_reached(self) -> bool:
        if not super().is_reached():
            return False
        wanted = bytes(self.memory.read_mapped()[self._bytes])
        ctypes.memmove(self._address, wanted, len(wanted))
        self.memory.unmap()
        return True


class Order:
    """Mappings in the order of their queue: one is reached when all before it are, whichever the threads saw first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._underway: deque[Mapping] = deque()

    def append(self, mapping: Mapping) -> None:
        self._underway.append(mapping)

    def is_reached(self, mapping: Mapping) -> bool:
        """Whether the device got there. Raises RuntimeError if it is lost."""
        with self._lock:
            while self._underway and self._underway[0].is_reached():
                self._underway.popleft()
            return mapping not in self._underway


class Clock:
    """Records events in the queue of a device; `measures` if the device has times."""

    def __init__(self, wgpu: Any, device: Any, *, measures: bool) -> None:
        self._wgpu = wgpu
        self._device = device
        self._measures = measures
        self._unused: list[Slot] = []

    def record(self) -> Event:
        """An event at the end of what was given to the queue."""
        slot = self._unused.pop() if self._unused else Slot(self._wgpu, self._device, measures=self._measures)
        commands = self._device.create_command_encoder()
        if self._measures:
            writes = {"query_set": slot.query, "end_of_pass_write_index": 0}
            commands.begin_compute_pass(timestamp_writes=writes).end()
            commands.resolve_query_set(slot.query, 0, 1, slot.time, 0)
        commands.copy_buffer_to_buffer(slot.time, 0, slot.on_host, 0, _TIME)
        self._device.queue.submit([commands.finish()])
        return Event(slot, (self._wgpu.GPUError, RuntimeError))

    def seconds(self, first: Event, second: Event) -> float:
        """The time between two events that are reached. Raises RuntimeError for a device without times."""
        if not self._measures:
            raise RuntimeError("the device lacks timestamp-query: it tells no times")
        return (second.nanoseconds() - first.nanoseconds()) * 1e-9

    def forget(self, event: Event) -> None:
        """Use what an event has for another one."""
        if event.is_reached():
            event.slot.on_host.unmap()
            self._unused.append(event.slot)
