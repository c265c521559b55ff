"""Where records come from: the machine that measured, and the packages that made the code."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import version

from sateen.runtime.target import Target
from sateen.tensor_ir import Machine
from sateen.tensor_ir.targets import machine_digest

PACKAGES = ("sateen-graph-ir", "sateen-topi", "sateen-tensor-ir", "llvmlite")
"""The packages whose versions determine the code of a candidate."""


@cache
def installed_versions() -> tuple[tuple[str, str], ...]:
    """Each of PACKAGES with its version here."""
    return tuple((name, version(name)) for name in PACKAGES)


def machine_facts(target: Target, machine: Machine | None = None) -> str:
    """What the estimates know of a machine, by default the target's, without its name."""
    m = Machine.of(target) if machine is None else machine
    if m.gpu is not None:
        g = m.gpu
        return f"{g.units} units, blocks of {g.block_threads} threads with {g.shared_bytes >> 10} KB"
    caches = ", ".join(f"{size >> 10} KB" for size in (m.l1_bytes, m.l2_bytes, m.l3_bytes))
    own = "" if machine_digest(m) == machine_digest(Machine.of(target)) else f", rates {machine_digest(m)[:12]}"
    name = f"{m.processor}, " if m.processor else ""
    return f"{name}{m.vector_registers} registers of {m.vector_bytes} bytes, caches of {caches}{own}"


def machine_text(target: Target, name: str = "", machine: Machine | None = None) -> str:
    """The description of a machine in records: the name that the system has for what measured, by default for this
    machine, and the facts."""
    return f"{name or platform.machine()}, {machine_facts(target, machine)}"
