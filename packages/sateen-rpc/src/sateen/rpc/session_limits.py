"""What a server allows a session."""

from __future__ import annotations

from dataclasses import dataclass, fields

from sateen.runtime.errors import ArgumentError
from sateen.runtime.framing import MOST_SECONDS


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """The limits of each session of a server."""

    request_seconds: float = 600.0
    """How long a request may take; a client may ask for less."""
    lease_seconds: float = 20.0
    """How long a session lives on without word from its client."""
    memory_bytes: int = 0
    """How much its process may allocate beyond what it has at its start; 0 for no limit."""
    disk_bytes: int = 8 << 30
    """How much its scratch folder may hold, and what one file may."""
    message_bytes: int = 4 << 30
    """The most bytes of a message: of an upload, of the arrays of a call."""
    store_bytes: int = 16 << 30
    """The most bytes of uploads that are kept for later sessions."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not (value > 0 or (value == 0 and field.name == "memory_bytes")):
                raise ArgumentError(f"expected a positive {field.name}, found {value}")
            if field.name.endswith("_seconds") and value > MOST_SECONDS:
                raise ArgumentError(f"expected {field.name} of at most {MOST_SECONDS:g}, found {value}")
