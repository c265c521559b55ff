"""Element types by their numbers in MXNet (kFloat32 … of mshadow/base.h)."""

from __future__ import annotations

from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

_NAMES = {
    0: "float32",
    1: "float64",
    2: "float16",
    3: "uint8",
    4: "int32",
    5: "int8",
    6: "int64",
    7: "bool",
    12: "bfloat16",
}


def dtype_of_number(number: object, what: str) -> DType:
    """The type with a number. Raises FrontendError, which begins with `what`, if there is none."""
    if not isinstance(number, int) or number not in _NAMES:
        raise FrontendError(f"{what}: expected the number of an element type of MXNet, found {number!r}")
    return DType.of(_NAMES[number])


def dtype_of_name(name: object) -> DType:
    """The type with a name. Raises FrontendError if there is none."""
    if name not in _NAMES.values():
        raise FrontendError(f"expected one of the element types {', '.join(_NAMES.values())}, found {name!r}")
    return DType.of(str(name))
