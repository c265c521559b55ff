"""The buffers that a node itself reads and writes, without those of the nodes beneath it; the devices of a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sateen.runtime.device import Device
from sateen.tensor_ir.ir.buffer import Address, Buffer, Load
from sateen.tensor_ir.ir.device_work import Copy, Launch, Wait
from sateen.tensor_ir.ir.stmt import Allocate, Function, Intrinsic, Invoke, Shuffle, Store, Timestamp
from sateen.tensor_ir.ir.visit import Node, walk

Rules = Mapping[type[Node], Callable[[Any], tuple[Buffer, ...]]]

_READ: Rules = {
    Load: lambda node: (node.buffer,),
    Address: lambda node: (node.buffer,) if "r" in node.access else (),
    Invoke: lambda node: node.buffers,
    Launch: lambda node: node.buffers,
    Copy: lambda node: (node.source,),
    Intrinsic: lambda node: node.buffers[len(node.instruction.outputs) :],
}
_WRITTEN: Rules = {
    Store: lambda node: (node.buffer,),
    Address: lambda node: (node.buffer,) if "w" in node.access else (),
    Shuffle: lambda node: (node.buffer,),
    Timestamp: lambda node: (node.buffer,),
    Invoke: lambda node: node.buffers,
    Launch: lambda node: node.buffers,
    Copy: lambda node: (node.target,),
    Intrinsic: lambda node: node.buffers[: len(node.instruction.outputs)],
}


def read_by(node: Node) -> tuple[Buffer, ...]:
    """The buffers that a load reads, and that an instruction, a kernel or a function may read through its operands."""
    return _of(_READ, node)


def written_by(node: Node) -> tuple[Buffer, ...]:
    """The buffers that a statement, or a function that is given an address, may write."""
    return _of(_WRITTEN, node)


def all_read(*nodes: Node) -> set[Buffer]:
    """The buffers that the nodes, or nodes beneath them, may read."""
    return _all(_READ, nodes)


def all_written(*nodes: Node) -> set[Buffer]:
    """The buffers that the nodes, or nodes beneath them, may write."""
    return _all(_WRITTEN, nodes)


def _of(rules: Rules, node: Node) -> tuple[Buffer, ...]:
    rule = rules.get(type(node))
    return () if rule is None else rule(node)


def _all(rules: Rules, nodes: Iterable[Node]) -> set[Buffer]:
    found: set[Buffer] = set()
    for node in nodes:
        for n in walk(node):
            rule = rules.get(type(n))
            if rule is not None:
                found.update(rule(n))
    return found


def devices_of(function: Function) -> tuple[Device, ...]:
    """The devices, other than the host, that a function has memory of or gives work to."""
    buffers = [*function.parameters, *(n.buffer for n in walk(function.body) if isinstance(n, Allocate))]
    queues = (n.queue.device for n in walk(function.body) if isinstance(n, (Launch, Copy, Wait)))
    found = dict.fromkeys((*(b.on_device for b in buffers), *queues))
    return tuple(d for d in found if d is not None)
