"""Storage that a kernel needs while it runs and its caller provides."""

from __future__ import annotations

from dataclasses import replace

from sateen.tensor_ir.ir import Allocate, Buffer, For, Function, LoopKind, Scope, StatementRewriter, Stmt
from sateen.tensor_ir.lowering import is_on_stack


def hoist_scratch(function: Function, *, is_on_device: bool = False) -> tuple[Function, tuple[int, ...]]:
    """Make large storage of constant size a parameter, after the others; give the bytes of each.

        function f(x: float32[8], y: out float32[8]):          function f(x: float32[8], y: out float32[8],
          allocate t: float32[4096]:                  =>                  t: out float32[4096]):
            …                                                    …

    Storage that fits on the stack stays, if the host has one: that of a device has not. So does storage inside a
    parallel loop: each thread needs its own, and only the host knows the number of threads.
    """
    hoisting = _Hoisting(keeps_small=not is_on_device)
    body = hoisting.rewrite(function.body)
    found = tuple(hoisting.sizes)
    if not found:
        return function, ()
    parameters, outputs = (*function.parameters, *found), function.outputs | set(found)
    return replace(function, parameters=parameters, outputs=outputs, body=body), tuple(hoisting.sizes.values())


class _Hoisting(StatementRewriter):
    def __init__(self, *, keeps_small: bool) -> None:
        self.keeps_small = keeps_small
        self.sizes: dict[Buffer, int] = {}

    def rewrite_For(self, s: For) -> Stmt:
        return s if s.kind in (LoopKind.PARALLEL, LoopKind.THREAD) else self.descend(s)

    def rewrite_Allocate(self, s: Allocate) -> Stmt:
        elements = s.buffer.size()
        if s.scope is not Scope.GLOBAL or elements is None or (self.keeps_small and is_on_stack(s.buffer)):
            return self.descend(s)
        self.sizes[s.buffer] = elements * s.buffer.dtype.bytes
        return self.rewrite(s.body)
