"""What a network needs to know of a kernel beside its code, and who makes kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from sateen.graph_ir.ir import Node


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """What memory, the entry and other kernels depend on."""

    digest: str
    """The digest of the function: kernels of one digest do the same."""
    scratch: tuple[int, ...]
    """The bytes of each piece of storage that the caller provides."""
    overwritable: tuple[int, ...]
    """The positions of the inputs whose memory the output may use."""


class KernelMaker(Protocol):
    """Who makes the kernels of a network."""

    def begin(self, node: Node, name: str) -> Callable[[], KernelFacts]:
        """Begin the kernel of a fused node under a name; what it gives waits for the facts, or raises the error of
        making it, which names the group."""
