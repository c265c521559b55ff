"""Kernels as functions of loop IR, lowered here one after the other."""

from __future__ import annotations

from collections.abc import Callable

from sateen.graph_ir.ir import Node
from sateen.graph_ir.kernels.facts import KernelFacts
from sateen.graph_ir.kernels.groups import lower_kernel
from sateen.runtime import DeviceKind
from sateen.tensor_ir import Machine
from sateen.tensor_ir.ir import Function


class LoweredKernels:
    """Lowers the kernels of a network: a KernelMaker that keeps their functions by kind of device.

    `begin` gets each function as soon as it is lowered, and the first fused node that it computes.
    """

    def __init__(self, machine: Machine, begin: Callable[[Function, Node], None]) -> None:
        self._machine = machine
        self._begin = begin
        self._functions: dict[tuple[DeviceKind, str], Function] = {}
        """By kind of device and digest."""

    def begin(self, node: Node, name: str) -> Callable[[], KernelFacts]:
        """Lower the kernel of a fused node; one that does the same as another is not kept."""
        kind = node.outputs[0].device.kind
        kernel = lower_kernel(node, name, self._machine.at(kind))
        key = kind, kernel.facts.digest
        if key not in self._functions:
            self._functions[key] = kernel.function
            self._begin(kernel.function, node)
        return lambda: kernel.facts

    def on(self, kind: DeviceKind) -> tuple[Function, ...]:
        """The functions for devices of a kind, in the order in which they began."""
        return tuple(function for (where, _), function in self._functions.items() if where is kind)
