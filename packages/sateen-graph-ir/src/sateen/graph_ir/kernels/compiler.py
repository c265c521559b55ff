"""Object code of a network's kernels: from the cache, from worker processes, or compiled here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from sateen.graph_ir.ir import Node
from sateen.graph_ir.kernels.groups import note_group
from sateen.runtime import Target
from sateen.runtime.errors import SateenError
from sateen.tensor_ir import ObjectCache
from sateen.tensor_ir.codegen import CompilerPool, ObjectCode, cache_key, compile_functions
from sateen.tensor_ir.ir import Function


@dataclass(frozen=True, slots=True, eq=False)
class _Begun:
    """A kernel being compiled: the group that it computes, its key if it is to be cached, and the future of its
    code."""

    node: Node
    key: str
    code: Callable[[], ObjectCode]


class KernelCompiler:
    """Compiles kernels in the order in which they begin; workers compile while the caller lowers others.

    Only the network's entry calls the kernels, with arguments that it has planned, so they check none.
    Neither `workers` nor `cache` changes the result.
    """

    def __init__(self, target: Target, workers: CompilerPool | None = None, cache: ObjectCache | None = None) -> None:
        self._target = target
        self._workers = workers
        self._cache = cache
        self._begun: list[_Begun] = []

    def begin(self, function: Function, node: Node) -> Callable[[], ObjectCode]:
        """Start to compile the kernel of a fused node; what it gives waits for the code, or raises CodegenError with
        nodes and types."""
        begun = self._begin(function, node)
        self._begun.append(begun)
        return partial(self._finished, begun)

    def _begin(self, function: Function, node: Node) -> _Begun:
        key = ""
        if self._cache is not None:
            key = cache_key([function], self._target, internal=True)
            kept = self._cache.read(key)
            if kept is not None:
                return _Begun(node, "", lambda: kept)
        if self._workers is not None:
            code = self._workers.submit(function, self._target, internal=True).result
        else:
            code = partial(compile_functions, [function], self._target, internal=True)
        return _Begun(node, key, code)

    def finish(self) -> list[bytes]:
        """The code of all kernels. Raises CodegenError with nodes and types for one that can't be compiled."""
        return [self._finished(begun).code for begun in self._begun]

    def _finished(self, begun: _Begun) -> ObjectCode:
        try:
            code = begun.code()
        except SateenError as error:
            note_group(error, begun.node)
            raise
        if self._cache is not None and begun.key:
            self._cache.write(begun.key, code)
        return code
