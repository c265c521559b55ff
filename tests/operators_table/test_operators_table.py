"""The page of operators is what its program writes from the code, and every operator of NNVM is answered there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("page.py")
PAGE = PROGRAM.parents[2] / "docs" / "operators-table.md"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("docs") / "operators-table.md"
    subprocess.run([sys.executable, str(PROGRAM), str(path)], check=True)
    return path.read_text(encoding="utf-8")


def test_the_page_is_that_of_the_code(written: str) -> None:
    command = "python tests/operators_table/page.py docs/operators-table.md"
    assert PAGE.read_text(encoding="utf-8") == written, f"write it again: {command}"


def rows(text: str, heading: str) -> dict[str, list[str]]:
    """The cells of each row of a section's table, by the first."""
    section = text.partition(heading)[2].partition("\n## ")[0]
    return {name: cells.split(" | ") for name, cells in re.findall(r"^\| `(\w+)` \| (.*) \|$", section, re.MULTILINE)}


@pytest.mark.parametrize(
    ("operator", "terms"),
    [
        ("relu", {"Relu"}),
        ("top_k", {"TopK"}),
        ("deformable_columns", {"DeformConv"}),
        ("roi_align", {"RoiAlign"}),
        ("sin", {"Sin"}),
    ],
)
def test_terms_of_onnx_are_those_whose_converters_name_an_operator(
    written: str, operator: str, terms: set[str]
) -> None:
    formats = re.findall(r"^\| operator \| (.*) \|$", written, re.MULTILINE)[1].split(" | ")
    cells = rows(written, "## In the formats")[operator]
    assert set(cells[formats.index("onnx")].split(", ")) == terms


def test_every_operator_of_nnvm_is_answered(written: str) -> None:
    """121: those of its last state, and the region layer that an older one had."""
    answers = rows(written, "## The operators of NNVM")
    assert len(answers) == 121
    assert [name for name, cells in answers.items() if not cells[0]] == []
    assert answers["dense"] == ["`add`, `mat_mul`, `transpose`"]
    assert answers["yolo_reorg"] == ["`reshape`, `space_to_depth`"]
