"""The entry of a network for a device as launches: all loops unrolled, all expressions numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from sateen.runtime.launches import BlockPlace, NetworkLaunch
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir import (
    Buffer,
    Const,
    Expr,
    For,
    Function,
    If,
    Invoke,
    Launch,
    Let,
    LoopKind,
    Seq,
    Stmt,
    Var,
    substitute,
)
from sateen.tensor_ir.lowering import DeviceProgram


def launches_of_entry(entry: Function, programs: Iterable[DeviceProgram]) -> tuple[NetworkLaunch, ...]:
    """What the entry's calls launch, in order; `programs` are those of the functions that it calls.

        k0(data + 0, workspace + 256)                 k0_0 [4, 1, 1] [256, 1, 1] (0, 0, 4096) (2, 256, 4096)
        with for t: launch k0_0(A + 0, B + 0, t)  =>  … 0; k0_0 [4, 1, 1] [256, 1, 1] (0, 0, 4096) (2, 256, 4096) … 1

    Blocks are numbered as the entry's parameters are, steps as the entry's statements.
    """
    blocks = {b: i for i, b in enumerate(entry.parameters)}
    named = {program.host.name: program for program in programs}
    shared = {kernel.name: kernel.shared_bytes for program in named.values() for kernel in program.kernels}
    writer = _Writer(named, shared, Analyzer())
    steps = entry.body.body if isinstance(entry.body, Seq) else (entry.body,)
    return tuple(replace(launch, step=i) for i, s in enumerate(steps) for launch in writer.called(s, blocks))


@dataclass(frozen=True, slots=True)
class _Writer:
    programs: Mapping[str, DeviceProgram]
    shared_bytes: Mapping[str, int]
    analyzer: Analyzer

    def called(self, s: Stmt, blocks: Mapping[Buffer, int]) -> Iterator[NetworkLaunch]:
        """The launches of the calls in a statement of the entry."""
        match s:
            case Seq():
                for child in s.body:
                    yield from self.called(child, blocks)
            case Invoke():
                host = self.programs[s.callee].host
                places = {
                    p: (blocks[b], self._number(offset))
                    for p, (b, offset) in zip(host.parameters, s.arguments, strict=True)
                }
                yield from self.launched(host.body, places)
            case _:
                raise AssertionError(f"the entry of a network on a device has a {type(s).__name__}")

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
                raise AssertionError(f"the host of {min(self.programs)!r} has a {type(s).__name__}")

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
