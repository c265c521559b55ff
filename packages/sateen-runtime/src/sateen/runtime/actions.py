"""What a run of a network on devices does, as data: launches, copies, calls of the host, and what decides and repeats.

A value that decides lies in memory of the host: an action copies it there before. `action_reader` reads actions from
manifests, and trusts nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sateen.runtime.checked_json import fields_of, integer_of, list_of, text_of
from sateen.runtime.device import Device
from sateen.runtime.errors import ArgumentError, ArtifactError
from sateen.runtime.launches import MOST_BYTES, BlockPlace, NetworkLaunch

MOST_NESTED = 32
"""The most lists of actions within each other, which bounds the recursion of readers and of runs."""


@dataclass(frozen=True, slots=True)
class DeviceBlocks:
    """What a network has on a device: inputs and outputs, by their positions among all of them, and two blocks."""

    device: Device
    arrays: tuple[int, ...]
    parameters: int
    workspace: int

    def to_json(self) -> dict[str, object]:
        """Its form in a manifest."""
        return {
            "device": str(self.device),
            "arrays": list(self.arrays),
            "parameters": self.parameters,
            "workspace": self.workspace,
        }

    @staticmethod
    def from_json(value: object) -> DeviceBlocks:
        """Raises ArtifactError for a value that `to_json` doesn't give."""
        fields = fields_of(value, "the memory of a device", ("device", "arrays", "parameters", "workspace"))
        name = text_of(fields["device"], "the name of a device", 64)
        try:
            device = Device.of(name)
        except ArgumentError as error:
            raise ArtifactError(str(error)) from None
        arrays = list_of(fields["arrays"], f"the inputs and outputs on {device}", 1 << 17)
        return DeviceBlocks(
            device,
            tuple(integer_of(n, f"an input or output on {device}", 0, 1 << 17) for n in arrays),
            integer_of(fields["parameters"], f"the bytes of parameters on {device}", 0, MOST_BYTES),
            integer_of(fields["workspace"], f"the bytes of the workspace on {device}", 0, MOST_BYTES),
        )


@dataclass(frozen=True, slots=True)
class Block:
    """A block of memory that actions refer to by its position."""

    device: Device
    size: int


@dataclass(frozen=True, slots=True)
class HostCall:
    """A function of the network's library on places of the host."""

    function: str
    places: tuple[BlockPlace, ...]
    step: int = 0


@dataclass(frozen=True, slots=True)
class BlockCopy:
    """Bytes from one place to another, on any two devices."""

    to: BlockPlace
    source: BlockPlace
    step: int = 0


@dataclass(frozen=True, slots=True)
class Choice:
    """One of two lists of actions, by a condition."""

    condition: BlockPlace
    then: tuple[Action, ...]
    otherwise: tuple[Action, ...]
    step: int = 0


@dataclass(frozen=True, slots=True)
class Repeat:
    """A list of actions `count` times.

    Before each time its number, from 0, is written, on any device; after it each place of `rows` is copied to the part
    of another with that number: the second is `count` times as large.
    """

    count: int
    number: BlockPlace
    body: tuple[Action, ...]
    rows: tuple[tuple[BlockPlace, BlockPlace], ...] = ()
    step: int = 0


@dataclass(frozen=True, slots=True)
class Conditional:
    """A list of actions while a condition holds, at most as often as an int64 says, numbered like those of Repeat."""

    condition: BlockPlace
    most: BlockPlace
    number: BlockPlace
    body: tuple[Action, ...]
    step: int = 0


Action = NetworkLaunch | HostCall | BlockCopy | Choice | Repeat | Conditional


def bodies_of(action: Action) -> tuple[tuple[Action, ...], ...]:
    """The lists of actions within one."""
    match action:
        case Choice():
            return action.then, action.otherwise
        case Repeat() | Conditional():
            return (action.body,)
    return ()


def launches_in(actions: Sequence[Action]) -> Iterator[NetworkLaunch]:
    """All launches, those of bodies too, each once."""
    for action in actions:
        if isinstance(action, NetworkLaunch):
            yield action
        for body in bodies_of(action):
            yield from launches_in(body)


def with_step(action: Action, step: int) -> Action:
    """The action as a part of another step, with all in it."""
    match action:
        case Choice():
            then, otherwise = (tuple(with_step(a, step) for a in body) for body in bodies_of(action))
            return replace(action, then=then, otherwise=otherwise, step=step)
        case Repeat() | Conditional():
            return replace(action, body=tuple(with_step(a, step) for a in action.body), step=step)
    return replace(action, step=step)


def action_to_json(action: Action) -> dict[str, object]:
    """The form of an action in a manifest."""

    def all_of(body: tuple[Action, ...]) -> list[object]:
        return [action_to_json(a) for a in body]

    match action:
        case NetworkLaunch():
            return action.to_json()
        case HostCall():
            return {"call": action.function, "places": [p.to_json() for p in action.places], "step": action.step}
        case BlockCopy():
            return {"copy": action.source.to_json(), "to": action.to.to_json(), "step": action.step}
        case Choice():
            return {
                "if": action.condition.to_json(),
                "then": all_of(action.then),
                "else": all_of(action.otherwise),
                "step": action.step,
            }
        case Repeat():
            return {
                "repeat": action.count,
                "number": action.number.to_json(),
                "body": all_of(action.body),
                "rows": [[row.to_json(), all_rows.to_json()] for row, all_rows in action.rows],
                "step": action.step,
            }
        case Conditional():
            return {
                "while": action.condition.to_json(),
                "most": action.most.to_json(),
                "number": action.number.to_json(),
                "body": all_of(action.body),
                "step": action.step,
            }
