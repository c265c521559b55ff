"""What a network for a device does, as data: kernels to launch in order, on places in its blocks of memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sateen.runtime.checked_json import fields_of, integer_of, list_of, text_of
from sateen.runtime.errors import ArtifactError

_MOST = 1 << 48
_MOST_LAUNCHES = 1 << 20
_MOST_ARGUMENTS = 4096
_MOST_BLOCKS = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class BlockPlace:
    """Bytes of a block of memory. Blocks are numbered: inputs, outputs, parameters, workspace."""

    block: int
    offset: int
    size: int


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
            "places": [[p.block, p.offset, p.size] for p in self.places],
            "scalars": list(self.scalars),
            "step": self.step,
            "shared": self.shared_bytes,
        }

    @staticmethod
    def from_json(value: object) -> NetworkLaunch:
        """Raises ArtifactError for a value that `to_json` doesn't give."""
        fields = fields_of(value, "a launch", ("kernel", "grid", "block", "places", "scalars", "step", "shared"))
        places = [list_of(place, "a place", 3) for place in list_of(fields["places"], "the places", _MOST_ARGUMENTS)]
        if any(len(place) != 3 for place in places):
            raise ArtifactError("expected a place as block, offset and size")
        return NetworkLaunch(
            text_of(fields["kernel"], "the name of a kernel", 512),
            _three(fields["grid"], "the grid", 0),
            _three(fields["block"], "the threads of a block", 1),
            tuple(
                BlockPlace(
                    integer_of(block, "the number of a block", 0, _MOST_ARGUMENTS * 16),
                    integer_of(offset, "an offset", 0, _MOST),
                    integer_of(size, "a size", 0, _MOST),
                )
                for block, offset, size in places
            ),
            tuple(integer_of(n, "a scalar", -_MOST, _MOST) for n in list_of(fields["scalars"], "the scalars", 64)),
            integer_of(fields["step"], "the step of a launch", 0, _MOST_LAUNCHES),
            integer_of(fields["shared"], "the shared bytes of a block", 0, _MOST),
        )


def launches_of(value: object, sizes: Sequence[int], steps: int) -> tuple[NetworkLaunch, ...]:
    """The launches of a manifest, in the order of its steps, of which there are `steps`; their places lie in blocks of
    these sizes. Raises ArtifactError for others."""
    launches = tuple(map(NetworkLaunch.from_json, list_of(value, "the launches", _MOST_LAUNCHES)))
    numbers = [launch.step for launch in launches]
    if numbers != sorted(numbers) or (numbers and numbers[-1] >= steps):
        raise ArtifactError(f"expected launches in the order of their {steps} steps, found those of {numbers!s:.64}")
    for launch in launches:
        for place in launch.places:
            if place.block >= len(sizes) or place.offset + place.size > sizes[place.block]:
                raise ArtifactError(
                    f"expected places within blocks of {list(sizes)} bytes, found {place.size} bytes from "
                    f"{place.offset} on in block {place.block}, given to kernel {launch.kernel!r}"
                )
    return launches


def _three(value: object, what: str, least: int) -> tuple[int, int, int]:
    listed = list_of(value, what, 3)
    if len(listed) != 3:
        raise ArtifactError(f"expected {what} along x, y and z, found {len(listed)} numbers")
    x, y, z = (integer_of(n, what, least, _MOST_BLOCKS) for n in listed)
    return x, y, z
