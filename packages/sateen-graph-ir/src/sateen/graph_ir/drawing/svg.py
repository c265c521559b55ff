"""Drawings of graphs: SVG with a box per operator, edges with the types of values, and a frame around fused nodes.

    inputs, operators and outputs are boxes; parameters are listed in the boxes that read them
    a fused node is a frame that holds its operators, in order

The texts of a model are escaped; colours follow the reader's scheme, light or dark.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise

from sateen.graph_ir.drawing.arrangement import Arrangement, Link, arrange, layers_of
from sateen.graph_ir.ir import Graph, Node, Value, format_attribute, format_node, subgraphs
from sateen.graph_ir.ops import Control, Fused
from sateen.runtime.display import counted, shortened
from sateen.topi.operators import Operator

LONGEST_EDGE = 24
"""The most layers that an edge crosses; a reader further below names the value instead."""
MOST_CAPTIONS = 3
"""The most captions of one box, side by side."""

_MARGIN = 20
_HEADER = 34
_CHARACTER = 6.65
_SMALL_CHARACTER = 5.45
_ROW = 22
_DETAILED_ROW = 34
_ROW_GAP = 7
_FRAME_HEADER = 19
_FRAME_PADDING = 8
_CAPTION = 17
_ENTRY_GAP = 14.0
_MOST_DETAIL = 40

_STYLE = """
.graph{font:11px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#1e293b}
.graph text{text-anchor:middle}
.graph .title{font-size:14px;font-weight:600;text-anchor:start}
.graph .start{text-anchor:start}
.graph .small{font-size:9px;fill:#64748b}
.graph rect{fill:#fff;stroke:#cbd5e1}
.graph .frame{fill:#f8fafc;stroke:#dbe3ee}
.graph .product{fill:#e0ecff;stroke:#7fb0f5}
.graph .control{fill:#fff3d6;stroke:#eab64c}
.graph .end{fill:#e3f8ef;stroke:#5cc59a}
.graph .idle{fill:none;stroke-dasharray:4 3}
.graph path{fill:none;stroke:#94a3b8;stroke-width:1.3}
.graph marker path{fill:#94a3b8;stroke:none}
@media(prefers-color-scheme:dark){
.graph{fill:#e2e8f0}
.graph .small{fill:#94a3b8}
.graph rect{fill:#1e293b;stroke:#475569}
.graph .card{fill:#0f172a}
.graph .frame{fill:#172033;stroke:#334155}
.graph .product{fill:#1e3a63;stroke:#4f8ad6}
.graph .control{fill:#4a3a12;stroke:#b98a26}
.graph .end{fill:#12382b;stroke:#3b9b74}
.graph .idle{fill:none}
.graph path{stroke:#64748b}
.graph marker path{fill:#64748b}
}
"""
_ARROW = """\
<marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">\
<path d="M0 .8 8 4 0 7.2Z"/></marker>"""


@dataclass(frozen=True, slots=True)
class _Row:
    """An operator, an input or an output: a name, a line of detail ('' for none), a class of the style, a tooltip."""

    name: str
    detail: str
    style: str
    tooltip: str

    @property
    def width(self) -> float:
        return max(len(self.name) * _CHARACTER, len(self.detail) * _SMALL_CHARACTER) + 22

    @property
    def height(self) -> int:
        return _DETAILED_ROW if self.detail else _ROW


@dataclass(slots=True)
class _Box:
    """A unit of the arrangement: a row, or a frame with several rows under a title. The edges of `values` begin
    here."""

    rows: Sequence[_Row]
    title: str = ""
    framed: bool = False
    joined: Sequence[bool] = ()
    """For each row except the last, whether the next one reads it."""
    values: list[Value] = field(default_factory=list)
    cut: list[Value] = field(default_factory=list)
    """Values from far above, which are named in place of an edge."""

    @property
    def captions(self) -> list[str]:
        """The captions below, one for each value."""
        if len(self.values) > MOST_CAPTIONS:
            return [*[""] * (len(self.values) // 2), f"{len(self.values)} values", *[""] * (len(self.values) - 1)]
        return [shortened(str(v.type), _MOST_DETAIL) for v in self.values]

    @property
    def port_gap(self) -> float:
        """Pixels between the beginnings of edges."""
        if len(self.values) > MOST_CAPTIONS:
            return 12.0
        return max((len(c) for c in self.captions), default=0) * _SMALL_CHARACTER + 10

    @property
    def frame_width(self) -> float:
        inner = max(row.width for row in self.rows)
        return max(inner + 2 * _FRAME_PADDING, len(self.title) * _SMALL_CHARACTER + 20) if self.framed else inner

    @property
    def frame_height(self) -> float:
        inner = sum(row.height for row in self.rows) + _ROW_GAP * (len(self.rows) - 1)
        return inner + _FRAME_HEADER + _FRAME_PADDING if self.framed else inner

    @property
    def size(self) -> tuple[float, float]:
        """The width and height of the box, including the text above and below it."""
        captions = self.port_gap * len(self.values)
        above = max((len(_far(v)) for v in self.cut), default=0) * _SMALL_CHARACTER
        height = self.head + self.frame_height + (_CAPTION if self.values else 0)
        return max(self.frame_width, captions, above), height

    @property
    def head(self) -> float:
        """The height of the text above."""
        return 12.0 * len(self.cut)


def draw(graph: Graph, kernels: Mapping[Node, str] | None = None) -> str:
    """A graph as SVG. `kernels` names the kernels of nodes of a compiled graph; nodes without a kernel have nothing to
    do.

    Time and text are in proportion to the graph. Bodies of control flow are named, not drawn.
    """
    boxes, links, values = _boxes(graph, kernels)
    layers = layers_of(len(boxes), links)
    near = _near(boxes, links, values, layers)
    placed = arrange([box.size for box in boxes], near, layers)
    about = counted(sum(len(n.op.body.nodes) if isinstance(n.op, Fused) else 1 for n in graph.nodes), "operator")
    if kernels is not None:
        about += f" in {counted(len({*kernels.values()}), 'kernel')}"
    name = shortened(graph.name)
    width = max(placed.width, len(name) * 8.5, len(about) * _SMALL_CHARACTER) + 2 * _MARGIN
    height = (placed.bottoms[-1] if placed.bottoms else 0) + 2 * _MARGIN + _HEADER
    extents = f'width="{width:.0f}" height="{height:.0f}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="graph" viewBox="0 0 {width:.0f} {height:.0f}" {extents}>',
        f"<style>{_STYLE}</style>{_ARROW}",
        f'<rect class="card" x=".5" y=".5" width="{width - 1:.0f}" height="{height - 1:.0f}" rx="10"/>',
        f'<text class="title" x="{_MARGIN}" y="{_MARGIN + 8}">{escape(name)}</text>',
        f'<text class="start small" x="{_MARGIN}" y="{_MARGIN + 22}">{about}</text>',
        f'<g transform="translate({(width - placed.width) / 2:.0f} {_MARGIN + _HEADER})">',
        *_edges(boxes, near, placed),
    ]
    for box, centre, layer in zip(boxes, placed.centres, placed.layers, strict=True):
        lines += _drawn(box, centre, _top(box, placed, layer))
    return "\n".join([*lines, "</g></svg>"])


def _near(boxes: Sequence[_Box], links: Sequence[Link], values: Sequence[Value], layers: Sequence[int]) -> list[Link]:
    """The edges to draw. A reader too far below a value names it in place of an edge."""
    near: list[Link] = []
    for link, value in zip(links, values, strict=True):
        last = layers[link.source] + LONGEST_EDGE
        reached = tuple(target for target in link.targets if layers[target] <= last)
        for target in link.targets:
            if layers[target] > last:
                boxes[target].cut.append(value)
        if reached:
            near.append(Link(link.source, reached))
            boxes[link.source].values.append(value)
    return near


def _boxes(graph: Graph, kernels: Mapping[Node, str] | None) -> tuple[list[_Box], list[Link], list[Value]]:
    """The boxes of a graph, each before its readers, and the links between them with their values."""
    boxes: list[_Box] = []
    source: dict[Value, int] = {}
    targets: dict[Value, list[int]] = {}
    for v in graph.inputs:
        source[v] = len(boxes)
        boxes.append(_Box([_Row(shortened(v.name), "", "end", f"input {v}: {v.type}")]))
    outputs = {*graph.outputs}
    for v in graph.parameters:
        if v in outputs:
            source[v] = len(boxes)
            boxes.append(_Box([_Row(shortened(v.name), "", "end", f"parameter {v}: {v.type}")]))
    for node in graph.nodes:
        for read in dict.fromkeys(node.inputs):
            if read is not None and read in source:
                targets.setdefault(read, []).append(len(boxes))
        source.update((v, len(boxes)) for v in node.outputs)
        boxes.append(_node_box(node, graph, kernels))
    for v in graph.outputs:
        targets.setdefault(v, []).append(len(boxes))
        reused = f"may reuse {graph.aliases[v]}" if v in graph.aliases else ""
        boxes.append(_Box([_Row(shortened(v.name), shortened(reused, _MOST_DETAIL), "end", f"output {v}: {v.type}")]))
    links = [(Link(at, tuple(targets[v])), v) for v, at in source.items() if v in targets]
    return boxes, [link for link, _ in links], [v for _, v in links]


def _node_box(node: Node, graph: Graph, kernels: Mapping[Node, str] | None) -> _Box:
    op = node.op
    is_idle = kernels is not None and node not in kernels
    if not isinstance(op, Fused):
        return _Box([_row(node, graph.parameters, is_idle=is_idle)])
    constants = {inner for inner, v in zip(op.body.inputs, node.inputs, strict=True) if v in graph.parameters}
    rows = [_row(inner, {*constants, *op.body.parameters}, is_idle=is_idle) for inner in op.body.nodes]
    joined = [not {*one.outputs}.isdisjoint(other.inputs) for one, other in pairwise(op.body.nodes)]
    title = "in place" if is_idle else (kernels or {}).get(node, op.body.name)
    return _Box(rows, shortened(title, _MOST_DETAIL), True, joined)


def _row(node: Node, constants: Collection[Value], *, is_idle: bool) -> _Row:
    """An operator, the shapes of the parameters that it reads, and its attributes."""
    op = node.op
    shapes = [v.type.shape for v in node.inputs if v is not None and v in constants]
    rank = max(map(len, shapes), default=0)
    weights = ["×".join(map(str, shape)) for shape in shapes if shape and len(shape) == rank]
    given = [f"{name}={_short(value)}" for name, value in op.attributes().items() if not isinstance(value, Graph)]
    bodies = [f"{name}: {counted(len(body.nodes), 'node')}" for name, body in subgraphs(op).items()]
    if is_idle:
        style = "idle"
    elif isinstance(op, Control):
        style = "control"
    else:
        style = "product" if _is_product(node) else "plain"
    detail = shortened(" ".join([*weights, *given, *bodies]), _MOST_DETAIL)
    return _Row(shortened(op.op_name(), _MOST_DETAIL), detail, style, shortened(format_node(node), 240))


def _is_product(node: Node) -> bool:
    """Whether arithmetic dominates the time of an operator; with open types, whether it could."""
    if all(t.is_static for t in (*node.input_types, *(v.type for v in node.outputs))):
        return node.operations() > 0
    return type(node.op).operations is not Operator.operations


def _short(value: object) -> str:
    """An attribute; a tuple of equal numbers as one of them."""
    if isinstance(value, tuple):
        return format_attribute(value[0]) if len({*map(str, value)}) == 1 else ",".join(map(format_attribute, value))
    return value if isinstance(value, str) else format_attribute(value)


def _far(value: Value) -> str:
    return f"from {shortened(str(value), _MOST_DETAIL)}"


def _top(box: _Box, placed: Arrangement, layer: int) -> float:
    """The top of the frame: boxes are in the middle of their layer."""
    return (placed.tops[layer] + placed.bottoms[layer] - box.size[1]) / 2 + box.head


def _drawn(box: _Box, centre: float, top: float) -> Iterator[str]:
    width, height = box.frame_width, box.frame_height
    left = centre - width / 2
    for i, v in enumerate(box.cut):
        yield f'<text class="small" x="{centre:.0f}" y="{top - 4 - 12 * i:.0f}">{escape(_far(v))}</text>'
    y = top
    if box.framed:
        yield f'<rect class="frame" x="{left:.0f}" y="{top:.0f}" width="{width:.0f}" height="{height:.0f}" rx="8"/>'
        yield f'<text class="start small" x="{left + 9:.0f}" y="{top + 13:.0f}">{escape(box.title)}</text>'
        y += _FRAME_HEADER
        left, width = left + _FRAME_PADDING, width - 2 * _FRAME_PADDING
    for i, row in enumerate(box.rows):
        radius = row.height / 2 if row.style == "end" else 5
        yield f"<g><title>{escape(row.tooltip)}</title>"
        yield (
            f'<rect class="{row.style}" x="{left:.0f}" y="{y:.0f}" width="{width:.0f}" height="{row.height}" '
            f'rx="{radius:.0f}"/><text x="{centre:.0f}" y="{y + 15:.0f}">{escape(row.name)}</text>'
        )
        if row.detail:
            yield f'<text class="small" x="{centre:.0f}" y="{y + 27:.0f}">{escape(row.detail)}</text>'
        yield "</g>"
        y += row.height
        if i < len(box.joined) and box.joined[i]:
            yield f'<path d="M{centre:.0f} {y:.0f}v{_ROW_GAP}"/>'
        y += _ROW_GAP
    for x, caption in zip(_spread(centre, len(box.values), box.port_gap), box.captions, strict=False):
        if caption:
            yield f'<text class="small" x="{x:.0f}" y="{top + height + 13:.0f}">{escape(caption)}</text>'


def _edges(boxes: Sequence[_Box], links: Sequence[Link], placed: Arrangement) -> Iterator[str]:
    """For each link a path through the layers to its last target, and one to each other target that branches off."""
    starts, ends = _ports(boxes, links, placed)
    for number, (link, passing) in enumerate(zip(links, placed.passings, strict=True)):
        first, box = placed.layers[link.source], boxes[link.source]
        below = _top(box, placed, first) + box.frame_height + _CAPTION - 1
        stops = [(starts[number], placed.bottoms[first])]
        trunk = f"M{starts[number]:.0f} {below:.0f}V{placed.bottoms[first]:.0f}"
        for layer, x in enumerate(passing, first + 1):
            trunk += _curve(*stops[-1], x, placed.tops[layer], placed.bottoms[layer])
            stops.append((x, placed.bottoms[layer]))
        for target in sorted(link.targets, key=lambda target: -placed.layers[target]):
            layer = placed.layers[target]
            x, y = stops[layer - first - 1]
            end = _top(boxes[target], placed, layer) - boxes[target].head
            arrow = _curve(x, y, ends[number, target], placed.tops[layer], end)
            yield f'<path d="{trunk or f"M{x:.0f} {y:.0f}"}{arrow}" marker-end="url(#arrow)"/>'
            trunk = ""


def _curve(x: float, y: float, to_x: float, to_y: float, end: float) -> str:
    """A curve to a place in the next layer, and straight down to an end.

    No part has length 0, since its arrow would have no direction.
    """
    if round(x) == round(to_x):
        return f"V{end:.0f}"
    middle = (y + to_y) / 2
    down = f"V{end:.0f}" if round(end) != round(to_y) else ""
    return f"C{x:.0f} {middle:.0f} {to_x:.0f} {middle:.0f} {to_x:.0f} {to_y:.0f}{down}"


def _ports(
    boxes: Sequence[_Box], links: Sequence[Link], placed: Arrangement
) -> tuple[dict[int, float], dict[tuple[int, int], float]]:
    """The points where each link leaves its source, by its caption, and enters each target, sorted by the source's
    place."""
    leaving: dict[int, list[int]] = {}
    entering: dict[int, list[tuple[float, int]]] = {}
    for number, (link, passing) in enumerate(zip(links, placed.passings, strict=True)):
        leaving.setdefault(link.source, []).append(number)
        trail = (placed.centres[link.source], *passing)
        for target in link.targets:
            x = trail[placed.layers[target] - placed.layers[link.source] - 1]
            entering.setdefault(target, []).append((x, number))
    starts: dict[int, float] = {}
    ends: dict[tuple[int, int], float] = {}
    for source, numbers in leaving.items():
        starts.update(zip(numbers, _spread(placed.centres[source], len(numbers), boxes[source].port_gap), strict=True))
    for target, found in entering.items():
        gap = min(_ENTRY_GAP, boxes[target].frame_width / (len(found) + 1))
        places = _spread(placed.centres[target], len(found), gap)
        ends.update(((number, target), x) for (_, number), x in zip(sorted(found), places, strict=True))
    return starts, ends


def _spread(centre: float, count: int, gap: float) -> list[float]:
    return [centre + (i - (count - 1) / 2) * gap for i in range(count)]
