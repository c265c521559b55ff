"""The page of passes tells what the pipeline is."""

import re
from pathlib import Path

from sateen.graph_ir import default_pipeline
from sateen.graph_ir.passes import pass_name
from sateen.runtime import Target


def names(parameters: str) -> list[str]:
    return list(dict.fromkeys(map(pass_name, default_pipeline(Target.host(), "fast", parameters=parameters))))


def test_the_page_lists_every_pass_in_order() -> None:
    page = (Path(__file__).parents[1] / "docs" / "passes.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    trained, packed = names("trained"), names("packed")
    assert [name for name in listed if name in packed] == packed
    assert [name for name in listed if name in trained] == trained
    assert set(listed) == {*trained, *packed, "use_lowerings"}
    assert listed[-1] == "use_lowerings"
