"""The native ABI in ctypes: the structures of `sateen.h` and DLPack, and the meaning of a status."""

from __future__ import annotations

import ctypes
from enum import IntEnum
from typing import NamedTuple

ABI_VERSION = 2
OLDEST_ABI_VERSION = 1
"""Libraries from this version on run: in version 1 a status had 8 bits for the argument, and a host had no devices."""
FIRST_ABI_WITH_DEVICES = 2

MOST_ARGUMENTS = 1 << 16
"""How many arguments a function takes at most: as many as a status can tell apart."""
MOST_DIMENSIONS = 1 << 7
"""How many dimensions an argument has at most, for the same reason."""


class DLDevice(ctypes.Structure):
    """`DLDevice` of DLPack."""

    _fields_ = (("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32))


class DLDataType(ctypes.Structure):
    """`DLDataType` of DLPack."""

    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class DLTensor(ctypes.Structure):
    """`DLTensor` of DLPack: the argument of every public function. Strides count elements; NULL means compact."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class SateenHost(ctypes.Structure):
    """`sateen_host`: what compiled code asks of its host. In version 1 it ended before `device_count`.

    The functions are kept as addresses, copied and never called here.
    """

    _fields_ = (
        ("abi_version", ctypes.c_uint32),
        ("threads", ctypes.c_int32),
        ("context", ctypes.c_void_p),
        ("parallel_for", ctypes.c_void_p),
        ("alloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
        ("log", ctypes.c_void_p),
        ("devices", ctypes.c_void_p),
        ("device_count", ctypes.c_int32),
    )


class SateenPlace(ctypes.Structure):
    """`sateen_place`: memory of a device, or of the host, and the byte of it that is meant."""

    _fields_ = (("memory", ctypes.c_void_p), ("offset", ctypes.c_uint64), ("device", DLDevice))


class SateenLaunch(ctypes.Structure):
    """`sateen_launch`: a kernel by its name, how many blocks of how many threads execute it, and its arguments."""

    _fields_ = (
        ("kernel", ctypes.c_char_p),
        ("grid", ctypes.c_int64 * 3),
        ("block", ctypes.c_int64 * 3),
        ("places", ctypes.POINTER(SateenPlace)),
        ("scalars", ctypes.POINTER(ctypes.c_int64)),
        ("place_count", ctypes.c_int32),
        ("scalar_count", ctypes.c_int32),
        ("queue", ctypes.c_int32),
    )


class SateenDevice(ctypes.Structure):
    """`sateen_device`: what compiled code asks of a device that its host has.

    The functions are the prototypes `DeviceAlloc` to `DeviceSync` of this module; `DeviceFunctions` makes one of
    functions in Python.
    """

    _fields_ = (
        ("id", DLDevice),
        ("context", ctypes.c_void_p),
        ("alloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
        ("copy", ctypes.c_void_p),
        ("launch", ctypes.c_void_p),
        ("wait", ctypes.c_void_p),
        ("sync", ctypes.c_void_p),
    )


PublicFunction = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32)
"""`int32_t f(const sateen_host *host, DLTensor *const *args, int32_t n)`."""

_Device = ctypes.POINTER(SateenDevice)
_Place = ctypes.POINTER(SateenPlace)
DeviceAlloc = ctypes.CFUNCTYPE(ctypes.c_void_p, _Device, ctypes.c_uint64)
DeviceFree = ctypes.CFUNCTYPE(None, _Device, ctypes.c_void_p)
DeviceCopy = ctypes.CFUNCTYPE(ctypes.c_int32, _Device, ctypes.c_int32, _Place, _Place, ctypes.c_uint64)
DeviceLaunch = ctypes.CFUNCTYPE(ctypes.c_int32, _Device, ctypes.POINTER(SateenLaunch))
DeviceWait = ctypes.CFUNCTYPE(ctypes.c_int32, _Device, ctypes.c_int32, ctypes.c_int32)
DeviceSync = ctypes.CFUNCTYPE(ctypes.c_int32, _Device, ctypes.c_int32)


class Status(IntEnum):
    """The codes of a status, its lowest byte."""

    OK = 0
    ARGUMENT_COUNT = 1
    NULL_ARGUMENT = 2
    DEVICE = 3
    DTYPE = 4
    RANK = 5
    SHAPE = 6
    STRIDES = 7
    ALIGNMENT = 8
    OUT_OF_MEMORY = 9
    ABI_VERSION = 10
    OVERLAP = 11
    LAUNCH = 12
    NO_DEVICE = 13
    QUEUE = 14
    FUNCTION = 15
    TILES = 16

    def at(self, argument: int, dimension: int = 0) -> int:
        """The status that says this of an argument, and of one of its dimensions."""
        return self | argument << 8 | dimension << 24


class Failure(NamedTuple):
    """A status taken apart:

    `code | argument << 8 | dimension << 24`. The code is a Status unless a newer library made it.
    """

    code: int
    argument: int
    dimension: int

    @staticmethod
    def of(status: int, abi_version: int = ABI_VERSION) -> Failure:
        """The meaning of a status from a library of this version."""
        if abi_version == 1:
            return Failure(status & 0xFF, status >> 8 & 0xFF, status >> 16 & 0xFFFF)
        return Failure(status & 0xFF, status >> 8 & 0xFFFF, status >> 24 & 0x7F)
