"""`sateen doctor --measure`: this machine's processor, measured, beside the machine that choices are made for."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from sateen.frontends.command.arguments import allowed_processors
from sateen.frontends.command.files import writing
from sateen.frontends.command.output import say, show_json, show_table
from sateen.frontends.command.progress import step
from sateen.runtime import Target
from sateen.runtime.display import size
from sateen.tensor_ir import Machine, MachineMeter
from sateen.tensor_ir.targets import machine_json

_SHOWN = {
    "multiply_add_bytes": "multiply-adds, bytes a cycle",
    "multiply_add_latency": "latency of one, cycles",
    "addition_latency": "latency of an addition",
    "l1": "first cache, bytes a cycle",
    "l2": "second cache",
    "l3": "third cache",
    "memory": "memory, at one place",
    "streams": "places at which it is fastest",
    "memory_in_streams": "memory, at so many places",
    "memory_together": "memory, all cores",
    "shared": "written where another core read",
}
"""The measured rates, as they are shown."""


def rates_text(machine: Machine) -> str:
    """The rates that decide most, in a line."""
    r = machine.rates
    return (
        f"{r.multiply_add_bytes:g} bytes of multiply-adds a cycle, in {r.multiply_add_latency:g} cycles; reads "
        f"{r.l1:g}, {r.l2:g} and {r.l3:g} bytes a cycle from caches, {r.memory_in_streams:g} from memory"
    )


def show_measured(output: Path | None, as_json: bool) -> None:
    """Measure this machine, show it, and write it to a file if one is given."""
    target = Target.host()
    with step("measuring this machine"):
        found = MachineMeter(allowed_processors()).measure()
    table = Machine.of(target)
    others = {"clock_hz": found.clock, "stores": found.stores, "stores_to_memory": found.stores_to_memory}
    text = machine_json(found.machine, target, others)
    if output is not None:
        with writing(output):
            output.write_text(text, encoding="utf-8")
    if as_json:
        rates = {"measured": asdict(found.machine.rates), "chosen_for": asdict(table.rates)}
        show_json({"processor": table.processor, "l3_bytes": found.machine.l3_bytes, **rates, **others})
        return
    say(f"{table.processor} at {found.clock / 1e9:.1f} GHz; one core unless said")
    own, measured = asdict(table.rates), asdict(found.machine.rates)
    rows = [(text, _text(measured[name]), _text(own[name])) for name, text in _SHOWN.items()]
    rows += [
        ("third cache that counts", size(found.machine.l3_bytes), size(table.l3_bytes)),
        ("stores to the first cache, bytes a cycle", _text(found.stores), ""),
        ("stores to memory", _text(found.stores_to_memory), ""),
    ]
    show_table(("", "measured", "chosen for"), rows)
    if output is not None:
        say(f"{output}: for --machine of compile, export, run, verify, bench, inspect and tune")


def _text(value: float | bool) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else f"{value:g}"
