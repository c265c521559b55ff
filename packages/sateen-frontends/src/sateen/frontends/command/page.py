"""A self-contained page of HTML: facts, a drawing and a table, with all texts of a model escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from sateen.runtime.errors import printable

_PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root{{color-scheme:light dark;--ink:#1e293b;--soft:#64748b;--line:#dbe3ee;--back:#f8fafc;--card:#fff}}
@media(prefers-color-scheme:dark){{:root{{--ink:#e2e8f0;--soft:#94a3b8;--line:#334155;--back:#020617;--card:#0f172a}}}}
body{{margin:2rem auto;max-width:90rem;padding:0 1.5rem;background:var(--back);color:var(--ink);
font:14px/1.5 system-ui,sans-serif}}
h1{{font-size:1.6rem;margin:0}}
h2{{font-size:1.1rem;margin:2rem 0 .6rem}}
.drawing,.table{{overflow:auto;max-height:85vh;border:1px solid var(--line);border-radius:10px;background:var(--card)}}
.drawing svg{{display:block;margin:auto}}
.drawing .card{{stroke:none}}
dl{{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1.2rem}}
dt,th{{color:var(--soft);font-weight:500}}
dd{{margin:0;overflow-wrap:anywhere}}
table{{border-collapse:collapse;width:100%;font-size:13px}}
th{{position:sticky;top:0;background:var(--card);text-align:left}}
th,td{{padding:.3rem .8rem;border-bottom:1px solid var(--line);vertical-align:top}}
td:nth-child(-n+5){{white-space:nowrap}}
.number{{text-align:right;font-variant-numeric:tabular-nums}}
</style>
<h1>{title}</h1>
<dl>
{facts}
</dl>
{sections}
</html>
"""


def page(title: str, facts: Sequence[tuple[str, str]], sections: Sequence[tuple[str, str]]) -> str:
    """A page: facts by name, then sections, each a heading over HTML."""
    return _PAGE.format(
        title=_html(title),
        facts="\n".join(f"<dt>{_html(name)}</dt><dd>{_html(fact)}</dd>" for name, fact in facts),
        sections="\n".join(f"<h2>{_html(heading)}</h2>\n{content}" for heading, content in sections),
    )


def drawing(svg: str) -> str:
    """A drawing that scrolls."""
    return f'<div class="drawing">\n{svg}\n</div>'


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()) -> str:
    """A table that scrolls under its header; columns that `right` names are aligned to the right."""
    classes = [' class="number"' if name in right else "" for name in header]
    heads = "".join(f"<th{c}>{_html(name)}</th>" for name, c in zip(header, classes, strict=True))
    lines = ["".join(f"<td{c}>{_html(cell)}</td>" for cell, c in zip(row, classes, strict=True)) for row in rows]
    rows_of_html = "\n".join(f"<tr>{line}</tr>" for line in (heads, *lines))
    return f'<div class="table"><table>\n{rows_of_html}\n</table></div>'


def _html(text: str) -> str:
    return escape(printable(text))
