"""Structural equality of loop IR: the same program, with any names and spans."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.stmt import Allocate, For, Function, Let, Seq, Stmt, sequence

Node = Function | Stmt | Expr


def structural_equal(a: Node, b: Node) -> bool:
    """Whether `a` and `b` are the same except for names, spans and the identity of the variables and buffers that they
    bind."""
    return why_different(a, b) is None


def why_different(a: Node, b: Node) -> str | None:
    """The first difference as `place: one against other`, or None. Free variables and buffers must be the same
    objects."""
    comparison = _Comparison()
    try:
        comparison.compare(a, b, type(a).__name__)
    except _Different as difference:
        return str(difference)
    return None


class _Different(Exception):  # noqa: N818 - it carries an answer
    pass


class _Comparison:
    def __init__(self) -> None:
        self.partners: dict[Var | Buffer, Var | Buffer] = {}
        self.claimed: set[Var | Buffer] = set()
        self.equal: set[tuple[int, int]] = set()

    def differ(self, place: str, a: object, b: object) -> None:
        one, other = (str(x).splitlines()[0] if str(x) else repr(x) for x in (a, b))
        raise _Different(f"{place}: {one} against {other}")

    def bind(self, a: Var | Buffer, b: Var | Buffer, place: str) -> None:
        """Let `a` and `b` stand for each other from here on."""
        known = self.partners.get(a)
        if (known is not None and known is not b) or (known is None and b in self.claimed):
            self.differ(place, a.name, b.name)
        self.partners[a] = b
        self.claimed.add(b)

    def compare(self, a: Any, b: Any, place: str) -> None:
        """Raise _Different if `a` and `b` differ."""
        if isinstance(a, Seq) or isinstance(b, Seq):
            self.compare_many(_statements(a), _statements(b), f"{place}.body")
        elif isinstance(a, Var) and isinstance(b, Var):
            if self.partners.get(a, a) is not b or (a not in self.partners and b in self.claimed):
                self.differ(place, a, b)
        elif isinstance(a, Buffer) and isinstance(b, Buffer):
            self.compare_buffers(a, b, place)
        elif type(a) is not type(b):
            self.differ(place, f"{type(a).__name__} {a}", f"{type(b).__name__} {b}")
        elif isinstance(a, Function):
            self.compare_functions(a, b, place)
        elif isinstance(a, (Stmt, Expr)):
            self.compare_nodes(a, b, place)
        elif isinstance(a, tuple):
            self.compare_many(a, b, place)
        elif isinstance(a, float):
            if repr(a) != repr(b):
                self.differ(place, a, b)
        elif a != b:
            self.differ(place, a, b)

    def compare_many(self, a: tuple[Any, ...], b: tuple[Any, ...], place: str) -> None:
        if len(a) != len(b):
            self.differ(place, f"{len(a)} of them", f"{len(b)} of them")
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            self.compare(x, y, f"{place}[{i}]")

    def compare_nodes(self, a: Stmt | Expr, b: Stmt | Expr, place: str) -> None:
        if (id(a), id(b)) in self.equal:
            return
        if isinstance(a, (For, Let)) and isinstance(b, (For, Let)):
            self.compare(a.var.dtype, b.var.dtype, f"{place}.var")
            self.bind(a.var, b.var, f"{place}.var")
        if isinstance(a, Allocate) and isinstance(b, Allocate):
            self.bind_buffers(a.buffer, b.buffer, f"{place}.buffer")
        names = ("a", "b") if isinstance(a, ex.Binary) else [f.name for f in fields(a) if f.name != "span"]  # type: ignore[arg-type]
        for name in names:
            self.compare(getattr(a, name), getattr(b, name), f"{place}.{name}")
        self.equal.add((id(a), id(b)))

    def bind_buffers(self, a: Buffer, b: Buffer, place: str) -> None:
        """Bind two buffers of one type that are declared here."""
        self.bind(a, b, place)
        for name in ("dtype", "scope", "alignment", "device", "shape", "strides"):
            self.compare(getattr(a, name), getattr(b, name), f"{place}.{name}")

    def compare_buffers(self, a: Buffer, b: Buffer, place: str) -> None:
        if a not in self.partners and a.data is not None and b.data is not None:
            self.bind_buffers(a, b, place)
            if a.data.tobytes() != b.data.tobytes():
                self.differ(f"{place}.data", np.array2string(a.data), np.array2string(b.data))
        elif self.partners.get(a, a) is not b:
            self.differ(place, a.name, b.name)

    def compare_functions(self, a: Function, b: Function, place: str) -> None:
        self.compare(a.name, b.name, f"{place}.name")
        if len(a.parameters) != len(b.parameters):
            self.differ(f"{place}.parameters", f"{len(a.parameters)} of them", f"{len(b.parameters)} of them")
        for (v, _), (w, _) in zip(a.numbers, b.numbers, strict=False):
            self.bind(v, w, f"{place}.numbers")
        for i, (x, y) in enumerate(zip(a.parameters, b.parameters, strict=True)):
            at = f"{place}.parameters[{i}]"
            for e, g in zip((*x.shape, *(x.strides or ())), (*y.shape, *(y.strides or ())), strict=False):
                if isinstance(e, Var) and isinstance(g, Var):
                    self.bind(e, g, f"{at}.shape")
            self.bind_buffers(x, y, at)
            self.compare((x in a.outputs, x in a.aliased), (y in b.outputs, y in b.aliased), f"{at} (output, aliased)")
        self.compare_many(a.numbers, b.numbers, f"{place}.numbers")
        needs, other = (tuple((r.parameter, r.dimension, r.slack) for r in f.requirements) for f in (a, b))
        self.compare_many(needs, other, f"{place}.requirements")
        self.compare(a.denormals, b.denormals, f"{place}.denormals")
        self.compare(a.body, b.body, f"{place}.body")


def _statements(s: Any) -> tuple[Stmt, ...]:
    flat = sequence(s)
    return flat.body if isinstance(flat, Seq) else (flat,)
