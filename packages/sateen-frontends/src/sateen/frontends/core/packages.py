"""The only way to optional packages: they are imported where they are used, so that nothing else needs them."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from sateen.runtime import ArgumentError


def is_installed(package: str) -> bool:
    return find_spec(package) is not None


def imported(module: str, missing: str) -> Any:
    """A module of an optional package. Raises ArgumentError with the text `missing` if it can't be imported."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ArgumentError(missing) from error
