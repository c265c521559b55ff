"""The drawings that the documentation shows are those that its programs make."""

from pathlib import Path

import pytest

from sateen.frontends.command.main import main
from sateen.graph_ir import workloads
from sateen.graph_ir.passes.fuse import fuse

DOCS = Path(__file__).parents[1] / "docs"
MNIST = Path(__file__).parents[2] / "shared" / "models" / "onnx" / "mnist-8.onnx"


def test_the_drawing_of_the_page_on_graphs_is_what_its_program_makes() -> None:
    drawn = (DOCS / "transformer.svg").read_text(encoding="utf-8")
    assert drawn.rstrip("\n") == fuse(workloads.transformer()).to_svg()


@pytest.mark.skipif(not MNIST.exists(), reason=f"{MNIST} is absent; it comes from the ONNX model zoo")
def test_the_drawing_of_the_readme_is_what_its_command_makes(tmp_path: Path) -> None:
    target = "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v3"
    assert main(["inspect", str(MNIST), "--svg", str(tmp_path / "mnist.svg"), "--target", target, "--no-cache"]) == 0
    assert (tmp_path / "mnist.svg").read_text(encoding="utf-8") == (DOCS / "mnist.svg").read_text(encoding="utf-8")


def test_drawings_of_the_documentation_are_small() -> None:
    sizes = {path.name: path.stat().st_size for path in DOCS.glob("*.svg")}
    assert sizes
    assert {name: size for name, size in sizes.items() if size > 60_000} == {}
