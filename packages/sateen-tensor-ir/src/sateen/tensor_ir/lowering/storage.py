"""The storage of a host function: on the stack of its thread, or in memory from the host."""

from __future__ import annotations

from sateen.tensor_ir.ir.buffer import Buffer, Scope

STACK_BYTES = 4096
"""The most bytes of a buffer of scope global on the stack: a kernel may have many of them."""
PRIVATE_STACK_BYTES = 65536
"""The most bytes of a buffer of a smaller scope on the stack; it is in use only for a part of a loop."""


def is_on_stack(buffer: Buffer) -> bool:
    """Whether the storage of a buffer is on the stack: it has a constant size, and a small one for its scope."""
    elements = buffer.size()
    most = STACK_BYTES if buffer.scope is Scope.GLOBAL else PRIVATE_STACK_BYTES
    return elements is not None and elements * buffer.dtype.bytes <= most
