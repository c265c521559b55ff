"""Reading the actions of a network from a manifest: each place within its block, each number within its bounds."""

from __future__ import annotations

from collections.abc import Sequence

from sateen.runtime.actions import (
    MOST_NESTED,
    Action,
    Block,
    BlockCopy,
    Choice,
    Conditional,
    HostCall,
    Repeat,
    bodies_of,
)
from sateen.runtime.checked_json import fields_of, integer_of, list_of, object_of, text_of
from sateen.runtime.device import DeviceKind
from sateen.runtime.errors import ArtifactError
from sateen.runtime.launches import MOST_ARGUMENTS, MOST_LAUNCHES, BlockPlace, NetworkLaunch, place_of

_MOST_TIMES = (1 << 31) - 1
_CONDITION_BYTES, _NUMBER_BYTES = 1, 8


def actions_of(value: object, blocks: Sequence[Block], steps: int) -> tuple[Action, ...]:
    """The actions of a manifest, in the order of its steps, of which there are `steps`; their places lie in `blocks`.

    Raises ArtifactError for others.
    """
    actions = _Reader(blocks).actions(value, "the launches", 0)
    numbers = [action.step for action in actions]
    if numbers != sorted(numbers) or (numbers and numbers[-1] >= steps):
        raise ArtifactError(f"expected launches in the order of their {steps} steps, found those of {numbers!s:.64}")
    return actions


class _Reader:
    """Reads actions, counts them, and compares their places with the blocks that they lie in."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks = blocks
        self.left = MOST_LAUNCHES

    def actions(self, value: object, what: str, depth: int) -> tuple[Action, ...]:
        if depth > MOST_NESTED:
            raise ArtifactError(f"expected at most {MOST_NESTED} lists of actions within each other, found more")
        listed = list_of(value, what, self.left)
        self.left -= len(listed)
        return tuple(self.action(item, depth) for item in listed)

    def action(self, value: object, depth: int) -> Action:
        kinds = object_of(value, "an action").keys() & {"call", "copy", "if", "repeat", "while"}
        match sorted(kinds):
            case ["call"]:
                fields = fields_of(value, "a call", ("call", "places", "step"))
                function = text_of(fields["call"], "the name of a function", 512)
                places = self.places(fields["places"], f"function {function!r}", on_host=True)
                return HostCall(function, places, _step(fields))
            case ["copy"]:
                fields = fields_of(value, "a copy", ("copy", "to", "step"))
                source, to = self.place(fields["copy"], "a copy"), self.place(fields["to"], "a copy")
                if source.size != to.size:
                    raise ArtifactError(f"expected a copy of as many bytes, found {source.size} to {to.size}")
                return BlockCopy(to, source, _step(fields))
            case ["if"]:
                fields = fields_of(value, "a choice", ("if", "then", "else", "step"))
                condition = self.deciding(fields["if"], _CONDITION_BYTES)
                then = self.actions(fields["then"], "what a choice does", depth + 1)
                otherwise = self.actions(fields["else"], "what a choice does otherwise", depth + 1)
                return self.in_step(Choice(condition, then, otherwise, _step(fields)))
            case ["repeat"]:
                fields = fields_of(value, "a repetition", ("repeat", "number", "body", "rows", "step"))
                count = integer_of(fields["repeat"], "the times of a repetition", 0, _MOST_TIMES)
                number = self.counting(fields["number"])
                body = self.actions(fields["body"], "what is repeated", depth + 1)
                rows = tuple(
                    self.row(row, count) for row in list_of(fields["rows"], "the rows of a repetition", MOST_ARGUMENTS)
                )
                return self.in_step(Repeat(count, number, body, rows, _step(fields)))
            case ["while"]:
                fields = fields_of(value, "a loop", ("while", "most", "number", "body", "step"))
                condition = self.deciding(fields["while"], _CONDITION_BYTES)
                most, number = self.deciding(fields["most"], _NUMBER_BYTES), self.counting(fields["number"])
                body = self.actions(fields["body"], "what a loop does", depth + 1)
                return self.in_step(Conditional(condition, most, number, body, _step(fields)))
            case []:
                return self.launch(NetworkLaunch.from_json(value))
        raise ArtifactError(f"expected an action of one kind, found {', '.join(sorted(kinds))}")

    def launch(self, launch: NetworkLaunch) -> NetworkLaunch:
        whose = f"kernel {launch.kernel!r}"
        for place in launch.places:
            self.check(place, whose)
        devices = {self.blocks[place.block].device for place in launch.places}
        if len(devices) != 1 or any(device.kind is DeviceKind.CPU for device in devices):
            found = ", ".join(sorted(map(str, devices))) or "no places"
            raise ArtifactError(f"expected places on one device that is no processor, found {found}, given to {whose}")
        return launch

    def place(self, value: object, whose: str) -> BlockPlace:
        return self.check(place_of(value), whose)

    def places(self, value: object, whose: str, *, on_host: bool) -> tuple[BlockPlace, ...]:
        found = tuple(self.place(p, whose) for p in list_of(value, f"the places of {whose}", MOST_ARGUMENTS))
        for place in found:
            device = self.blocks[place.block].device
            if on_host and device.kind is not DeviceKind.CPU:
                raise ArtifactError(f"expected places on the host, found one on {device}, given to {whose}")
        return found

    def check(self, place: BlockPlace, whose: str) -> BlockPlace:
        if place.block >= len(self.blocks) or place.offset + place.size > self.blocks[place.block].size:
            raise ArtifactError(
                f"expected places within blocks of {[b.size for b in self.blocks]} bytes, found {place.size} bytes "
                f"from {place.offset} on in block {place.block}, given to {whose}"
            )
        return place

    def deciding(self, value: object, size: int) -> BlockPlace:
        """The place of a condition or a number, which the host reads."""
        (place,) = self.places([value], "what decides", on_host=True)
        return self.sized(place, size)

    def counting(self, value: object) -> BlockPlace:
        """The place of a number that is written, on any device."""
        return self.sized(self.place(value, "what counts"), _NUMBER_BYTES)

    def sized(self, place: BlockPlace, size: int) -> BlockPlace:
        if place.size != size or place.offset % size:
            raise ArtifactError(
                f"expected {size} bytes at a multiple of them for what decides or counts, found {place.size} from "
                f"{place.offset}"
            )
        return place

    def row(self, value: object, count: int) -> tuple[BlockPlace, BlockPlace]:
        pair = list_of(value, "a row", 2)
        if len(pair) != 2:
            raise ArtifactError("expected a row as its place and that of all rows")
        row, rows = (self.place(p, "a row") for p in pair)
        if rows.size != count * row.size:
            raise ArtifactError(f"expected {count} rows of {row.size} bytes, found place for {rows.size} bytes")
        return row, rows

    def in_step(self, action: Action) -> Action:
        """The action. Raises ArtifactError if one within it belongs to another step."""
        others = {a.step for body in bodies_of(action) for a in body} - {action.step}
        if others:
            raise ArtifactError(f"expected all actions of step {action.step} to say so, found step {min(others)}")
        return action


def _step(fields: dict[str, object]) -> int:
    return integer_of(fields["step"], "the step of an action", 0, MOST_LAUNCHES)
