"""The texts of `sateen_status_message` in every library: English texts for the codes of docs/design/abi.md."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sateen.runtime.abi import Status

STATUS_MESSAGES: Mapping[Status, str] = MappingProxyType(
    {
        Status.OK: "success",
        Status.ARGUMENT_COUNT: "wrong number of arguments",
        Status.NULL_ARGUMENT: "an argument, its shape or its memory is NULL",
        Status.DEVICE: "an argument is on another device than expected",
        Status.DTYPE: "an argument has another element type than expected",
        Status.RANK: "an argument has another number of dimensions than expected",
        Status.SHAPE: "an argument has another extent than expected",
        Status.STRIDES: "an argument has other strides than expected",
        Status.ALIGNMENT: "the memory of an argument is not aligned as expected",
        Status.OUT_OF_MEMORY: "out of memory",
        Status.ABI_VERSION: "the host table is of another ABI version",
        Status.OVERLAP: "an output overlaps another argument",
        Status.LAUNCH: "a kernel could not be launched",
        Status.NO_DEVICE: "the host has no such device",
        Status.QUEUE: "work on a device failed",
        Status.FUNCTION: "a function that is called failed",
        Status.TILES: "the system gives the process no tile registers",
    }
)
"""The texts by the lowest byte of a status; the other bytes give argument and dimension."""
