"""Devices as values: a kind, with DLPack's code for it, and an index."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

from sateen.runtime.errors import ArgumentError


class DeviceKind(IntEnum):
    """The kinds of devices that sateen addresses, by their codes in DLPack 1.1 (`DLDeviceType`)."""

    CPU = 1
    CUDA = 2
    OPENCL = 4
    VULKAN = 7
    METAL = 8
    ROCM = 10
    WEBGPU = 15

    def __str__(self) -> str:
        return self.name.lower()

    @property
    def has_addresses(self) -> bool:
        """Whether its memory is pointers, in which offsets count; that of others is objects with places in them."""
        return self in (DeviceKind.CPU, DeviceKind.CUDA, DeviceKind.ROCM)

    @property
    def has_streams(self) -> bool:
        """Whether DLPack's streams order the work of several libraries on it."""
        return self in (DeviceKind.CUDA, DeviceKind.ROCM)

    @staticmethod
    def of(name: str) -> DeviceKind:
        """The kind of that name, such as 'opencl'. Raises ArgumentError for an unknown name."""
        for kind in DeviceKind:
            if str(kind) == name:
                return kind
        raise ArgumentError(f"expected a kind of device, one of {', '.join(map(str, DeviceKind))}; found {name!r}")


@dataclass(frozen=True, slots=True)
class Device:
    """One device of this machine, written `opencl(0)`."""

    kind: DeviceKind
    index: int = 0

    def __post_init__(self) -> None:
        if self.index < 0:
            raise ArgumentError(f"expected a device index of 0 or more, found {self.index}")

    def __str__(self) -> str:
        return f"{self.kind}({self.index})"

    @staticmethod
    def of(value: Device | str) -> Device:
        """The device that a text such as 'opencl(1)' or 'cpu' names. Raises ArgumentError for any other value."""
        if isinstance(value, Device):
            return value
        if not isinstance(value, str):
            raise ArgumentError(f"expected a device such as 'cpu' or 'opencl(1)', found {value!r}")
        return _parse(value)


@lru_cache(maxsize=64)
def _parse(text: str) -> Device:
    match = re.fullmatch(r"(\w+)(?:\((\d{1,4})\))?", text)
    if match is None:
        raise ArgumentError(f"expected a device such as 'cpu' or 'opencl(1)', found {text!r}")
    return Device(DeviceKind.of(match[1]), int(match[2] or 0))


def cpu() -> Device:
    """The processors of this machine, with their memory."""
    return Device(DeviceKind.CPU)


def cuda(index: int = 0) -> Device:
    """An NVIDIA GPU."""
    return Device(DeviceKind.CUDA, index)


def opencl(index: int = 0) -> Device:
    """A device of OpenCL."""
    return Device(DeviceKind.OPENCL, index)


def vulkan(index: int = 0) -> Device:
    """A device of Vulkan."""
    return Device(DeviceKind.VULKAN, index)


def metal(index: int = 0) -> Device:
    """A GPU of Apple."""
    return Device(DeviceKind.METAL, index)


def rocm(index: int = 0) -> Device:
    """A GPU of AMD."""
    return Device(DeviceKind.ROCM, index)


def webgpu(index: int = 0) -> Device:
    """A device of WebGPU."""
    return Device(DeviceKind.WEBGPU, index)
