"""How values display: as a line that `repr` shortens, and as an HTML table for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from html import escape

from sateen.runtime.errors import printable

MOST_NAMED = 4
MOST_CHARACTERS = 60
"""The most characters of a displayed name; names in models may have any length."""
MOST_ROWS = 60


def named(items: Sequence[object]) -> str:
    """The texts of the first of these, and how many more there are; 'nothing' if there are none."""
    first = [shortened(str(item)) for item in items[:MOST_NAMED]]
    more = [f"… {len(items) - MOST_NAMED} more"] if len(items) > MOST_NAMED else []
    return ", ".join([*first, *more]) or "nothing"


def counted(count: int, name: str) -> str:
    """A number of things: 1 node, 2 nodes."""
    return f"{count} {name}{'s' * (count != 1)}"


def shortened(text: str, most: int = MOST_CHARACTERS) -> str:
    """The text on one line, with unprintable characters escaped and the middle of a long text left out."""
    line = printable(text)
    return line if len(line) <= most else f"{line[: most * 2 // 3]}…{line[-(most // 3) :]}"


def did_you_mean(found: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the closest known names, whatever their case, or '' if none is
    close."""
    names: dict[str, list[str]] = {}
    for name in known:
        names.setdefault(name.casefold(), []).append(name)
    close = [name for folded in get_close_matches(found.casefold(), names, n=2, cutoff=0.5) for name in names[folded]]
    return f"; did you mean {' or '.join(map(printable, close[:2]))}?" if close else ""


def size(count: int) -> str:
    """A number of bytes for people: 150 KB, 4.9 MB."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count} B"


def html_table(title: str, facts: Mapping[str, str], header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of HTML: a title, facts by name, and rows under a header, of which the first are shown.

    All texts are escaped, since they may contain names of a user's model.
    """
    lines = [f"<table><caption>{_html(title)}</caption>"]
    spanned = f' colspan="{len(header) - 1}"' if len(header) > 2 else ""
    lines += [f"<tr><th>{_html(name)}</th><td{spanned}>{_html(text)}</td></tr>" for name, text in facts.items()]
    lines.append(f"<tr>{''.join(f'<th>{_html(name)}</th>' for name in header)}</tr>")
    lines += [f"<tr>{''.join(f'<td>{_html(cell)}</td>' for cell in row)}</tr>" for row in rows[:MOST_ROWS]]
    if len(rows) > MOST_ROWS:
        lines.append(f'<tr><td colspan="{len(header)}">… {len(rows) - MOST_ROWS} more</td></tr>')
    return "\n".join([*lines, "</table>"])


def _html(text: str) -> str:
    return escape(printable(text))
