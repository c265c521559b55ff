"""The drawings that the documentation shows are those that its programs make."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from sateen.frontends.command.main import main
from sateen.graph_ir import draw, workloads
from sateen.graph_ir.passes.fuse import fuse

DOCS = Path(__file__).parents[1] / "docs"
MNIST = Path(__file__).parents[2] / "shared" / "models" / "onnx" / "mnist-8.onnx"


def test_the_drawing_of_the_page_on_graphs_is_what_its_program_makes() -> None:
    drawn = (DOCS / "transformer.svg").read_text(encoding="utf-8")
    assert drawn.rstrip("\n") == draw(fuse(workloads.transformer()))


@pytest.mark.skipif(not MNIST.exists(), reason=f"{MNIST} is absent; it comes from the ONNX model zoo")
def test_the_drawing_of_the_readme_is_what_its_command_makes(tmp_path: Path) -> None:
    target = "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v3"
    assert main(["inspect", str(MNIST), "--svg", str(tmp_path / "mnist.svg"), "--target", target, "--no-cache"]) == 0
    assert (tmp_path / "mnist.svg").read_text(encoding="utf-8") == (DOCS / "mnist.svg").read_text(encoding="utf-8")


def test_drawings_of_the_documentation_are_small() -> None:
    sizes = {path.name: path.stat().st_size for path in DOCS.rglob("*.svg")}
    assert sizes
    assert {name: size for name, size in sizes.items() if size > 60_000} == {}


def drawn_arrows(svg: str) -> dict[str, str]:
    """What each arrow of a drawing of the structure says, with its style."""
    return {told: style for style, told in re.findall(r'<path class="([^"]*)"[^>]*><title>(.*?)</title>', svg)}


def draw_structure(checkout: Path, drawing: Path) -> str:
    program = DOCS / "design" / "draw_structure.py"
    subprocess.run([sys.executable, str(program), str(checkout), str(drawing)], check=True)
    return drawing.read_text(encoding="utf-8")


def test_a_drawing_of_the_structure_tells_imports_past_faces_and_circles(tmp_path: Path) -> None:
    files = {
        "sateen-graph-ir/src/sateen/graph_ir/ir/__init__.py": "from sateen.topi.layouts import Layout\n",
        "sateen-graph-ir/src/sateen/graph_ir/ir/graph.py": (
            "from sateen.topi.layouts.blocks import Block\n\n\ndef show():\n    from sateen.graph_ir import drawing\n"
        ),
        "sateen-graph-ir/src/sateen/graph_ir/drawing.py": (
            "from sateen.graph_ir.ir import Layout, graph\n"
            "from sateen.topi.computations import pooling\n"
            "import sateen.runtime.errors\n"
        ),
        "sateen-topi/src/sateen/topi/__init__.py": "from sateen.topi.layouts import Layout\n",
        "sateen-topi/src/sateen/topi/layouts/__init__.py": "from sateen.topi.layouts.blocks import Layout\n",
        "sateen-topi/src/sateen/topi/computations/__init__.py": '"""A file for each."""\n',
        "sateen-topi/src/sateen/topi/computations/pooling.py": "from sateen.tensor_ir.te.builder import Builder\n",
        "sateen-tensor-ir/src/sateen/tensor_ir/te/__init__.py": "from sateen.tensor_ir.te import builder\n",
        "sateen-tensor-ir/src/sateen/tensor_ir/te/builder.py": "",
        "sateen-topi/src/sateen/topi/layouts/blocks.py": "import numpy\nfrom sateen.runtime.errors import Error\n",
        "sateen-runtime/src/sateen/runtime/errors.py": "class Error(Exception): ...\n",
    }
    for name, text in files.items():
        file = tmp_path / "packages" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert drawn_arrows(draw_structure(tmp_path, tmp_path / "structure.svg")) == {
        "graph_ir, loose files → graph_ir.ir, imports: 2": "",
        "graph_ir, loose files → runtime, loose files, imports: 1": "",
        "graph_ir, loose files → topi.computations, imports: 1": "",
        "graph_ir.ir → graph_ir, loose files, imports: 1": "circle",
        "graph_ir.ir → topi.layouts, imports: 2, past the face: 1": "past",
        "topi.computations → tensor_ir.te, imports: 1": "",
        "topi.layouts → runtime, loose files, imports: 1": "",
    }


def test_a_folder_without_packages_is_not_drawn(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        draw_structure(tmp_path, tmp_path / "structure.svg")


def test_the_drawing_of_the_structure_has_the_rooms_that_exist(tmp_path: Path) -> None:
    rooms = re.compile(r'<g class="room[^"]*"><rect[^>]*/><text[^>]*>([^<]*)</text>')
    shown = rooms.findall((DOCS / "design" / "structure.svg").read_text(encoding="utf-8"))
    drawn = rooms.findall(draw_structure(DOCS.parent, tmp_path / "structure.svg"))
    assert sorted(shown) == sorted(drawn), "run: python docs/design/draw_structure.py . docs/design/structure.svg"
