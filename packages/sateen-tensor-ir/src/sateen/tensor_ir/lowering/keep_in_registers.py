"""What plain programs leave in memory, and can be in registers: the passes in order (docs/design/promotion.md)."""

from __future__ import annotations

from sateen.tensor_ir.ir.buffer import Scope
from sateen.tensor_ir.ir.stmt import Allocate, Function
from sateen.tensor_ir.ir.visit import walk
from sateen.tensor_ir.lowering.cut_into_strips import cut_into_strips
from sateen.tensor_ir.lowering.hoist_loads import hoist_loads
from sateen.tensor_ir.lowering.promote_accumulators import promote_accumulators
from sateen.tensor_ir.lowering.promote_buffers import promote_buffers
from sateen.tensor_ir.lowering.remarks import Listener, unheard
from sateen.tensor_ir.lowering.split_vectors import split_vectors
from sateen.tensor_ir.lowering.unroll_loops import unroll_loops
from sateen.tensor_ir.targets import Machine


def keep_in_registers(function: Function, machine: Machine, listener: Listener = unheard) -> Function:
    """The function with its invariant loads, small buffers and sums in registers.

    A schedule that puts stages in registers itself has decided about loops and buffers; only its other sums are kept.
    """
    if not any(isinstance(n, Allocate) and n.scope is Scope.REGISTER for n in walk(function.body)):
        function = split_vectors(function, machine)
        function = unroll_loops(function, machine, listener)
        function = promote_buffers(function, machine, listener)
        function = cut_into_strips(function, machine, listener)
        function = hoist_loads(function, machine, listener)
    return promote_accumulators(function, machine, listener)
