"""The native ABI in ctypes: the structures of `sateen.h` and DLPack, and the meaning of a status."""

from __future__ import annotations

import ctypes
from enum import IntEnum
from typing import NamedTuple

ABI_VERSION = 1


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
    """`sateen_host`: what compiled code asks of its host.

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
        ("device", ctypes.c_void_p),
    )


PublicFunction = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32)
"""`int32_t f(const sateen_host *host, DLTensor *const *args, int32_t n)`."""


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


class Failure(NamedTuple):
    """A status taken apart:

    `code | argument << 8 | dimension << 16`. The code is a Status unless a newer library made it.
    """

    code: int
    argument: int
    dimension: int

    @staticmethod
    def of(status: int) -> Failure:
        return Failure(status & 0xFF, status >> 8 & 0xFF, status >> 16 & 0xFFFF)
