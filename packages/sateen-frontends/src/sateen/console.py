"""The start of the `sateen` script and of `python -m sateen`: imports the command so that an interrupt leaves no
traceback.

It lies outside of `sateen.frontends`, whose import takes most of the time.
"""

from __future__ import annotations

import gc
import os
import signal
from importlib import import_module
from types import FrameType

SIGNALLED = 128
"""The exit status of a process that a signal ended is this plus the number of the signal, as in shells."""


def main() -> int:
    """Run the command with the arguments of the process, and return its exit status."""
    listens = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not so in a shell's background
    if listens:
        signal.signal(signal.SIGINT, _end)
    gc.disable()  # an import makes no garbage
    command = import_module("sateen.frontends.command.main")
    gc.freeze()
    gc.enable()
    if listens:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    status: int = command.main()
    return status


def _end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001  # what a handler of signals is given
    """End at once. An exception could be lost: extension modules turn those of an import into errors of their own."""
    os._exit(SIGNALLED + number)
