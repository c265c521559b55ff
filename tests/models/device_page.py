"""The page about networks on devices: docs/models-devices.md."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from examine import Record

from sateen.runtime import open_device

PAGE = """# Networks on devices

The networks of [models](models.md), each compiled for a device in a process of its own, run twice there and compared
with the same judges and tolerances. `{command}`
makes this page. Seconds are from reading the file to the artifact, with two workers. Milliseconds are those of the
second run, copies included. The devices here are the processor, {processors}, by drivers in
software; the times tell nothing about GPUs. The machine was busy. Networks of bytes may exceed their tolerance by the
steps to which each layer rounds ([why](targets.md#webgpu)); those of float16 are compared with float64 as well.

{sections}
"""
HEAD = "| network | nodes | seconds | kernels KB | launches | workspace MB | ms | error | local error | |"


def device_row(record: Record) -> str:
    """A line of the table of a device."""
    cells = [record.name, str(record.nodes)]
    if record.library_bytes:
        cells += [f"{record.seconds:.1f}", f"{record.library_bytes / 1024:.0f}", str(record.launches)]
        cells += [f"{record.workspace_bytes / 1e6:.2f}"]
    else:
        cells += [""] * 4
    cells += ["" if math.isnan(record.run_seconds) else f"{1000 * record.run_seconds:.0f}"]
    cells += ["" if math.isnan(e) else f"{e:.1e}" for e in (record.error, record.local_error)]
    note = record.note.splitlines()[0].replace("|", "\\|") if record.note else ""
    is_told = record.is_right or record.refused
    return f"| {' | '.join([*cells, note if is_told else f'**wrong**: {note}'])} |"


def device_page(
    examined: Mapping[str, Sequence[Record]], processors: str, counts: Callable[[Sequence[Record]], str]
) -> str:
    """The page of these kinds of devices."""
    options = " ".join(f"--target {target}" for target in examined)
    sections = []
    for target, records in examined.items():
        rows = [HEAD, "|---" * 10 + "|", *map(device_row, records)]
        sections.append(f"## {target}\n{open_device(target).description}. {counts(records)}\n\n" + "\n".join(rows))
    return PAGE.format(
        command=f"nox -s models -- {options} --page docs/models-devices.md",
        processors=processors,
        sections="\n\n".join(sections),
    )
