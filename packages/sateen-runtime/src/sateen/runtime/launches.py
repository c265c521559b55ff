"""Launches of kernels of a network as data, on places in its blocks of memory."""

from __future__ import annotations

from dataclasses import dataclass

from sateen.runtime.checked_json import fields_of, integer_of, list_of, text_of
from sateen.runtime.errors import ArtifactError

MOST_BYTES = 1 << 48
MOST_LAUNCHES = 1 << 20
MOST_ARGUMENTS = 4096
_MOST_BLOCKS = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class BlockPlace:
    """Bytes of a block of memory. Blocks are inputs, outputs, then parameters and workspace of each device."""

    block: int
    offset: int
    size: int

    def to_json(self) -> list[int]:
        """Its form in a manifest, which `place_of` reads."""
        return [self.block, self.offset, self.size]


@dataclass(frozen=True, slots=True)
class NetworkLaunch:
    """A kernel of the network's code on places, then scalars: `grid` blocks of `block` threads along x, y, z.

    It is a part of a step of the network, whose number is `step`. A block has `shared_bytes` of shared memory.
    """

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    places: tuple[BlockPlace, ...]
    scalars: tuple[int, ...] = ()
    step: int = 0
    shared_bytes: int = 0

    def to_json(self) -> dict[str, object]:
        """Its form in a manifest."""
        return {
            "kernel": self.kernel,
            "grid": list(self.grid),
            "block": list(self.block),
            "places": [p.to_json() for p in self.places],
            "scalars": list(self.scalars),
            "step": self.step,
            "shared": self.shared_bytes,
        }

    @staticmethod
    def from_json(value: object) -> NetworkLaunch:
        """Raises ArtifactError for a value that `to_json` doesn't give."""
        fields = fields_of(value, "a launch", ("kernel", "grid", "block", "places", "scalars", "step", "shared"))
        return NetworkLaunch(
            text_of(fields["kernel"], "the name of a kernel", 512),
            _three(fields["grid"], "the grid", 0),
            _three(fields["block"], "the threads of a block", 1),
            tuple(map(place_of, list_of(fields["places"], "the places", MOST_ARGUMENTS))),
            tuple(
                integer_of(n, "a scalar", -MOST_BYTES, MOST_BYTES) for n in list_of(fields["scalars"], "scalars", 64)
            ),
            integer_of(fields["step"], "the step of a launch", 0, MOST_LAUNCHES),
            integer_of(fields["shared"], "the shared bytes of a block", 0, MOST_BYTES),
        )


def place_of(value: object) -> BlockPlace:
    """A place in a manifest. Raises ArtifactError for a value that is none."""
    listed = list_of(value, "a place", 3)
    if len(listed) != 3:
        raise ArtifactError("expected a place as block, offset and size")
    block, offset, size = listed
    return BlockPlace(
        integer_of(block, "the number of a block", 0, MOST_ARGUMENTS * 64),
        integer_of(offset, "an offset", 0, MOST_BYTES),
        integer_of(size, "a size", 0, MOST_BYTES),
    )


def _three(value: object, what: str, least: int) -> tuple[int, int, int]:
    listed = list_of(value, what, 3)
    if len(listed) != 3:
        raise ArtifactError(f"expected {what} along x, y and z, found {len(listed)} numbers")
    x, y, z = (integer_of(n, what, least, _MOST_BLOCKS) for n in listed)
    return x, y, z
