"""The passes of loop IR in order: those for the nest of a schedule, then those for each kind of target.

Nothing else rewrites code: an emitter writes the text of its pipeline's result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from sateen.runtime.device import opencl
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir.stmt import Function, Stmt
from sateen.tensor_ir.lowering.check_expansion import check_expansion
from sateen.tensor_ir.lowering.cut_expressions import cut_expressions
from sateen.tensor_ir.lowering.expand_calls import IntrinsicRules, expand_calls
from sateen.tensor_ir.lowering.index_width import shorten_fixed_indices, shorten_indices
from sateen.tensor_ir.lowering.insert_barriers import insert_barriers
from sateen.tensor_ir.lowering.partition_loops import partition_loops
from sateen.tensor_ir.lowering.refuse_flushing import refuse_flushing
from sateen.tensor_ir.lowering.simplify import simplify
from sateen.tensor_ir.lowering.split_host_device import DeviceProgram, split_host_device
from sateen.tensor_ir.lowering.split_tasks import HostProgram, split_tasks
from sateen.tensor_ir.lowering.tighten_loops import tighten_loops

Pass = Callable[[Stmt, Analyzer], Stmt]

PASSES: tuple[Pass, ...] = (
    cut_expressions,
    simplify,
    tighten_loops,
    partition_loops,
    simplify,
    tighten_loops,
    simplify,
)
"""The passes for a nest, in order; the verifier runs after each that changes it."""


@dataclass(frozen=True, slots=True)
class Calls:
    """The treatment of calls: the rules that rewrite them, and the names that the emitter spells."""

    rules: IntrinsicRules
    kept: frozenset[str]


FunctionPass = Callable[[Function, Calls], Function]
Observer = Callable[[str, Function, Function], None]
"""Gets the name of a pass, the function before it and the function after it."""
Program = TypeVar("Program", HostProgram, DeviceProgram)


@dataclass(frozen=True, slots=True)
class Pipeline(Generic[Program]):
    """The passes of a kind of target, by name, and the split whose result its emitter writes."""

    passes: tuple[tuple[str, FunctionPass], ...]
    split: Callable[[Function], Program]

    def run(self, function: Function, calls: Calls, observe: Observer | None = None) -> Program:
        """The emitter's input for a function. Raises CodegenError and LoweringError as the passes do."""
        for name, transform in self.passes:
            before, function = function, transform(function, calls)
            if observe is not None:
                observe(name, before, function)
        return self.split(function)


DEVICE_INDEX_BITS = 32
"""The bits of a kernel's indices if they suffice: graphics processors are made for this width."""
C_INDEX_BITS = 32
"""The bits that C's fastest type for indices has at least: two registers are one too many on a small processor."""


def _expand(function: Function, calls: Calls) -> Function:
    return replace(function, body=expand_calls(function.body, calls.rules, calls.kept))


LLVM = Pipeline(
    (
        ("expand_calls", _expand),
        ("check_expansion", lambda function, _: check_expansion(function)),
    ),
    split_tasks,
)
C = Pipeline(
    (
        ("refuse_flushing", lambda function, _: refuse_flushing(function)),
        ("expand_calls", _expand),
    ),
    lambda function: shorten_fixed_indices(split_tasks(function), C_INDEX_BITS),
)
OPENCL = Pipeline(
    (
        ("refuse_flushing", lambda function, _: refuse_flushing(function)),
        ("expand_calls", _expand),
        ("insert_barriers", lambda function, _: replace(function, body=insert_barriers(function.body))),
    ),
    lambda function: shorten_indices(split_host_device(function, opencl()), DEVICE_INDEX_BITS),
)
