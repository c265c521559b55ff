"""Pages whose blocks print the lines under them: what a page shows is what the code says."""

import re
import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^```(python(?: continuation)?)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", ["errors.md", "schedule.md", "te.md"])
def test_each_block_prints_the_lines_under_it(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (DOCS / name).read_text(encoding="utf-8")
    blocks = [(bool(language), text) for language, text in BLOCK.findall(page)]
    program = tmp_path / "page.py"
    program.write_text("".join(text for is_code, text in blocks if is_code), encoding="utf-8")
    runpy.run_path(str(program))
    assert capsys.readouterr().out.splitlines() == [
        line for is_code, text in blocks if not is_code for line in text.splitlines()
    ]
