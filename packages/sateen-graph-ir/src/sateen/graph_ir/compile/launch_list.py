"""What a function for a device launches, as data: all loops unrolled, all expressions numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sateen.runtime.launches import BlockPlace, NetworkLaunch
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir import (
    Buffer,
    Const,
    Expr,
    For,
    If,
    Launch,
    Let,
    LoopKind,
    Seq,
    Stmt,
    Var,
    substitute,
)
from sateen.tensor_ir.lowering import DeviceProgram


def launches_of(program: DeviceProgram, places: Sequence[BlockPlace]) -> list[NetworkLaunch]:
    """What a function launches on arguments at places, in order.

    for t < 2: launch k0_0(A, B + t, t)      k0_0 [4, 1, 1] [256, 1, 1] (0, 0, 4096) (2, 256, 4096) 0
    on (0, 0, 8192), (2, 256, 8192)      =>  k0_0 [4, 1, 1] [256, 1, 1] (0, 0, 4096) (2, 4352, 4096) 1
    """
    host = program.host
    starts = {p: (place.block, place.offset) for p, place in zip(host.parameters, places, strict=True)}
    shared = {kernel.name: kernel.shared_bytes for kernel in program.kernels}
    return list(_Writer(host.name, shared, Analyzer()).launched(host.body, starts))


@dataclass(frozen=True, slots=True)
class _Writer:
    name: str
    shared_bytes: Mapping[str, int]
    analyzer: Analyzer

    def launched(self, s: Stmt, places: Mapping[Buffer, tuple[int, int]]) -> Iterator[NetworkLaunch]:
        """The launches in a statement of a function's host; `places` are the blocks and offsets of its buffers."""
        match s:
            case Seq():
                for child in s.body:
                    yield from self.launched(child, places)
            case For(kind=LoopKind.SERIAL):
                start = self._number(s.start)
                for i in range(start, start + self._number(s.extent)):
                    yield from self.launched(_with(s.body, s.var, i), places)
            case Let():
                yield from self.launched(substitute(s.body, {s.var: s.value}), places)
            case If():
                chosen = s.then if self._is_true(s.condition) else s.otherwise
                if chosen is not None:
                    yield from self.launched(chosen, places)
            case Launch():
                x, y, z = s.block
                yield NetworkLaunch(
                    s.kernel,
                    self._three(s.grid),
                    (x, y, z),
                    tuple(self._place(b, offset, places) for b, offset in s.arguments),
                    tuple(map(self._number, s.scalars)),
                    shared_bytes=self.shared_bytes[s.kernel],
                )
            case _:
                raise AssertionError(f"the host of {self.name!r} has a {type(s).__name__}")

    def _place(self, b: Buffer, offset: Expr, places: Mapping[Buffer, tuple[int, int]]) -> BlockPlace:
        block, start = places[b]
        return BlockPlace(block, start + self._number(offset), self._number(b.span_bytes()))

    def _three(self, extents: tuple[Expr, ...]) -> tuple[int, int, int]:
        x, y, z = map(self._number, extents)
        return x, y, z

    def _number(self, e: Expr) -> int:
        found = self.analyzer.constant(e)
        assert found is not None, f"{e} is no number"
        return found

    def _is_true(self, e: Expr) -> bool:
        found = self.analyzer.simplify(e)
        assert isinstance(found, Const), f"{e} is not known"
        return bool(found.value)


def _with(s: Stmt, var: Var, value: int) -> Stmt:
    return substitute(s, {var: Const(value, var.dtype)})
