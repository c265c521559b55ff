"""The entry of the `weft` command: its verbs, and what a fault becomes: text on stderr and an exit status.

The status is 0 where all is fine, 1 where the model or the data is at fault, 2 for wrong usage, and 3 for a fault of
weft itself.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import version

import click

from weft.frontends.command.bench import bench
from weft.frontends.command.check import check
from weft.frontends.command.compile import compile_
from weft.frontends.command.doctor import doctor
from weft.frontends.command.inspect import inspect
from weft.frontends.command.profile import profile
from weft.frontends.command.run import run
from weft.frontends.command.tune import tune
from weft.frontends.command.verify import verify
from weft.runtime import WeftError


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(version("weft-frontends"), prog_name="weft")
def weft() -> None:
    """Compile trained neural networks into small native programs.

    MODEL is a model file (ONNX), OUT.weft what `compile` makes of one; a file's content says which it is.
    """


for verb in (check, compile_, run, verify, bench, profile, inspect, tune, doctor):
    weft.add_command(verb)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (None: those of the process) and return its exit status."""
    try:
        status = weft.main(arguments, prog_name="weft", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _fail("interrupted", 130)
    except WeftError as error:
        return _fail(error.report(), 1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads; let the exit flush into nothing
        return 1
    except OSError as error:
        return _fail(f"{type(error).__name__}: {error}", 1)
    except Exception:  # noqa: BLE001  # the boundary of the program: the fault is shown whole and becomes its status
        return _fail(f"{traceback.format_exc()}This is a fault of weft itself, not of your model; please report it.", 3)
    return status if isinstance(status, int) else 0


def _fail(text: str, status: int) -> int:
    click.echo(text, err=True)
    return status
