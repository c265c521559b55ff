"""DLPack capsules, in and out, without a copy (Python specification of DLPack 1.1).

A capsule owns a managed tensor: a DLTensor, the owner of its memory, and a deleter. The consumer renames the
capsule and calls the deleter when it is done; a capsule that nobody consumed calls it itself. Version 1 prepends a
version and adds flags.
"""

from __future__ import annotations

import ctypes
import weakref
from dataclasses import dataclass
from typing import Any

from sateen.runtime.abi import DLTensor
from sateen.runtime.errors import ArgumentError

READ_ONLY, IS_COPIED = 1, 2
"""Flags of a managed tensor of version 1."""
_LEGACY, _VERSIONED = b"dltensor", b"dltensor_versioned"
_USED = {_LEGACY: b"used_dltensor", _VERSIONED: b"used_dltensor_versioned"}
_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    """`DLManagedTensor`, what a capsule named `dltensor` holds."""

    _fields_ = (("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", _Deleter))


class _ManagedVersioned(ctypes.Structure):
    """`DLManagedTensorVersioned`, what a capsule named `dltensor_versioned` holds."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", _Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    )


_LAYOUTS: dict[bytes, type[_Managed | _ManagedVersioned]] = {_LEGACY: _Managed, _VERSIONED: _ManagedVersioned}

_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_SetName", ctypes.pythonapi))
_retain = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_IncRef", ctypes.pythonapi))
_release = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(("Py_DecRef", ctypes.pythonapi))
# A capsule on its way out has no references left, so its destructor takes it as an address, which counts none.
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_pointer_at = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
# Without arguments, since ctypes passes none while an exception is set.
_clear_exception = ctypes.PYFUNCTYPE(None)(("PyErr_Clear", ctypes.pythonapi))


@dataclass(slots=True)
class _Lease:
    """Everything that an exported capsule keeps alive: its structure and the owner of the memory."""

    managed: _Managed | _ManagedVersioned
    owner: object


def _destroy(capsule: int) -> None:
    """What a capsule does that goes. A consumer that refuses it may drop it while its exception is set, with which no
    code in Python can run; the exception can't be kept, so the consumer may then say that it failed without one."""
    _clear_exception()
    for name, layout in _LAYOUTS.items():
        if _is_valid(capsule, name):
            address = _pointer_at(capsule, name)
            layout.from_address(address).deleter(address)


_delete = _Deleter(lambda address: _release(_Managed.from_address(address).context))
_delete_versioned = _Deleter(lambda address: _release(_ManagedVersioned.from_address(address).context))
_destroy_capsule = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(_destroy)
# Consumers may call the functions, and capsules point to the names, until the process ends: after this module is gone.
for _kept in (_delete, _delete_versioned, _destroy_capsule, *_USED, *_USED.values()):
    _retain(_kept)


def to_capsule(tensor: DLTensor, owner: object, *, flags: int = 0, versioned: bool) -> object:
    """A capsule of `tensor`, whose memory lives as long as `owner`.

    Raises BufferError if the protocol can't mark a read-only one.
    """
    managed: _Managed | _ManagedVersioned
    if versioned:
        managed = _ManagedVersioned(1, 1, None, _delete_versioned, flags, tensor)
    elif flags & READ_ONLY:
        raise BufferError("a read-only array needs a consumer of DLPack 1.0 or later")
    else:
        managed = _Managed(tensor, None, _delete)
    lease = _Lease(managed, owner)
    managed.context = id(lease)
    _retain(lease)
    return _new(
        ctypes.addressof(managed), _VERSIONED if versioned else _LEGACY, ctypes.cast(_destroy_capsule, ctypes.c_void_p)
    )


class Imported:
    """A tensor taken out of a capsule. At the end of its life it calls the producer's deleter."""

    __slots__ = ("__weakref__", "read_only", "tensor")

    def __init__(self, capsule: object) -> None:
        name = _name_of(capsule)
        if name not in _LAYOUTS:
            raise ArgumentError(f"expected a DLPack capsule that nobody has consumed, found one named {name!r}")
        address = _pointer_of(capsule, name)
        managed = _LAYOUTS[name].from_address(address)
        if isinstance(managed, _ManagedVersioned) and managed.major != 1:
            raise ArgumentError(
                f"expected a DLPack capsule of version 1, found version {managed.major}.{managed.minor}"
            )
        _rename(capsule, _USED[name])
        self.tensor: DLTensor = managed.tensor
        self.read_only = isinstance(managed, _ManagedVersioned) and bool(managed.flags & READ_ONLY)
        weakref.finalize(self, _finish, managed.deleter, address).atexit = False


def _finish(deleter: Any, address: int) -> None:
    if deleter:
        deleter(address)


def capsule_of(producer: Any, stream: int | None = None) -> object:
    """The capsule of a producer: version 1 if it supports versions; `stream` is where its work is to be done before.

    Raises ArgumentError if it gives none.
    """
    export = getattr(producer, "__dlpack__", None)
    if export is None:
        is_numbers = isinstance(producer, (list, tuple, int, float))
        remedy = "; numpy.asarray(…, 'float32') makes one of that type" if is_numbers else ""
        raise ArgumentError(f"expected an array that speaks DLPack, found {type(producer).__name__}{remedy}")
    try:
        return _export(export, {} if stream is None else {"stream": stream})
    except BufferError as error:
        raise ArgumentError(
            f"expected an array that DLPack can pass, found {type(producer).__name__}: {error}"
        ) from error


def _export(export: Any, keywords: dict[str, int]) -> object:
    try:
        return export(max_version=(1, 1), **keywords)
    except TypeError:  # a producer older than version 1 has no such keyword
        return export(**keywords)
