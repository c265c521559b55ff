"""The page of errors tells what the code says: its blocks print the lines under them, and its table has every class."""

import re
import runpy
from pathlib import Path

import pytest

from sateen import runtime
from sateen.runtime import SateenError

PAGE = (Path(__file__).parents[1] / "docs" / "errors.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(python(?: continuation)?)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_each_block_prints_the_lines_under_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = [(bool(language), text) for language, text in BLOCK.findall(PAGE)]
    program = tmp_path / "page.py"
    program.write_text("".join(text for is_code, text in blocks if is_code), encoding="utf-8")
    runpy.run_path(str(program))
    assert capsys.readouterr().out.splitlines() == [
        line for is_code, text in blocks if not is_code for line in text.splitlines()
    ]


def test_the_table_has_every_class() -> None:
    (table,) = re.findall(r"^\| class .*?\n\n", PAGE, re.MULTILINE | re.DOTALL)
    listed = {name for row in table.splitlines() for name in re.findall(r"`(\w+Error)`", row.split(" | ")[0])}
    listed -= {"TypeError"}  # which some of them are, too
    classes = [getattr(runtime, name) for name in runtime.__all__ if name.endswith("Error")]
    assert listed == {one.__name__ for one in classes if one is not SateenError and issubclass(one, SateenError)}
