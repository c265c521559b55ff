"""Draws the structure of the code: packages as bands, rooms as boxes with their lines of code, imports as arrows.

    python docs/design/draw_structure.py CHECKOUT FILE.svg

A room is a folder of a package. Files in the package's own folder make one more box. An arrow goes from the room that
imports to the room that it takes from. It is thicker for more imports. It is red where imports go past a face of
another package: into a file that is neither the `__init__` of a room nor listed there as a whole. It is dashed where
it closes a circle of rooms.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import log2
from pathlib import Path

PACKAGES = ("frontends", "graph_ir", "topi", "tensor_ir", "rpc", "runtime")
"""The packages in the order of the bands, from top to bottom. Each imports from those below it."""
FLAT = frozenset({"rpc", "runtime"})
"""Packages without rooms. Siblings import their modules, so no import into them goes past a face."""
BY_FILE = frozenset({("graph_ir", "passes"), ("topi", "computations")})
"""Rooms from which siblings import files: a pass has a file of its name, and so has a family of computations."""
LOOSE = "loose files"
"""The name of the box for files in the package's own folder."""

WIDTH = 1000
BAND = 130
"""Pixels at the left of each band, for the name of the package."""
ROW, BOX, MARGIN = 60, 34, 20
"""Pixels from one row of boxes to the next, of the height of a box, and around each band."""
SHIFTS = (-0.32, 0.2, -0.12, 0.36)
"""How far rows lie beside the middle, in turns, as a part of the gap between boxes. Arrows past a row stay visible."""

STYLE = """
.structure{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:#1e293b}
.structure .name{font-size:15px;font-weight:600}
.structure .small{font-size:10px;fill:#64748b}
.structure .room text{text-anchor:middle}
.structure .card{fill:#fff}
.structure .band{fill:#f1f5f9;stroke:#dbe3ee}
.structure .room rect{fill:#e0ecff;stroke:#7fb0f5}
.structure .loose rect{fill:#fff;stroke:#94a3b8;stroke-dasharray:4 3}
.structure path{fill:none;stroke:#94a3b8;stroke-opacity:.55}
.structure .past{stroke:#dc2626;stroke-opacity:.5}
.structure .circle{stroke:#d97706;stroke-dasharray:5 4;stroke-opacity:1}
@media(prefers-color-scheme:dark){
.structure{fill:#e2e8f0}
.structure .small{fill:#a3b1c6}
.structure .card{fill:#0f172a}
.structure .band{fill:#172033;stroke:#334155}
.structure .room rect{fill:#1e3a63;stroke:#4f8ad6}
.structure .loose rect{fill:#0f172a;stroke:#64748b}
.structure path{stroke:#7c8ba1}
.structure .past{stroke:#f87171}
.structure .circle{stroke:#fbbf24}
}
"""


@dataclass(frozen=True, slots=True)
class Module:
    """A file of a package: its name without `sateen.`, whether others may take from it, its lines, what it imports."""

    name: str
    is_face: bool
    room: Room
    lines: int
    imports: frozenset[str]


@dataclass(frozen=True, slots=True, order=True)
class Room:
    """A folder of a package, or the files beside those folders."""

    package: str
    name: str


@dataclass(frozen=True, slots=True)
class Arrow:
    """Imports of one room from another, and how many of them go past a face."""

    imports: int
    past_face: int


@dataclass(frozen=True, slots=True)
class Place:
    """The middle of a box and its width, in pixels, and its row."""

    x: float
    y: float
    width: float
    row: int


def read_modules(checkout: Path) -> dict[str, Module]:
    """The modules of all packages, by name. Raises FileNotFoundError if `checkout` has no packages."""
    files: dict[str, Path] = {}
    for source in sorted(checkout.glob("packages/*/src/sateen")):
        for file in sorted(source.rglob("*.py")):
            parts = file.relative_to(source).with_suffix("").parts
            if len(parts) > 1:
                files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    if not files:
        raise FileNotFoundError(f"expected packages/*/src/sateen with Python files, found none in {checkout}")
    listed = {name: _listed(file) for name, file in files.items() if file.stem == "__init__"}
    return {name: _module(name, file, files.keys(), listed) for name, file in files.items()}


def _listed(file: Path) -> frozenset[str]:
    """What an `__init__` lists for others: names from its files, and whole files."""
    return frozenset(_imported(ast.parse(file.read_text(encoding="utf-8"))))


