"""docs/machines.md: the table of processors is that of the code."""

from collections.abc import Iterator
from pathlib import Path

from sateen.tensor_ir.targets import ARCHITECTURES

PAGE = Path(__file__).parent.parent / "docs" / "machines.md"


def rows() -> Iterator[str]:
    """The lines of the table: for each processor what decides most, in bytes and cycles."""
    for cpu in (cpu for a in ARCHITECTURES.values() for cpu in a.cpus.values()):
        r = cpu.rates
        caches = ", ".join(f"{size >> 10} KB" if size < 1 << 20 else f"{size / (1 << 20):g} MB" for size in cpu.caches)
        memory = f"{r.memory:g}" if r.streams == 1 else f"{r.memory:g}; {r.memory_in_streams:g} in {r.streams} streams"
        cells = (
            f"{cpu.title} (`{cpu.name}`)",
            f"{r.multiply_add_bytes:g} in {r.multiply_add_latency:g}",
            f"{r.load_bytes}",
            caches,
            f"{r.l1:g}, {r.l2:g}, {r.l3:g}",
            memory,
            cpu.source,
        )
        yield f"| {' | '.join(cells)} |"


def test_the_page_has_every_processor_as_it_is() -> None:
    lines = PAGE.read_text().splitlines()
    start = lines.index(next(line for line in lines if line.startswith("| processor |")))
    shown = lines[start + 2 : lines.index("", start)]
    assert shown == list(rows())
