"""Errors of failed calls: the status of a compiled function, its signature and its arguments, in words."""

from __future__ import annotations

from collections.abc import Sequence

from sateen.runtime.abi import ABI_VERSION, Failure, Status
from sateen.runtime.device import DeviceKind
from sateen.runtime.device_functions import DeviceFailure
from sateen.runtime.display import counted
from sateen.runtime.errors import ArgumentError, ArtifactError, ExecutionError, OutOfMemoryError, SateenError
from sateen.runtime.ndarray import NDArray
from sateen.runtime.signature import Parameter, Signature


def failure_of(signature: Signature, arguments: Sequence[NDArray], failure: Failure) -> SateenError:
    """The error that says what the function expected and what it found."""
    match failure.code:
        case Status.ARGUMENT_COUNT:
            return wrong_count(signature, len(arguments))
        case Status.OUT_OF_MEMORY:
            return OutOfMemoryError(f"{signature.name}: no memory left for its workspace")
        case Status.ABI_VERSION:
            return ArtifactError(
                f"{signature.name}: the library expects a host of another ABI than {ABI_VERSION}; compile it again"
            )
        case Status.LAUNCH:
            return ExecutionError(f"{signature.name}: the device refused a kernel")
        case Status.NO_DEVICE:
            return ExecutionError(f"{signature.name}: expected a device for its kernels, found a host without it")
        case Status.QUEUE:
            return ExecutionError(f"{signature.name}: the device failed at work that it had queued")
        case Status.FUNCTION:
            return ExecutionError(f"{signature.name}: a function that it calls failed")
        case Status.TILES:
            return ExecutionError(f"{signature.name}: the system gives this process no tile registers (AMX)")
    if words := _expected_and_found(signature, arguments, failure):
        return ArgumentError(f"{_place(signature, failure.argument)}: {words}")
    found = f"status {failure.code} of argument {failure.argument}"
    return ExecutionError(f"{signature.name}: failed with {found}, which this sateen-runtime does not know")


def failure_of_device(name: str, failure: DeviceFailure) -> ExecutionError:
    """The error of a function of that name which a device failed; an exception of the device is its cause.

    A device knows no arguments of the function, so its status says nothing of one, whatever its bits are.
    """
    device = failure.device
    error: ExecutionError
    match failure.status:
        case Status.OUT_OF_MEMORY:
            error = OutOfMemoryError(f"{name}: {device} has no memory left")
        case Status.LAUNCH:
            error = ExecutionError(f"{name}: {device} refused a kernel")
        case Status.QUEUE:
            error = ExecutionError(f"{name}: {device} failed at {failure.function}, or at work that it had queued")
        case Status.OK:
            error = ExecutionError(f"{name}: {device} failed at {failure.function}")
        case unknown:
            error = ExecutionError(
                f"{name}: {device} failed at {failure.function} with status {unknown}, which this sateen-runtime does "
                "not know of a device"
            )
    error.__cause__ = failure.error
    return error


def failure_of_function(name: str, called: str, error: Exception) -> ExecutionError:
    """The error of a function of that name which calls one in Python; that one's exception is the cause."""
    failure = ExecutionError(f"{name}: function {called!r} failed: {type(error).__name__}: {error}")
    failure.__cause__ = error
    return failure


def wrong_count(signature: Signature, found: int) -> ArgumentError:
    """The error of a call with the wrong number of arguments."""
    names = ", ".join(parameter.name for parameter in signature.parameters)
    return ArgumentError(f"{signature.name}: expected {len(signature.parameters)} arguments ({names}), found {found}")


def wrong_argument(signature: Signature, index: int, words: str) -> ArgumentError:
    """The error of an argument that never reached the function; `words` say what was expected and found."""
    return ArgumentError(f"{_place(signature, index)}: {words}")


def _place(signature: Signature, index: int) -> str:
    return f"{signature.name}: argument {index} ({signature.parameters[index].name})"


