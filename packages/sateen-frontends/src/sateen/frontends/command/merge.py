"""`sateen merge`: logs of tuning joined to one."""

from __future__ import annotations

from pathlib import Path

import click

from sateen.frontends.command.arguments import FILE, NEW_FILE, json_option
from sateen.frontends.command.files import keep_sources, writing
from sateen.frontends.command.output import say, show_json
from sateen.graph_ir.ops import installed_operators
from sateen.graph_ir.tune import Records, merged
from sateen.runtime.display import counted
from sateen.runtime.files import replacing


@click.command(short_help="Logs of tuning joined to one.")
@click.argument("logs", type=FILE, nargs=-1, required=True, metavar="LOG.jsonl...")
@click.option("-o", "--output", required=True, type=NEW_FILE, metavar="OUT.jsonl")
@json_option
def merge(logs: tuple[Path, ...], output: Path, as_json: bool) -> None:
    """Join the LOGs that `sateen tune` has written, here or on other machines, each measurement once.

    Records of different targets, machines or versions stay apart. Times of the same problem are scaled by the methods
    that two logs have in common; of the same method the record counts that was verified, then that of less spread.
    """
    keep_sources("-o", [output], logs)
    operators = installed_operators()
    known = [Records.read(log, operators) for log in logs]
    joined = merged(known)
    with writing(output), replacing(output) as file:
        file.writelines(f"{line}\n".encode() for line in (*joined.records, *joined.attempts))
    if as_json:
        show_json({"output": str(output), "records": len(joined.records), "failures": len(joined.attempts)})
        return
    given = sum(len(records.records) for records in known)
    say(f"{output}: {counted(len(joined.records), 'record')} of {given} in {counted(len(logs), 'log')}")
