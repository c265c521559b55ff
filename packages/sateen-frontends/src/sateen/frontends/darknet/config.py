"""Parses a .cfg: sections of options, in order, as darknet's read_cfg does (src/parser.c, src/option_list.c)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.source import Limits, Source
from sateen.runtime.errors import FrontendError, printable

MOST_TEXT_BYTES = 1 << 24
"""The most bytes of a .cfg."""
_NUMBER = re.compile(r"[-+]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][-+]?[0-9]++)?+")


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """A section and the line on which it begins; of options given twice the first counts."""

    type: str
    line: int
    options: dict[str, str] = field(default_factory=dict)

    def text(self, name: str, default: str = "") -> str:
        return self.options.get(name, default)

    def number(self, name: str, default: float | None = None) -> float:
        return self._one(name, default)

    def integer(self, name: str, default: int | None = None) -> int:
        value = self._one(name, default)
        if not value.is_integer():
            raise FrontendError(f"expected an integer as {name}, found {self._shown(name)}")
        return int(value)

    def flag(self, name: str) -> bool:
        return self.number(name, 0) != 0

    def numbers(self, name: str) -> tuple[float, ...]:
        """Numbers separated by commas; () if the option is absent."""
        if name not in self.options:
            return ()
        parts = self._plain(name).rstrip(",").split(",")
        if not all(_NUMBER.fullmatch(part) for part in parts):
            raise FrontendError(f"expected numbers as {name}, found {self._shown(name)}")
        return tuple(map(float, parts))

    def integers(self, name: str) -> tuple[int, ...]:
        values = self.numbers(name)
        if not all(value.is_integer() for value in values):
            raise FrontendError(f"expected integers as {name}, found {self._shown(name)}")
        return tuple(map(int, values))

    def _one(self, name: str, default: float | None) -> float:
        if name not in self.options and default is not None:
            return float(default)
        if name not in self.options:
            raise FrontendError(f"expected {name}, found none")
        if not _NUMBER.fullmatch(self._plain(name)) or abs(float(self._plain(name))) > 2**31:
            raise FrontendError(f"expected a number as {name}, found {self._shown(name)}")
        return float(self._plain(name))

    def _plain(self, name: str) -> str:
        """The value without a comment behind it, which darknet's parsers of numbers don't read."""
        return self.options[name].split("#")[0].split(";")[0]

    def _shown(self, name: str) -> str:
        return printable(self.options[name][:40])

    def require_zero(self, reasons: Mapping[str, str]) -> None:
        """Raises UnsupportedError for an option that is not 0, with its reason."""
        for name, reason in reasons.items():
            if self.text(name, "0") not in {"0", ""}:
                raise UnsupportedError(f"{name}={printable(self.text(name))}: {reason}", "train without it")


def sections_of(source: Source, limits: Limits) -> list[Section]:
    """The sections of a text. Raises FrontendError for any other."""
    if len(source.data) > MOST_TEXT_BYTES:
        raise FrontendError(f"expected at most {MOST_TEXT_BYTES} bytes of text, found {len(source.data)}")
    try:
        lines = source.data.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise FrontendError(f"expected text in UTF-8, found byte {error.start} that is not") from None
    sections: list[Section] = []
    for number, line in enumerate(lines, start=1):
        plain = re.sub(r"\s", "", line)  # all blanks, as darknet's strip
        if not plain or plain[0] in "#;\0":
            continue
        if plain[0] == "[":
            sections.append(Section(_type_of(plain, number), number))
            if len(sections) > limits.nodes:
                raise FrontendError(f"expected at most {limits.nodes} sections, found more")
            continue
        key, sign, value = plain.partition("=")
        if not sign or not sections:
            raise FrontendError(f"line {number}: expected a section or an option, found {printable(plain[:40])!r}")
        sections[-1].options.setdefault(key, value)
    return sections


_SHORT = {
    "conv": "convolutional", "deconv": "deconvolutional", "conn": "connected", "max": "maxpool", "avg": "avgpool",
    "local_avg": "local_avgpool", "soft": "softmax", "lrn": "normalization", "network": "net", "silence": "empty",
}  # fmt: skip
"""Other names of types (src/parser.c, string_to_layer_type)."""


def _type_of(line: str, number: int) -> str:
    if not line.endswith("]") or not re.fullmatch(r"[A-Za-z0-9_]{1,40}", line[1:-1]):
        raise FrontendError(f"line {number}: expected a type in brackets, found {printable(line[:40])!r}")
    return _SHORT.get(line[1:-1], line[1:-1])
