"""The signatures of compiled functions, and the metadata of a compiled library: the JSON of `sateen_metadata`.

Reading trusts nothing, since a library is a file that somebody sent.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from sateen.runtime.checked_json import boolean_of, fields_of, integer_of, list_of, parse, text_of
from sateen.runtime.device import DeviceKind
from sateen.runtime.display import named
from sateen.runtime.dtype import DType
from sateen.runtime.errors import ArgumentError, ArtifactError

FORMAT_VERSION = 1
ENTRY = "run"
"""The function that runs a network."""
PACK = "pack"
"""The function that packs the parameters of a network."""

Extent = int | str
"""An extent or a stride, in elements: a number, or the name of a symbol that the call binds."""

LONGEST_NAME = 512
"""The most characters in the name of a parameter or a function."""

_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,127}")
_FUNCTION = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MOST_PARAMETERS = 65_535
_MOST_DIMENSIONS = 64
_LARGEST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Parameter:
    """One array that a function takes. `strides` is None if it must be compact; `alignment` is in bytes."""

    name: str
    dtype: DType
    shape: tuple[Extent, ...]
    strides: tuple[Extent, ...] | None = None
    alignment: int = 64
    device: DeviceKind = DeviceKind.CPU
    is_output: bool = False

    def __str__(self) -> str:
        return f"{self.name}: {self.type}{' out' if self.is_output else ''}"

    @property
    def type(self) -> str:
        """Element type and shape, such as float32[1, 3]."""
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"

    def to_json(self) -> dict[str, object]:
        """As JSON values, `from_json`'s inverse."""
        return {
            "name": self.name,
            "dtype": str(self.dtype),
            "shape": list(self.shape),
            "strides": None if self.strides is None else list(self.strides),
            "alignment": self.alignment,
            "device": str(self.device),
            "output": self.is_output,
        }

    @staticmethod
    def from_json(value: object) -> Parameter:
        """The parameter that JSON values say. Raises ArtifactError for anything but what `to_json` makes."""
        fields = fields_of(value, "a parameter", ("name", "dtype", "shape", "strides", "alignment", "device", "output"))
        name = text_of(fields["name"], "the name of a parameter", LONGEST_NAME)
        what = f"parameter {name!r}"
        try:
            dtype = DType.of(text_of(fields["dtype"], f"the element type of {what}", 32))
            device = DeviceKind.of(text_of(fields["device"], f"the device of {what}", 32))
        except ArgumentError as error:
            raise ArtifactError(f"{what}: {error}") from None
        shape = _extents(fields["shape"], f"the shape of {what}")
        strides = None if fields["strides"] is None else _extents(fields["strides"], f"the strides of {what}")
        if strides is not None and len(strides) != len(shape):
            raise ArtifactError(f"expected {len(shape)} strides of {what}, found {len(strides)}")
        alignment = integer_of(fields["alignment"], f"the alignment of {what}", 1, 1 << 20)
        if alignment & (alignment - 1):
            raise ArtifactError(f"expected a power of two as the alignment of {what}, found {alignment}")
        return Parameter(
            name, dtype, shape, strides, alignment, device, boolean_of(fields["output"], f"whether {what} is an output")
        )


@dataclass(frozen=True, slots=True)
class Signature:
    """A public function of a library: its symbol and its parameters. It returns only its status."""

    name: str
    parameters: tuple[Parameter, ...]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.parameters))})"

    def __repr__(self) -> str:
        return f"Signature({self.summary})"

    @property
    def summary(self) -> str:
        """The text; of many parameters, only the first ones."""
        return f"{self.name}({named(self.parameters)})"

    def to_json(self) -> dict[str, object]:
        """As JSON values, `from_json`'s inverse."""
        return {"name": self.name, "parameters": [parameter.to_json() for parameter in self.parameters]}

    @staticmethod
    def from_json(value: object) -> Signature:
        """The signature that JSON values say. Raises ArtifactError for anything but what `to_json` makes."""
        fields = fields_of(value, "a signature", ("name", "parameters"))
        name = text_of(fields["name"], "the name of a function", LONGEST_NAME)
        if not _FUNCTION.fullmatch(name):
            raise ArtifactError(f"expected a C identifier as the name of a function, found {name!r}")
        parameters = tuple(
            map(Parameter.from_json, list_of(fields["parameters"], f"the parameters of {name}", _MOST_PARAMETERS))
        )
        if len({parameter.name for parameter in parameters}) != len(parameters):
            raise ArtifactError(f"expected each parameter of {name} to have a name of its own")
        return Signature(name, parameters)


@dataclass(frozen=True, slots=True)
class Metadata:
    """The metadata of a library: its producer, the text of its target, and its public functions."""

    producer: str
    target: str
    functions: tuple[Signature, ...]

    def check(self) -> None:
        """Raises ArtifactError for names that loading the library would refuse."""
        Metadata.from_json(self.to_json())

    def to_json(self) -> str:
        """The text of `sateen_metadata`, the same for equal values."""
        functions = [function.to_json() for function in self.functions]
        values = {"format": FORMAT_VERSION, "producer": self.producer, "target": self.target, "functions": functions}
        return json.dumps(values, separators=(",", ":"), sort_keys=True)

    @staticmethod
    def from_json(text: str | bytes) -> Metadata:
        """The metadata in the text of `sateen_metadata`. Raises ArtifactError for anything but what `to_json` makes."""
        value = parse(text, "the metadata of a library")
        found = value.get("format") if isinstance(value, dict) else None
        if isinstance(found, int) and found > FORMAT_VERSION:
            raise ArtifactError(
                f"expected metadata of format {FORMAT_VERSION}, found format {found}: "
                "the library is newer than this sateen-runtime; update it, or compile again for its version"
            )
        fields = fields_of(value, "the metadata of a library", ("format", "producer", "target", "functions"))
        integer_of(fields["format"], "the format of the metadata", FORMAT_VERSION, FORMAT_VERSION)
        functions = tuple(map(Signature.from_json, list_of(fields["functions"], "the functions of a library", 1 << 20)))
        if len({function.name for function in functions}) != len(functions):
            raise ArtifactError("expected each function of a library to have a name of its own")
        target = text_of(fields["target"], "the target of a library", 65_536)
        return Metadata(text_of(fields["producer"], "the producer of a library", 512), target, functions)


def _extents(value: object, what: str) -> tuple[Extent, ...]:
    return tuple(_extent(item, what) for item in list_of(value, what, _MOST_DIMENSIONS))


def _extent(value: object, what: str) -> Extent:
    if not isinstance(value, str):
        return integer_of(value, what, 0, _LARGEST)
    if not _SYMBOL.fullmatch(value):
        raise ArtifactError(f"expected symbols in {what} to be names, found {value!r:.64}")
    return value
