"""The drawing that the documentation shows is the one that the page's program makes."""

from pathlib import Path

from sateen.graph_ir import workloads
from sateen.graph_ir.passes.fuse import fuse

DOCS = Path(__file__).parents[1] / "docs"


def test_the_drawing_of_the_page_on_graphs_is_what_its_program_makes() -> None:
    drawn = (DOCS / "transformer.svg").read_text(encoding="utf-8")
    assert drawn.rstrip("\n") == fuse(workloads.transformer()).to_svg()


def test_drawings_of_the_documentation_are_small() -> None:
    sizes = {path.name: path.stat().st_size for path in DOCS.glob("*.svg")}
    assert sizes
    assert {name: size for name, size in sizes.items() if size > 60_000} == {}
