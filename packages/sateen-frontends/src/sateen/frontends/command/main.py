"""The entry of the `sateen` command: its verbs, and the conversion of errors to text on stderr and an exit status.

The status is 0 if all is fine, 1 if the model or the data is at fault, 2 for wrong usage, and 3 for a fault of
sateen itself.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Sequence
from io import StringIO

import click

from sateen.frontends.command.bench import bench
from sateen.frontends.command.check import check
from sateen.frontends.command.compile import compile_
from sateen.frontends.command.doctor import doctor
from sateen.frontends.command.export import export
from sateen.frontends.command.inspect import inspect
from sateen.frontends.command.merge import merge
from sateen.frontends.command.output import say
from sateen.frontends.command.profile import profile
from sateen.frontends.command.rpc import rpc
from sateen.frontends.command.run import run
from sateen.frontends.command.tune import tune
from sateen.frontends.command.verify import verify
from sateen.frontends.version import __version__
from sateen.runtime import SateenError
from sateen.runtime.display import did_you_mean, named

INTERRUPTED = 128 + signal.SIGINT
"""The exit status of a process that an interrupt ended, as in shells."""


class Verbs(click.Group):
    """The verbs of the command. The error for another word suggests the closest, whatever its case."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            close = did_you_mean(args[0], self.commands)
            ctx.fail(f"expected one of {', '.join(self.commands)}, found {args[0]!r}{close}")
        return super().resolve_command(ctx, args)


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="sateen")
def sateen() -> None:
    """Compile trained neural networks into small native programs.

    MODEL is a model file of any format, OUT.sateen what `compile` makes of one; a file's content says which it is.
    """


for verb in (check, compile_, export, run, verify, bench, profile, inspect, tune, merge, doctor, rpc):
    sateen.add_command(verb)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (None: those of the process) and return its exit status."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        status = sateen.main(words, prog_name="sateen", standalone_mode=False, obj=["sateen", *words])
    except click.ClickException as error:
        told = StringIO()
        error.show(told)
        owners = _owners(error.option_name) if isinstance(error, click.NoSuchOption) else ""
        return _fail(told.getvalue().removesuffix("\n") + owners, error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        return _fail("interrupted", INTERRUPTED)
    except SateenError as error:
        return _fail(error.report(), 1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads; let the exit flush into nothing
        return 1
    except MemoryError as error:
        return _fail(f"OutOfMemoryError: the model or its data ask for more memory than there is: {error}", 1)
    except OSError as error:
        return _fail(f"{type(error).__name__}: {error}", 1)
    except Exception:  # noqa: BLE001  # the boundary of the program: the fault is shown whole and becomes its status
        return _fail(f"{traceback.format_exc()}This is a fault of sateen, not of your model; please report it.", 3)
    return status if isinstance(status, int) else 0


def _owners(option: str) -> str:
    """The end of a message about an unknown option: the verbs that have it."""
    verbs = [
        name
        for name, verb in sateen.commands.items()
        if any(option in (*parameter.opts, *parameter.secondary_opts) for parameter in verb.params)
    ]
    return f" It is an option of sateen {named(verbs)}." if verbs else ""


def _fail(text: str, status: int) -> int:
    say(text, err=True)
    return status
