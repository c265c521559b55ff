"""Other programs that run models of a format: engines to measure against, and judges of values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sateen.frontends.core.packages import is_installed
from sateen.graph_ir.ir import Array
from sateen.runtime import ArgumentError

Run = Callable[[Mapping[str, Array]], dict[str, Array]]
"""Outputs by name, for inputs by name."""
Call = Callable[[], Sequence[Array]]
"""Outputs in the model's order, for inputs that it was made with; the next call may overwrite them."""


@dataclass(frozen=True, slots=True)
class Peer:
    """An engine.

    `install` is the command that brings its packages. `write` writes a model for it, to a file of name `file`: inputs
    have the given shapes, or are constant. `open` starts it on such a file, with most threads and inputs in order.
    """

    packages: tuple[str, ...]
    install: str
    file: str
    write: Callable[[Path, Path, Mapping[str, Sequence[int]], Mapping[str, Array]], None]
    open: Callable[[Path, int, Mapping[str, Array]], Call]

    @property
    def missing(self) -> str:
        """The message if its packages are not installed; '' if they are."""
        missing = [package for package in self.packages if not is_installed(package)]
        one = "is" if len(missing) == 1 else "are"
        return f"{' and '.join(missing)} {one} not installed: {self.install}" if missing else ""

    def require(self) -> None:
        """Raises ArgumentError if its packages are not installed."""
        if self.missing:
            raise ArgumentError(self.missing)


@dataclass(frozen=True, slots=True)
class Judges:
    """Programs that run a model file without our compiler.

    `by_name` start a judge on a model, with inner values that it gives besides the outputs. `default` names the judge
    to use if the user names none; `value_names` are the values of a model that judges know, in order. `in_double` gives
    values in float64, for inputs, and Σ|w||x| of those that sum products: the magnitude of their terms.
    """

    by_name: Mapping[str, Callable[[Path, Sequence[str]], Run]]
    default: Callable[[Path], str]
    value_names: Callable[[Path], Sequence[str]]
    in_double: Callable[[Path, Mapping[str, Array], Sequence[str]], tuple[dict[str, Array], dict[str, Array]]]
