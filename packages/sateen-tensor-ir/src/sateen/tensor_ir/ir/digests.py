"""A digest of a function's structure: equal for functions that differ only in names, linear in the graph's nodes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Address, Buffer, Load
from sateen.tensor_ir.ir.device_work import Copy, Launch, Wait
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.stmt import (
    Allocate,
    Barrier,
    Evaluate,
    For,
    Function,
    If,
    Intrinsic,
    Invoke,
    Let,
    Prefetch,
    Seq,
    Shuffle,
    Store,
    Timestamp,
    While,
)
from sateen.tensor_ir.ir.visit import Node, children, unknown


def digest(function: Function) -> str:
    """SHA-256, in hexadecimal, over everything except names; variables and buffers count by the order of their first
    use.

    A shared expression is visited once, so that the time does not grow with the size of its tree.
    """
    writer = _Writer()
    head = [writer.buffer(b) + str(b in function.outputs) + str(b in function.aliased) for b in function.parameters]
    head += [writer.node(symbol) + writer.buffer(number) for symbol, number in function.numbers]
    head += [writer.buffer(r.parameter) + f"[{r.dimension}]" + writer.node(r.slack) for r in function.requirements]
    parts = (head, function.denormals, writer.node(function.body))
    return hashlib.sha256(repr(parts).encode()).hexdigest()


class _Writer:
    def __init__(self) -> None:
        self.numbers: dict[Var | Buffer, int] = {}
        self.done: dict[int, tuple[Expr, str]] = {}

    def number(self, item: Var | Buffer) -> int:
        return self.numbers.setdefault(item, len(self.numbers))

    def buffer(self, b: Buffer) -> str:
        """Everything about a buffer except its name at its first use, then only its number."""
        if b in self.numbers:
            return f"b{self.numbers[b]}"
        own = self.number(b)
        shape = [self.node(e) for e in b.shape]
        strides = None if b.strides is None else [self.node(e) for e in b.strides]
        data = None if b.data is None else hashlib.sha256(b.data.tobytes()).hexdigest()
        return repr((own, shape, strides, str(b.dtype), b.scope.value, b.alignment, data, str(b.device)))

    def node(self, node: Node) -> str:
        if isinstance(node, Var):
            return f"v{self.number(node)}:{node.dtype}"
        if isinstance(node, Expr):
            known = self.done.get(id(node))
            if known is None:
                known = self.done[id(node)] = (node, self.hashed(node))
            return known[1]
        return self.hashed(node)

    def hashed(self, node: Node) -> str:
        """A digest of constant length for nodes of any depth: a repr inside a repr doubles its backslashes at each
        level."""
        return hashlib.sha256(repr((*self.facts(node), *map(self.node, children(node)))).encode()).hexdigest()

    def facts(self, node: Node) -> Iterator[str]:
        """The fields that distinguish a node besides its children."""
        yield type(node).__name__
        match node:
            case ex.Const():
                yield f"{node.value!r}:{node.dtype}"
            case ex.Cast() | ex.Reinterpret():
                yield str(node.dtype)
            case ex.Call():
                yield f"{node.name}:{node.dtype}"
            case Load():
                yield self.buffer(node.buffer)
            case Address():
                yield f"{self.buffer(node.buffer)} {node.access}"
            case Store() | Prefetch() | Allocate():
                yield self.buffer(node.buffer)
            case For():
                yield f"v{self.number(node.var)} {node.kind.value} {node.thread} {node.pragmas}"
            case Let():
                yield f"v{self.number(node.var)}"
            case Barrier():
                yield node.scope.value
            case Invoke():
                yield repr([node.callee, *map(self.buffer, node.buffers)])
            case Launch():
                yield repr([node.kernel, str(node.queue), node.block, *map(self.buffer, node.buffers)])
            case Copy():
                yield repr([str(node.queue), self.buffer(node.target), self.buffer(node.source)])
            case Wait():
                yield f"{node.queue} {node.by}"
            case Intrinsic():
                code, own = node.instruction, _Writer()
                yield repr([code.name, code.llvm, code.c99, code.opencl, node.extents, *map(self.buffer, node.buffers)])
                yield repr([*map(own.buffer, code.buffers), "" if code.body is None else own.node(code.body)])
            case Shuffle():
                yield f"{self.buffer(node.buffer)} {node.width}"
            case Timestamp():
                yield f"{self.buffer(node.buffer)}[{node.index}]"
            case ex.Binary() | ex.Not() | ex.Select() | ex.Piecewise() | Seq() | If() | While() | Evaluate():
                pass
            case _:
                raise unknown(node, "the digest")
