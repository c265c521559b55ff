"""The page of targets lists the names that there are."""

import re
from pathlib import Path

from sateen.runtime.target_names import TARGET_NAMES


def test_the_page_lists_every_name_with_its_text() -> None:
    page = (Path(__file__).parents[1] / "docs" / "targets.md").read_text(encoding="utf-8")
    section = page.partition("\n## Names\n")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \| (.+) \|$", section, re.MULTILINE)
    assert listed == [(row.name, row.text, row.machines) for row in TARGET_NAMES.values()]