def _expected_and_found(signature: Signature, arguments: Sequence[NDArray], failure: Failure) -> str | None:
    if failure.argument >= min(len(arguments), len(signature.parameters)):
        return None
    parameter, found = signature.parameters[failure.argument], arguments[failure.argument]
    shape = _shape(parameter.shape)
    match failure.code:
        case Status.NULL_ARGUMENT:
            return "expected an array, found a null pointer"
        case Status.DEVICE:
            return f"expected memory of device {parameter.device}, found {found.device}{_copy_there(parameter, found)}"
        case Status.DTYPE:
            converted = f"; runtime.array(…, '{parameter.dtype}') converts a copy"
            return f"expected {parameter.dtype}, found {found.dtype}{'' if parameter.is_output else converted}"
        case Status.RANK:
            dimensions = counted(len(parameter.shape), "dimension")
            return f"expected {dimensions}, shape {shape}, found shape {_shape(found.shape)}"
        case Status.SHAPE if not parameter.shape:
            return f"expected a number in [0, 2^31), found {found.numpy()[()]}"
        case Status.SHAPE if _is_as_expected(signature, arguments, failure):
            others = ", ".join(
                f"{p.name} {_shape(a.shape)}"
                for p, a in zip(signature.parameters, arguments, strict=False)
                if a is not found and a.shape
            )
            reads = f"expected a dimension {failure.dimension} that holds all elements that are read"
            return f"{reads}, found shape {_shape(found.shape)}{f' beside {others}' if others else ''}"
        case Status.SHAPE:
            extent = _extent(signature, arguments, failure)
            place = f"dimension {failure.dimension} of shape {shape}"
            return f"expected {extent} in {place}, found shape {_shape(found.shape)}"
        case Status.STRIDES:
            strides = "compact strides" if parameter.strides is None else f"strides {_shape(parameter.strides)}"
            if parameter.is_output and any(isinstance(s, str) for s in parameter.strides or ()):
                strides += ", each beyond what smaller ones reach"
            return (
                f"expected {strides}, found strides {_shape(found.strides)}; {_remedy(parameter, found, 'a compact')}"
            )
        case Status.ALIGNMENT:
            begin = found.data if found.device.kind.has_addresses else found.byte_offset
            lowest = begin & -begin
            expected = f"expected memory aligned to {parameter.alignment} bytes"
            return f"{expected}, found {lowest}; {_remedy(parameter, found, 'an aligned')}"
        case Status.OVERLAP:
            return "expected memory of its own, found memory that another argument uses too"
    return None


def _remedy(parameter: Parameter, found: NDArray, kind: str) -> str:
    """How to make an array that fits: a copy of an input, new memory for an output."""
    if parameter.is_output:
        return f"runtime.empty makes {kind} array"
    way = "runtime.array" if found.is_readable else f"to('{found.device}')"
    return f"{way} makes {kind} copy"


def _copy_there(parameter: Parameter, found: NDArray) -> str:
    """How to have memory on the device of a parameter."""
    if found.device.kind is not DeviceKind.CPU:
        return "" if parameter.is_output else f"; to({str(parameter.device)!r}) makes a copy there"
    given = f"runtime.{'empty' if parameter.is_output else 'array'}(…, device={str(parameter.device)!r})"
    return f"; {given} makes {'an array' if parameter.is_output else 'a copy'} there"


def _is_as_expected(signature: Signature, arguments: Sequence[NDArray], failure: Failure) -> bool:
    """Whether the failing dimension has the extent that the signature asks for, so that it does not fit others."""
    place = failure.argument, failure.dimension
    parameter, found = signature.parameters[failure.argument], arguments[failure.argument].shape
    if failure.dimension >= min(len(parameter.shape), len(found)):
        return False
    extent = parameter.shape[failure.dimension]
    if isinstance(extent, int):
        return extent == found[failure.dimension]
    if (number := _number(signature, arguments, extent)) is not None:
        return number == found[failure.dimension]
    given = (
        (i, d)
        for i, p in enumerate(signature.parameters[: len(arguments)])
        for d, e in enumerate(p.shape[: len(arguments[i].shape)])
        if e == extent
    )
    return extent.isidentifier() and next(given, None) == place


def _extent(signature: Signature, arguments: Sequence[NDArray], failure: Failure) -> str:
    """The extent expected in the failing dimension; for a symbol, where its value comes from."""
    if failure.dimension >= len(signature.parameters[failure.argument].shape):
        return "another extent"
    extent = signature.parameters[failure.argument].shape[failure.dimension]
    if isinstance(extent, int):
        return str(extent)
    if extent == f"{signature.parameters[failure.argument].name}.shape{failure.dimension}":
        return "the extent that other arguments give"
    if (number := _number(signature, arguments, extent)) is not None:
        return f"{extent} = {number} as in argument {extent!r}"
    for parameter, argument in list(zip(signature.parameters, arguments, strict=False))[: failure.argument + 1]:
        for symbol, value in zip(parameter.shape, argument.shape, strict=False):
            if symbol == extent:
                return f"{extent} = {value} as in {parameter.name}"
    return extent


def _number(signature: Signature, arguments: Sequence[NDArray], name: str) -> int | None:
    """The number among the arguments that gives the extent of this name; None if there is none."""
    for parameter, argument in zip(signature.parameters, arguments, strict=False):
        if (parameter.name, parameter.shape, str(parameter.dtype)) == (name, (), "int64"):
            return int(argument.numpy()[()])
    return None


def _shape(extents: Sequence[int | str]) -> str:
    return f"({', '.join(map(str, extents))}{',' * (len(extents) == 1)})"
