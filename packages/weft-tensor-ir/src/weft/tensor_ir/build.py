"""From a schedule to a function that runs: lower, generate code, load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import llvmlite.binding as llvm

from weft.runtime.device import DeviceKind
from weft.runtime.module import Module
from weft.runtime.signature import Extent, Parameter, Signature
from weft.runtime.target import Target
from weft.tensor_ir.codegen.llvm import compile_text, emit_module, target_machine
from weft.tensor_ir.codegen.llvm.checks import symbols_of
from weft.tensor_ir.codegen.llvm.jit import LoadedObject
from weft.tensor_ir.codegen.pool import pool_text
from weft.tensor_ir.ir.buffer import Buffer
from weft.tensor_ir.ir.expr import Expr, Var
from weft.tensor_ir.ir.stmt import Function
from weft.tensor_ir.ir.visit import substitute
from weft.tensor_ir.lower import lower
from weft.tensor_ir.schedule import Schedule
from weft.tensor_ir.te.tensor import Tensor


def signature_of(function: Function) -> Signature:
    """What the compiled function takes."""
    symbols = {v: v.name for v in symbols_of(function)}
    parameters = tuple(
        Parameter(
            b.name, b.dtype, tuple(_extent(e) for e in b.shape),
            None if b.strides is None else tuple(_extent(e) for e in b.strides),
            b.alignment, DeviceKind.CPU, b in function.outputs,
        )
        for b in function.parameters
    )
    assert symbols is not None
    return Signature(function.name, parameters)


def _extent(e: Expr) -> Extent:
    from weft.tensor_ir.ir.expr import Const

    if isinstance(e, Const):
        return int(e.value)
    return e.name if isinstance(e, Var) else "expression"


@cache
def _jit(cpu: str, features: str) -> llvm.LLJIT:
    return llvm.create_lljit_compiler(target_machine(llvm.get_process_triple(), cpu, features, jit=True), use_jit_link=False)


@cache
def _pool(cpu: str, features: str) -> LoadedObject:
    triple = llvm.get_process_triple()
    code = compile_text(pool_text(triple), target_machine(triple, cpu, features))
    assert isinstance(code, bytes)
    return LoadedObject(_jit(cpu, features), [code], ["weft_default_host"])


def build(schedule: Schedule, arguments: Sequence[Tensor], target: str = "llvm", name: str = "kernel") -> Module:
    function = lower(schedule, arguments, name)
    return build_functions([function])


def object_of(functions):
    text, report = emit_module(functions)
    return text, report


def build_functions(functions: Sequence[Function], cpu=None) -> Module:
    cpu = cpu or llvm.get_host_cpu_name()
    features = llvm.get_host_cpu_features().flatten()
    text, report = emit_module(functions)
    triple = llvm.get_process_triple()
    code = compile_text(text, target_machine(triple, cpu, features))
    pool = _pool(cpu, features)
    loaded = LoadedObject(_jit(cpu, features), [code, *POOL(cpu, features)], [f.name for f in functions] + ["weft_default_host"])
    return Module([signature_of(f) for f in functions], {f.name: loaded.address(f.name) for f in functions}, owner=loaded, default_host=loaded.address("weft_default_host"))


@cache
def POOL(cpu, features):
    triple = llvm.get_process_triple()
    return (compile_text(pool_text(triple), target_machine(triple, cpu, features)),)
