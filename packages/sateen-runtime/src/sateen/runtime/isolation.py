"""Child processes of Python that run no code of the current folder.

`python -m` and `python -c` put the current folder first into a child's module path: a file `numpy.py` beside a model
would run as code. Every child process of sateen is started by a command from this module.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

_START = """\
import json, sys
given = json.loads(sys.argv.pop(1))
sys.path[:] = given + [folder for folder in sys.path if folder not in given]
"""


def isolated(module: str, arguments: Sequence[str] = ()) -> list[str]:
    """The command that runs a module as `python -m` does, in isolated mode (-I), with this process's module path.

    The child ignores Python's environment variables. Its module path includes the folders that this process has from
    them, but neither the current folder nor paths relative to it.
    """
    program = f"import runpy\nrunpy.run_module({module!r}, run_name='__main__', alter_sys=True)\n"
    return isolated_program(program, arguments)


def isolated_program(program: str, arguments: Sequence[str] = ()) -> list[str]:
    """As `isolated`, for the text of a program, which finds its arguments in `sys.argv[1:]`."""
    return [sys.executable, "-I", "-c", _START + program, json.dumps(module_path()), *arguments]


def module_path() -> list[str]:
    """This process's module path without the current folder."""
    return [entry for entry in sys.path if isinstance(entry, str) and os.path.isabs(entry) and not _is_here(entry)]


def _is_here(folder: str) -> bool:
    try:
        return os.path.samefile(folder, os.curdir)
    except (OSError, ValueError):  # nothing is there
        return False