def _module(name: str, file: Path, known: Collection[str], listed: Mapping[str, frozenset[str]]) -> Module:
    """Others may take from an `__init__`, from a file that it lists as a whole, and from the files of `BY_FILE`."""
    text = file.read_text(encoding="utf-8")
    package, *folders = name.split(".") if file.stem == "__init__" else name.split(".")[:-1]
    room = Room(package, folders[0] if folders else "" if file.stem == "__init__" else LOOSE)
    taken = {_longest_known(target, known) for target in _imported(ast.parse(text))}
    is_listed = bool(folders) and name in listed.get(name.rpartition(".")[0], frozenset())
    is_face = file.stem == "__init__" or is_listed or (len(folders) == 1 and (package, folders[0]) in BY_FILE)
    return Module(name, is_face, room, text.count("\n"), frozenset(taken - {"", name}))


def _imported(tree: ast.Module) -> Iterator[str]:
    """What a file imports from `sateen`, inside functions as well; names of classes and functions included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            full = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            full = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            full = []
        yield from (name.removeprefix("sateen.") for name in full if name.startswith("sateen."))


def _longest_known(name: str, known: Collection[str]) -> str:
    """The module of a dotted name, without the words that name things in the file; '' if there is none."""
    while name and name not in known:
        name = name.rpartition(".")[0]
    return name


def find_arrows(modules: Mapping[str, Module]) -> dict[tuple[Room, Room], Arrow]:
    """The arrows between rooms. The `__init__` of a package only passes names on, so what it imports is not drawn."""
    imports: Counter[tuple[Room, Room]] = Counter()
    past_face: Counter[tuple[Room, Room]] = Counter()
    for module in modules.values():
        for target in (modules[name] for name in module.imports):
            between = module.room, target.room
            if module.room.name and module.room != target.room:
                imports[between] += 1
                crosses = module.room.package != target.room.package and target.room.package not in FLAT
                past_face[between] += crosses and not target.is_face
    return {between: Arrow(number, past_face[between]) for between, number in imports.items()}


def order_rooms(rooms: Sequence[Room], arrows: Mapping[tuple[Room, Room], Arrow]) -> list[Room]:
    """Rooms in an order against which few imports run. Sinks go last, sources first; else the room goes first that
    takes most beyond what it gives.

    Eades, Lin and Smyth, A fast and effective heuristic for the feedback arc set problem, 1993.
    """
    left, first, last = sorted(rooms), list[Room](), list[Room]()
    while left:
        given = {room: sum(arrows[a, room].imports for a in left if (a, room) in arrows) for room in left}
        taken = {room: sum(arrows[room, b].imports for b in left if (room, b) in arrows) for room in left}
        sinks = [room for room in left if not taken[room]]
        chosen = sinks[-1] if sinks else max(left, key=lambda room: (not given[room], taken[room] - given[room]))
        left.remove(chosen)
        if sinks:
            last.insert(0, chosen)
        else:
            first.append(chosen)
    return first + last


def rows_of(rooms: Sequence[Room], arrows: Mapping[tuple[Room, Room], Arrow]) -> dict[Room, int]:
    """The row of each room: below all rooms that import it, except by arrows against the order."""
    rows: dict[Room, int] = {}
    for room in order_rooms(rooms, arrows):
        rows[room] = max((row + 1 for other, row in rows.items() if (other, room) in arrows), default=0)
    return rows


def _width(room: Room, lines: int) -> float:
    return WIDTH - BAND - 2.0 * MARGIN if room.package in FLAT else max(96.0, 40 + lines / 32)


def place(
    lines: Mapping[Room, int], arrows: Mapping[tuple[Room, Room], Arrow]
) -> tuple[dict[Room, Place], list[float]]:
    """Where each room lies, and where each band begins and the last one ends. In a row, rooms are in the order of those
    that import them."""
    places: dict[Room, Place] = {}
    bands, row = [float(MARGIN)], 0
    for package in PACKAGES:
        rows = defaultdict(list)
        rooms = [room for room in lines if room.package == package and room.name]
        for room, number in rows_of(rooms, arrows).items():
            rows[number].append(room)
        top = bands[-1] + MARGIN
        for number, members in sorted(rows.items()):
            members.sort(key=lambda room: (_middle_of_importers(room, places, arrows), room))
            widths = [_width(room, lines[room]) for room in members]
            gap = (WIDTH - BAND - 2 * MARGIN - sum(widths)) / len(members)
            x = BAND + MARGIN + gap * (0.5 + SHIFTS[row % len(SHIFTS)])
            for room, width in zip(members, widths, strict=True):
                places[room] = Place(x + width / 2, top + number * ROW + BOX / 2, width, row)
                x += width + gap
            row += 1
        bands.append(top + (len(rows) - 1) * ROW + BOX + 2 * MARGIN if rows else bands[-1])
    return places, bands


def _middle_of_importers(room: Room, places: Mapping[Room, Place], arrows: Mapping[tuple[Room, Room], Arrow]) -> float:
    weights = [(arrow.imports, places[a].x) for (a, b), arrow in arrows.items() if b == room and a in places]
    return sum(n * x for n, x in weights) / max(1, sum(n for n, _ in weights))


def draw(modules: Mapping[str, Module]) -> str:
    """The drawing, as the text of an SVG."""
    lines: Counter[Room] = Counter()
    for module in modules.values():
        lines[module.room] += module.lines
    arrows = find_arrows(modules)
    places, bands = place(lines, arrows)
    height = bands[-1] + 26
    size = f'width="{WIDTH}" height="{height:.0f}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="structure" viewBox="0 0 {WIDTH} {height:.0f}" {size}>',
        f"<style>{STYLE}</style>",
        f'<rect class="card" {size} rx="10"/>',
    ]
    for package, top, bottom in zip(PACKAGES, bands, bands[1:], strict=False):
        if bottom > top:
            number = sum(count for room, count in lines.items() if room.package == package)
            size = f'width="{WIDTH - MARGIN}" height="{bottom - top - MARGIN / 2:.0f}"'
            parts += [
                f'<rect class="band" x="{MARGIN / 2}" y="{top:.0f}" {size} rx="8"/>',
                f'<text class="name" x="{MARGIN}" y="{top + 24:.0f}">{package}</text>',
                f'<text class="small" x="{MARGIN}" y="{top + 39:.0f}">{number:,} lines</text>',
            ]
    parts += [_draw_arrow(between, arrow, places) for between, arrow in sorted(arrows.items()) if between[1].name]
    parts += [_draw_room(room, lines[room], where) for room, where in places.items()]
    parts.append(_legend(arrows, height))
    return "\n".join([*parts, "</svg>\n"])


def _draw_arrow(between: tuple[Room, Room], arrow: Arrow, places: Mapping[Room, Place]) -> str:
    source, target = (places[room] for room in between)
    upwards = target.row <= source.row
    style = " ".join(["past"] * bool(arrow.past_face) + ["circle"] * upwards)
    slide = (target.x - source.x) / WIDTH * 0.8  # arrows of one box leave it side by side
    x0 = source.x + slide * source.width
    x1 = x0 if between[1].package in FLAT else target.x - slide * target.width
    y0, y1 = (source.y - BOX / 2, target.y + BOX / 2) if upwards else (source.y + BOX / 2, target.y - BOX / 2)
    bend = min(abs(y1 - y0) * 0.6, 90) * (-1 if upwards else 1)
    told = f"{_name(between[0])} → {_name(between[1])}, imports: {arrow.imports}"
    if arrow.past_face:
        told += f", past the face: {arrow.past_face}"
    return (
        f'<path class="{style}" stroke-width="{0.7 + 0.7 * log2(arrow.imports):.1f}" d="M{x0:.0f} {y0:.0f}'
        f'C{x0:.0f} {y0 + bend:.0f} {x1:.0f} {y1 - bend:.0f} {x1:.0f} {y1:.0f}"><title>{escape(told)}</title></path>'
    )


def _name(room: Room) -> str:
    return f"{room.package}.{room.name}" if room.name != LOOSE else f"{room.package}, {LOOSE}"


def _draw_room(room: Room, lines: int, where: Place) -> str:
    return (
        f'<g class="room{" loose" * (room.name == LOOSE)}"><rect x="{where.x - where.width / 2:.0f}" '
        f'y="{where.y - BOX / 2:.0f}" width="{where.width:.0f}" height="{BOX}" rx="6"/>'
        f'<text x="{where.x:.0f}" y="{where.y - 2:.0f}">{escape(room.name)}</text>'
        f'<text class="small" x="{where.x:.0f}" y="{where.y + 11:.0f}">{lines:,} lines</text></g>'
    )


def _legend(arrows: Mapping[tuple[Room, Room], Arrow], height: float) -> str:
    between = sum(arrow.imports for (a, b), arrow in arrows.items() if a.package != b.package)
    past = sum(arrow.past_face for arrow in arrows.values())
    return (
        f'<text class="small" x="{MARGIN}" y="{height - 14:.0f}">{between:,} imports between packages, {past:,} '
        "of them past a face (red). Dashed: a circle of rooms. Thicker: more imports.</text>"
    )


def main(checkout: str, drawing: str) -> None:
    """Draws the packages of the folder `checkout` into the file `drawing`."""
    Path(drawing).write_text(draw(read_modules(Path(checkout))), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
