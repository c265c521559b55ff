"""Arrays by the names of a network's inputs and outputs: what is wrong with them, here and in a session."""

from __future__ import annotations

from collections.abc import Mapping

from sateen.runtime.display import did_you_mean
from sateen.runtime.errors import ArgumentError
from sateen.runtime.signature import Parameter


def require_mapping(given: object, what: str, parameters: tuple[Parameter, ...]) -> None:
    """Raises ArgumentError unless arrays are given by name."""
    if not isinstance(given, (dict, Mapping)):  # a dict needs no look at the abstract class
        raise ArgumentError(
            f"run: expected a mapping from the names of {what} to arrays, for {_list(parameters)}; "
            f"found {type(given).__name__}"
        )


def unknown(what: str, name: object, parameters: tuple[Parameter, ...]) -> ArgumentError:
    """The error about a name that no input or output has."""
    close = did_you_mean(str(name), [p.name for p in parameters])
    return ArgumentError(f"expected {what} {_list(parameters)}; found {name!r}{close}")


def wrong_inputs(given: Mapping[str, object], inputs: tuple[Parameter, ...]) -> ArgumentError:
    """The error about inputs of which one is unknown or missing."""
    names = {p.name for p in inputs}
    for name in given:
        if name not in names:
            return unknown("inputs", name, inputs)
    missing = next(p for p in inputs if p.name not in given)
    return ArgumentError(f"input {missing} is missing; found {', '.join(given) or 'no inputs'}")


def _list(parameters: tuple[Parameter, ...]) -> str:
    return ", ".join(map(str, parameters)) or "none"
