"""The page of the format lists the operators that are read."""

import re
from pathlib import Path

from sateen.frontends.mxnet.converters import CONVERTERS

PAGE = Path(__file__).parents[4] / "docs/formats/mxnet.md"


def test_the_page_has_every_operator_once():
    table = PAGE.read_text(encoding="utf-8").partition("## Operators")[2].partition("## What is refused")[0]
    rows = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    listed = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(listed) == sorted(CONVERTERS)
