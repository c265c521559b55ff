"""The page of examples leads to every program."""

from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_every_program_is_on_the_page() -> None:
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in EXAMPLES.glob("*.py") if f"({path.name})" not in page] == []
