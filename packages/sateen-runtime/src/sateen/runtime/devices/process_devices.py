"""The open devices of this process: each is opened once, when something first needs it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sateen.runtime.device import Device, DeviceKind
from sateen.runtime.devices.cuda import CudaDriver
from sateen.runtime.devices.description import DeviceDescription
from sateen.runtime.devices.driver import Driver, DriverError, MissingDriverError
from sateen.runtime.devices.opencl import OpenCLDriver
from sateen.runtime.devices.opened import OpenDevice
from sateen.runtime.devices.webgpu import WebGPUDriver
from sateen.runtime.errors import DeviceError
from sateen.runtime.fork_safe import ForkSafeLock

DRIVERS: Mapping[DeviceKind, Driver] = MappingProxyType(
    {driver.kind: driver for driver in (OpenCLDriver(), CudaDriver(), WebGPUDriver())}
)
"""The drivers by the kind of their devices."""


@dataclass(frozen=True, slots=True)
class DevicesOfKind:
    """The devices of one kind; where there are none, what is missing and what brings it."""

    kind: DeviceKind
    devices: tuple[DeviceDescription, ...]
    missing: str = ""
    remedy: str = ""


class OpenDevices:
    """Devices by their names. A forked child has none of its parent's: drivers don't survive a fork."""

    def __init__(self, drivers: Mapping[DeviceKind, Driver]) -> None:
        self._drivers = drivers
        self._open: dict[tuple[int, Device], OpenDevice] = {}
        self._gone: list[OpenDevice] = []
        """Devices that were lost or closed: what never ended may still use the host's memory that these keep."""
        self._lock = ForkSafeLock()

    def open(self, device: Device) -> OpenDevice:
        """The device, opened if it isn't. Raises DeviceError for a kind without a driver here, a driver that is missing
        and a device that is not there.
        """
        key = (os.getpid(), device)
        with self._lock.current:
            found = self._open.get(key)
            if found is None or not found.is_usable:
                if found is not None:
                    self._gone.append(found)
                found = self._open[key] = self._connect(device)
            return found

    def _connect(self, device: Device) -> OpenDevice:
        driver = self._drivers.get(device.kind)
        if driver is None:
            kinds = ", ".join(map(str, self._drivers))
            raise DeviceError(
                f"{device}: expected a device of kind {kinds}, for which there are drivers; for others sateen "
                "export --as kernels writes what a program of your own needs"
            )
        try:
            return OpenDevice(driver.connect(device.index))
        except MissingDriverError as error:
            raise DeviceError(f"{device}: {error}") from None
        except DriverError as error:
            raise DeviceError(f"{device}: expected to open it, but {error.fault.value}: {error}") from None

    def found(self) -> Iterator[DevicesOfKind]:
        """The devices of this machine, by their kinds."""
        for kind, driver in self._drivers.items():
            try:
                yield DevicesOfKind(kind, driver.descriptions())
            except MissingDriverError as error:
                yield DevicesOfKind(kind, (), error.missing, error.remedy)
            except DriverError as error:
                yield DevicesOfKind(kind, (), str(error))


PROCESS_DEVICES = OpenDevices(DRIVERS)
"""The open devices of this process."""


def open_device(device: Device | str) -> OpenDevice:
    """A device of this machine, opened once: memory, kernels, queues, time. Raises ArgumentError for a text that is
    none, DeviceError for a device that is not there.
    """
    return PROCESS_DEVICES.open(Device.of(device))
