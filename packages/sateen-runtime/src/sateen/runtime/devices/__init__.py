"""Devices that are no processor: a driver for each kind, and what an open device does (docs/design/devices.md)."""

from sateen.runtime.devices.description import DeviceDescription
from sateen.runtime.devices.driver import MemoryPart
from sateen.runtime.devices.events import Event
from sateen.runtime.devices.functions import as_functions
from sateen.runtime.devices.opened import DeviceMemory, Kernels, OpenDevice, PreparedLaunch
from sateen.runtime.devices.process_devices import PROCESS_DEVICES, DevicesOfKind, OpenDevices, open_device

__all__ = [
    "PROCESS_DEVICES",
    "DeviceDescription",
    "DeviceMemory",
    "DevicesOfKind",
    "Event",
    "Kernels",
    "MemoryPart",
    "OpenDevice",
    "OpenDevices",
    "PreparedLaunch",
    "as_functions",
    "open_device",
]
