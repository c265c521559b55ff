"""The steps of a network with timed steps, one per kernel call."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from sateen.runtime.checked_json import fields_of, integer_of, list_of, text_of
from sateen.runtime.errors import ArtifactError

_MOST = 1 << 20
_MOST_CHARACTERS = 65_536
_LARGEST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Step:
    """A call of a kernel: the nodes of the model that it computes, its inputs and its cost."""

    kernel: str
    nodes: tuple[str, ...]
    """The names of nodes in the user's model."""
    operators: tuple[str, ...]
    inputs: tuple[str, ...]
    """The types of the inputs, as text."""
    outputs: tuple[str, ...]
    operations: int
    """Floating-point operations of the definition; 0 where memory limits the step, not arithmetic."""
    bytes: int
    """The bytes of all inputs and outputs, each counted once."""

    def __str__(self) -> str:
        return f"{' + '.join(self.nodes)} ({', '.join(self.operators)})"

    def to_json(self) -> dict[str, object]:
        """As JSON values, `from_json`'s inverse."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @staticmethod
    def from_json(value: object) -> Step:
        """The step that JSON values say. Raises ArtifactError for anything but what `to_json` makes."""
        names = ("kernel", "nodes", "operators", "inputs", "outputs", "operations", "bytes")
        fields = fields_of(value, "a step", names, more=True)
        kernel = text_of(fields["kernel"], "the kernel of a step", _MOST_CHARACTERS)
        what = f"step {kernel!r:.64}"

        def texts(name: str) -> tuple[str, ...]:
            whose = f"the {name} of {what}"
            return tuple(_text(item, whose) for item in list_of(fields[name], whose, _MOST))

        def count(name: str) -> int:
            return integer_of(fields[name], f"the {name} of {what}", 0, _LARGEST)

        return Step(
            kernel,
            texts("nodes"),
            texts("operators"),
            texts("inputs"),
            texts("outputs"),
            count("operations"),
            count("bytes"),
        )


def _text(value: object, what: str) -> str:
    """Printable text; names in a user's model may contain anything."""
    if not isinstance(value, str):
        raise ArtifactError(f"expected {what} as texts, found {value!r:.64}")
    return value
