"""Kernels of groups that nothing else has to lower: from the cache, from workers, or made here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from functools import cache as once
from functools import partial
from typing import Any

from sateen.graph_ir.ir import Node
from sateen.graph_ir.kernels.compiler import KernelCompiler
from sateen.graph_ir.kernels.facts import KernelFacts
from sateen.graph_ir.kernels.group_requests import facts_key, facts_of, group_text
from sateen.graph_ir.kernels.groups import lower_kernel, note_group
from sateen.graph_ir.kernels.kernel_pool import KernelPool
from sateen.graph_ir.ops import Fused
from sateen.runtime import Target
from sateen.runtime.errors import SateenError
from sateen.tensor_ir import Machine, ObjectCache
from sateen.tensor_ir.codegen import CompilerPool, ObjectCode, code_key, code_of


@dataclass(frozen=True, slots=True, eq=False)
class _Made:
    facts: KernelFacts
    code: Callable[[], ObjectCode]


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """A group to make a kernel of, under a name, and the key of its facts, '' where they are not cached."""

    node: Node
    name: str
    key: str


class GroupCompiler:
    """Makes the kernels of a network: a KernelMaker that keeps their code.

    A group whose text is known to the cache is neither lowered nor compiled. A KernelPool does both for the others;
    with a CompilerPool they are lowered here, as are those that have no text, and all for a `machine` that is not that
    of the target. Neither `workers` nor `cache` changes the result.
    """

    def __init__(
        self,
        target: Target,
        workers: CompilerPool | None = None,
        cache: ObjectCache | None = None,
        machine: Machine | None = None,
    ) -> None:
        own = Machine.of(target)
        self._target = target
        self._machine = own if machine is None else machine
        self._pool = workers if isinstance(workers, KernelPool) and self._machine == own else None
        self._cache = cache
        self._functions = KernelCompiler(target, workers, cache)
        self._groups: dict[str, _Group] = {}
        self._begun: dict[str, Callable[[], _Made]] = {}
        self._kept: set[str] = set()
        """The digests of kernels in the cache."""

    def begin(self, node: Node, name: str) -> Callable[[], KernelFacts]:
        """Begin the kernel of a fused node."""
        assert isinstance(node.op, Fused)
        text = group_text(node.op.body)
        key = facts_key(text, self._machine, self._target) if text and self._cache is not None else ""
        group = self._groups[name] = _Group(node, name, key)
        made = self._begun[name] = once(self._making(group, text))
        return lambda: made().facts

    def finish(self, names: Sequence[str]) -> list[bytes]:
        """The code of kernels by name. Raises CodegenError with nodes and types for one that can't be compiled."""
        return [self._begun[name]().code().code for name in names]

    def note(self, error: Exception, name: str) -> None:
        """Add the group of a kernel to an error about its code."""
        note_group(error, self._groups[name].node)

    def _making(self, group: _Group, text: str) -> Callable[[], _Made]:
        known = self._known(group)
        if known is not None:
            return lambda: known
        if text and self._pool is not None:
            return partial(self._received, group, self._pool.submit_group(text, group.name, self._target))
        made = self._lowered(group)
        return lambda: made

    def _known(self, group: _Group) -> _Made | None:
        """The kernel of a group whose facts and code are in the cache. Of kernels that do the same, one has code."""
        if self._cache is None or not group.key:
            return None
        fields = self._cache.read_facts(group.key)
        if fields is None:
            return None
        facts = facts_of(fields)
        code = self._cache.read(self._code_key(group.name, facts))
        if code is not None:
            self._kept.add(facts.digest)
            return _Made(facts, lambda: code)
        return _Made(facts, lambda: self._lowered(group).code()) if facts.digest in self._kept else None

    def _received(self, group: _Group, answered: Future[dict[str, Any]]) -> _Made:
        try:
            fields = answered.result()
            if fields["facts"] is None:
                return self._lowered(group)
            facts, code = facts_of(fields["facts"]), code_of(fields)
        except SateenError as error:
            note_group(error, group.node)
            raise
        if self._cache is not None:
            self._cache.write(self._code_key(group.name, facts), code)
        self._keep(group, facts)
        return _Made(facts, lambda: code)

    def _lowered(self, group: _Group) -> _Made:
        kernel = lower_kernel(group.node, group.name, self._machine)
        self._keep(group, kernel.facts)
        return _Made(kernel.facts, self._functions.begin(kernel.function, group.node))

    def _keep(self, group: _Group, facts: KernelFacts) -> None:
        if self._cache is not None and group.key:
            self._cache.write_facts(group.key, asdict(facts))

    def _code_key(self, name: str, facts: KernelFacts) -> str:
        return code_key([(name, facts.digest)], self._target, internal=True)
