"""The errors of sateen: one base, one class per kind of fault.

A message says what was expected and what was found. The code that notices a fault raises with what it knows; a level
above that knows more about the place (the node, the model, the pass) adds one line with `add_note`, and `report` shows
all of them.
"""

from __future__ import annotations


def printable(text: str) -> str:
    """The text with unprintable characters escaped: control characters (line ends too), and marks that change the
    direction of writing."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class SateenError(Exception):
    """The base of all errors that sateen raises for a fault outside itself."""

    def report(self) -> str:
        """The class, the message and the notes that were added on the way up, one per line.

        Unprintable characters are escaped, since names in a user's model may contain anything.
        """
        notes: list[str] = getattr(self, "__notes__", [])
        message = "\n".join(map(printable, str(self).split("\n")))
        return "\n".join([f"{type(self).__name__}: {message}", *(f"  {printable(note)}" for note in notes)])


class ArgumentError(SateenError, TypeError):
    """A function was called with the wrong number, element type, shape, strides, alignment or device of arguments."""


class TargetError(SateenError):
    """A target that is unknown, contradicts itself or lacks what was asked of it."""


class ExpressionError(SateenError, TypeError):
    """A tensor expression that has no meaning: operands of unlike types, a wrong number of indices, a bad literal."""


class ScheduleError(SateenError):
    """A schedule primitive that does not apply, or would change the result."""


class LoweringError(SateenError):
    """A scheduled computation that can't be turned into loops."""


class CodegenError(SateenError):
    """A program that the code generator of its target can't express."""


class LinkError(SateenError):
    """Object code that can't be linked, or a linker that is missing."""


class ArtifactError(SateenError):
    """A compiled library or artifact that is corrupt, of another version, or made for another processor."""


class ExecutionError(SateenError):
    """Compiled code that ran and reported a failure other than its arguments, such as a lack of memory."""


class OutOfMemoryError(ExecutionError):
    """Compiled code that found no memory for its workspace, and arrays for which a device has none."""


class DeviceError(ExecutionError):
    """A device that is missing, or whose driver refuses what it is asked for."""


class DeviceLostError(DeviceError):
    """A device that no longer works: it was reset or unplugged, a kernel failed on it, or it doesn't answer."""


class SessionError(SateenError):
    """A session that can't answer a request: closed, unreachable, or one of the subclasses below."""


class SessionTimeoutError(SessionError):
    """The work of a session took longer than its limit; the session has ended."""


class SessionCrashedError(SessionError):
    """The process of a session died by a signal or an unexpected exit; the session has ended."""


class SessionOutOfMemoryError(SessionError):
    """The work of a session needed more memory than its limit."""


class SessionRefusedError(SessionError):
    """A session that was not given: the key is unknown, the device is in use, or the work exceeds what is allowed."""


class SessionVersionError(SessionError):
    """The other side speaks another version of the protocol."""


class SessionProtocolError(SessionError):
    """A message that is damaged, out of order, too large, or makes no sense; the connection has ended."""


class SessionLostError(SessionError):
    """The other side is gone, or can't be reached; the session has ended."""


class InferenceError(SateenError):
    """Types of a network that contradict each other."""


class FrontendError(SateenError):
    """A model file that can't be read, or uses features that sateen does not support."""
