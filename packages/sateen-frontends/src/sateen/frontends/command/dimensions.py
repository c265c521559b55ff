"""Finds sizes for a model's open dimensions with which it can be read, by trying the usual ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sateen.frontends.core.report import Gap, Report
from sateen.graph_ir.ir import Dim, Graph, Symbol, TensorType
from sateen.runtime.errors import FrontendError

MOST_TRIALS = 32
MOST_NODES = 20_000
"""The most nodes that all trials read; at least LEAST_TRIALS trials are made."""
LEAST_TRIALS = 3

_BATCHES = (1, 2)
_EXTENTS = (224, 320, 640, 256, 512, 32, 28, 299, 416, 128, 64)
_LENGTHS = (128, 16, 1, 512, 2, 32)
_STATES = (1, 128, 16, 2, 512, 32)
_CHANNELS = (3, 1, 4)

Reading = Callable[[Mapping[str, int]], tuple[Graph | None, Report]]
"""Reads the model with these dimensions."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of dimensions, and the gaps of the model with them; `lasting` are those gaps, by node and reason, that the
    model had with all of the sizes that were `tried`."""

    dims: Mapping[str, int]
    report: Report
    tried: int = 1
    lasting: frozenset[tuple[str, str]] = frozenset()

    @property
    def work(self) -> bool:
        return self.report.is_supported

    @property
    def unread(self) -> int:
        """Nodes that can't be read with these sizes."""
        return len(self.report.gaps) + self.report.unchecked

    @property
    def matter(self) -> bool:
        """Whether a gap came or went with the sizes."""
        return any(_reason(gap) not in self.lasting for gap in self.report.gaps)


def _reason(gap: Gap) -> tuple[str, str]:
    return gap.node, gap.reason


def open_dimensions(
    types: Mapping[str, TensorType],
    examples: Mapping[str, Sequence[int]] | None = None,
    ranges: Mapping[str, tuple[int, float]] | None = None,
) -> dict[str, tuple[int, ...]]:
    """The open dimensions of inputs, in order, and the usual sizes of each, those of `examples` of shapes first.

    `ranges` has the least and the largest size of dimensions by name; sizes outside them are left out.
    """
    usual: dict[str, tuple[int, ...]] = {}
    for name, type_ in types.items():
        example = (examples or {}).get(name, ())
        for axis, extent in enumerate(type_.shape):
            if isinstance(extent, Symbol):
                first = (example[axis],) if len(example) == type_.rank else ()
                sizes = (*first, *_usual(extent.name, axis, type_.shape))
                usual.setdefault(extent.name, _within(tuple(dict.fromkeys(sizes)), (ranges or {}).get(extent.name)))
    return usual


def _within(sizes: tuple[int, ...], allowed: tuple[int, float] | None) -> tuple[int, ...]:
    """The sizes that lie in a range; if none does, its least, or 1 in place of 0."""
    if allowed is None:
        return sizes
    least, most = allowed
    return tuple(size for size in sizes if least <= size <= most) or (max(least, 1),)


def _usual(name: str, axis: int, shape: Sequence[Dim]) -> tuple[int, ...]:
    """A batch is small, pictures [N, C, H, W] and [N, H, W, C] have some hundred rows, sequences some hundred steps.
    States of recurrent layers are [layers or directions, N, C]."""
    if axis == 0 or "batch" in name.lower():
        return _BATCHES
    if len(shape) == 3 and axis == 1 and isinstance(shape[0], int) and shape[0] > 1 and isinstance(shape[2], int):
        return _STATES
    if len(shape) < 4:
        return _LENGTHS
    return _CHANNELS if axis == 1 and not isinstance(shape[-1], int) else _EXTENTS


def find_sizes(usual: Mapping[str, tuple[int, ...]], read: Reading) -> Sizes:
    """Sizes that work, otherwise those with the fewest unread nodes. Raises FrontendError if the model allows none of
    those that were tried."""
    best: Sizes | None = None
    tried: set[tuple[int, ...]] = set()
    lasting: frozenset[tuple[str, str]] | None = None
    refusal: FrontendError | None = None
    left = MOST_NODES

    def trial(dims: Mapping[str, int]) -> Sizes | None:
        nonlocal best, lasting, left, refusal
        tried.add(tuple(dims.values()))
        try:
            found = Sizes(dims, read(dims)[1])
        except FrontendError as error:  # sizes that the model does not allow
            refusal = error
            return None
        left -= found.report.nodes
        gaps = frozenset(map(_reason, found.report.gaps))
        lasting = gaps if lasting is None else lasting & gaps
        best = found if best is None or found.unread < best.unread else best
        return best

    for dims in _alike(usual):
        if ((found := trial(dims)) and found.work) or (left < 0 and len(tried) >= LEAST_TRIALS):
            break
    if best is None or lasting is None:
        assert refusal is not None
        raise refusal
    for name, size in ((name, size) for name, sizes in usual.items() for size in sizes):
        dims = {**best.dims, name: size}
        if best.work or left < 0 or len(tried) >= MOST_TRIALS:
            break
        if tuple(dims.values()) not in tried:
            trial(dims)
    return replace(best, tried=len(tried), lasting=lasting)


def _alike(usual: Mapping[str, tuple[int, ...]]) -> Iterator[dict[str, int]]:
    """Sizes in which dimensions of one kind are equal, the most usual first, and batches are 1."""
    for i in range(max(map(len, usual.values()))):
        yield {name: 1 if sizes[0] == 1 else sizes[min(i, len(sizes) - 1)] for name, sizes in usual.items()}


def options_of(types: Mapping[str, TensorType], dims: Mapping[str, int]) -> list[str]:
    """The options that set the sizes of dimensions: by name, or the whole shape if the model has no names."""
    given: dict[tuple[str, str], None] = {}
    for name, type_ in types.items():
        symbols = [(axis, d.name) for axis, d in enumerate(type_.shape) if isinstance(d, Symbol)]
        if any(symbol == f"{name}.{axis}" for axis, symbol in symbols):
            shape = (dims[d.name] if isinstance(d, Symbol) else d for d in type_.shape)
            given["--shape", f"{name}={'x'.join(map(str, shape))}"] = None
        else:
            given.update((("--dim", f"{symbol}={dims[symbol]}"), None) for _, symbol in symbols)
    return [word for option in given for word in option]
