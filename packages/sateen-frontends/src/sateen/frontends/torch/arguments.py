"""Parts of the JSON of a program: fields of objects, and the arguments of nodes, by the kind that their key names.

Source: torch/_export/serde/schema.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sateen.frontends.torch.program import Argument, ElementType, Reference
from sateen.runtime.errors import FrontendError, printable

_NUMBERS = {"Infinity": float("inf"), "-Infinity": float("-inf"), "NaN": float("nan")}
"""Numbers that JSON does not have, as torch writes them."""


def alternative(given: Any, what: str) -> tuple[str, Any]:
    """The key and the value of an object with one key."""
    if not isinstance(given, dict) or len(given) != 1:
        raise FrontendError(f"{what}: expected an object of one key, found {kind_of(given)}")
    ((key, value),) = given.items()
    return key, value


def field(given: Any, name: str, type_: type, what: str) -> Any:
    """A field of an object. Raises FrontendError if it is absent or of another type."""
    value = given.get(name) if isinstance(given, dict) else None
    if not isinstance(value, type_) or (type_ is int and isinstance(value, bool)):
        raise FrontendError(f"{what}: expected {type_.__name__} as {name!r}, found {kind_of(value)}")
    return value


def kind_of(value: object) -> str:
    return "nothing" if value is None else f"{type(value).__name__} {printable(str(value))[:80]}"


def _plain(*types: type) -> Callable[[Any], Argument]:
    def read(value: Any) -> Argument:
        if type(value) not in types:
            raise FrontendError(f"expected an argument of type {types[0].__name__}, found {kind_of(value)}")
        found: Argument = value
        return found

    return read


def _number(value: Any) -> Argument:
    if isinstance(value, str) and value in _NUMBERS:
        return _NUMBERS[value]
    return float(_plain(float, int)(value))  # type: ignore[arg-type]  # one of these


def _listed(read: Callable[[Any], Argument]) -> Callable[[Any], Argument]:
    def read_all(value: Any) -> Argument:
        if not isinstance(value, list):
            raise FrontendError(f"expected a list as an argument, found {kind_of(value)}")
        return tuple(read(item) for item in value)

    return read_all


def _reference(value: Any) -> Argument:
    return Reference(field(value, "name", str, "an argument"))


def _one_of(**kinds: Callable[[Any], Argument]) -> Callable[[Any], Argument]:
    def read(value: Any) -> Argument:
        kind, found = alternative(value, "an argument")
        if kind not in kinds:
            raise FrontendError(f"expected an argument of {' or '.join(kinds)}, found {kind}")
        return kinds[kind](found)

    return read


def _number_named(value: Any) -> Argument:
    name = _plain(str)(value)
    assert isinstance(name, str)
    return Reference(name, is_number=True)


_INTEGER, _FLAG, _TEXT = _plain(int), _plain(bool), _plain(str)
_SYM_INT = _one_of(as_name=_number_named, as_int=_INTEGER)
_SYM_FLOAT = _one_of(as_name=_number_named, as_float=_number, as_int=_number)
_SYM_BOOL = _one_of(as_name=_number_named, as_bool=_FLAG)
_OPTIONAL = _one_of(as_tensor=_reference, as_none=lambda value: None)


def _element_type(value: Any) -> Argument:
    number = _INTEGER(value)
    assert isinstance(number, int)
    return ElementType(number)


ARGUMENTS: Mapping[str, Callable[[Any], Argument]] = {
    "as_none": lambda value: None,
    "as_tensor": _reference,
    "as_tensors": _listed(_reference),
    "as_optional_tensor": _OPTIONAL,
    "as_optional_tensors": _listed(_OPTIONAL),
    "as_int": _INTEGER,
    "as_ints": _listed(_INTEGER),
    "as_float": _number,
    "as_floats": _listed(_number),
    "as_bool": _FLAG,
    "as_bools": _listed(_FLAG),
    "as_operator": _TEXT,
    "as_string": _TEXT,
    "as_strings": _listed(_TEXT),
    "as_sym_int": _SYM_INT,
    "as_sym_ints": _listed(_SYM_INT),
    "as_sym_float": _SYM_FLOAT,
    "as_sym_floats": _listed(_SYM_FLOAT),
    "as_sym_bool": _SYM_BOOL,
    "as_sym_bools": _listed(_SYM_BOOL),
    "as_scalar_type": _element_type,
}
"""How to read each kind of argument; others have no meaning here."""
