"""`sateen rpc`: servers, trackers and keys, by the command of sateen-rpc."""

from __future__ import annotations

import click

from sateen.frontends.command.devices import MISSING
from sateen.frontends.core.packages import imported


@click.command(
    short_help="Give sessions to other machines, and find them.",
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="server|tracker|proxy|query|pair|key ...")
def rpc(arguments: tuple[str, ...]) -> int:
    """Give sessions on this machine to others, bring clients and devices together, connect those
    that nobody can dial, and make keys.

    `sateen rpc --help` lists the verbs. A device needs sateen-runtime and sateen-rpc only, whose command is sateen-rpc.
    """
    status: int = imported("sateen.rpc.command", MISSING).main(arguments, "sateen rpc")
    return status
