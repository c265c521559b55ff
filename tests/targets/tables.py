"""The tables of docs/targets.md: what of each row is as defined on each target, and why the rest is not."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from cases import Case

MARK = "<!-- matrix -->"


class Verdict(Enum):
    """What became of a case on a target."""

    RIGHT = "as defined"
    REFUSED = "refused"
    WRONG = "wrong"
    FAILED = "failed"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Result:
    """What became of a case on a target, and why, unless it is as defined."""

    target: str
    case: Case
    verdict: Verdict
    reason: str = ""


def with_tables(page: str, results: Sequence[Result]) -> str:
    """The page with these tables between its marks."""
    before, _, rest = page.partition(MARK)
    _, _, after = rest.partition(MARK)
    lines: list[str] = []
    for head, rows in cells(results).items():
        targets = list(dict.fromkeys(target for row in rows.values() for target in row))
        lines += ["", f"| {head} | {' | '.join(targets)} |", f"|---|{'---|' * len(targets)}"]
        lines += [f"| {row} | {' | '.join(found.values())} |" for row, found in rows.items()]
    return f"{before}{MARK}\n{chr(10).join([*lines[1:], '', *notes(results)])}\n{MARK}{after}"


def cells(results: Sequence[Result]) -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    """The cells by the head of a table, row and target."""
    found: dict[str, dict[str, dict[str, list[Verdict]]]] = {}
    for result in results:
        rows = found.setdefault(result.case.table, {})
        rows.setdefault(result.case.row, {}).setdefault(result.target, []).append(result.verdict)
    return {
        head: {row: {target: _cell(verdicts) for target, verdicts in of.items()} for row, of in rows.items()}
        for head, rows in found.items()
    }


def _cell(verdicts: Sequence[Verdict]) -> str:
    faults = [verdict.value for verdict in (Verdict.WRONG, Verdict.FAILED) if verdict in verdicts]
    if faults:
        return " and ".join(faults)
    right = verdicts.count(Verdict.RIGHT)
    if right:
        return "yes" if right == len(verdicts) else f"{right} of {len(verdicts)}"
    return Verdict.NOT_RUN.value if Verdict.NOT_RUN in verdicts else "no"


def notes(results: Sequence[Result]) -> Iterator[str]:
    """A line for each reason why cases are not as defined, with the targets and the cases."""
    total = Counter(result.target for result in results)
    cases: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for result in results:
        if result.verdict is not Verdict.RIGHT:
            cases[result.verdict.value, result.reason][result.target].append(result.case.name)
    by_note: dict[tuple[str, str, tuple[str, ...]], list[str]] = defaultdict(list)
    for (verdict, reason), of_target in cases.items():
        for target, names in of_target.items():
            by_note[verdict, reason, tuple(names)].append(target)
    for (verdict, reason, names), targets in by_note.items():
        what = "all" if len(names) == total[targets[0]] else ", ".join(names)
        yield f"- {', '.join(targets)}: {verdict}{f' ({reason})' if reason else ''}: {what}"


def differences(page: str, results: Sequence[Result]) -> list[str]:
    """How the tables of a page differ from results, which may be those of some targets and rows."""
    _, _, rest = page.partition(MARK)
    told = _told(rest.partition(MARK)[0])
    return [
        f"{row} on {target}: expected {expected!r} on the page, found {told.get((row, target), 'no such cell')!r}"
        for rows in cells(results).values()
        for row, of_target in rows.items()
        for target, expected in of_target.items()
        if told.get((row, target)) != expected
    ]


def _told(text: str) -> dict[tuple[str, str], str]:
    """The cells of the tables of a text by row and target."""
    found: dict[tuple[str, str], str] = {}
    targets: list[str] = []
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    for line, following in zip(lines, [*lines[1:], [""]], strict=True):
        if following[0] == "---":
            targets = line[1:]
        elif line[0] != "---":
            found.update(((line[0], target), cell) for target, cell in zip(targets, line[1:], strict=True))
    return found
