"""Functions of loop IR as kernels that LLVM makes for graphics processors."""

from __future__ import annotations

from collections.abc import Sequence

import llvmlite.binding as llvm

from sateen.runtime.display import did_you_mean
from sateen.runtime.errors import TargetError
from sateen.runtime.target import Target
from sateen.tensor_ir.codegen.llvm import (
    GCN,
    PTX,
    KernelLanguage,
    ParsedModule,
    compile_text,
    emit_kernels,
    initialise,
    processors_of,
)
from sateen.tensor_ir.functions import Lack
from sateen.tensor_ir.intrinsics.code import WarpCall
from sateen.tensor_ir.ir.stmt import Function
from sateen.tensor_ir.lowering.expand_calls import IntrinsicRules
from sateen.tensor_ir.lowering.pipelines import CUDA, ROCM, Calls, Observer, Pipeline, Setting
from sateen.tensor_ir.lowering.split_host_device import DeviceProgram
from sateen.tensor_ir.targets import Gpu, Machine


def ptx(
    functions: Sequence[Function], target: Target, rules: IntrinsicRules, observe: Observer | None = None
) -> tuple[str, tuple[DeviceProgram, ...]]:
    """PTX of all kernels of functions, and for each function what a host launches."""
    module, programs = _kernels(functions, target, rules, observe, CUDA, PTX)
    return module.assembly(), programs


def gcn_object(
    functions: Sequence[Function], target: Target, rules: IntrinsicRules, observe: Observer | None = None
) -> tuple[bytes, tuple[DeviceProgram, ...]]:
    """A relocatable object with all kernels of functions and their descriptors, and what a host launches."""
    module, programs = _kernels(functions, target, rules, observe, ROCM, GCN)
    return module.object_code(), programs


def _kernels(
    functions: Sequence[Function],
    target: Target,
    rules: IntrinsicRules,
    observe: Observer | None,
    pipeline: Pipeline[DeviceProgram],
    language: KernelLanguage,
) -> tuple[ParsedModule, tuple[DeviceProgram, ...]]:
    machine, gpu = _machine(target, language), Gpu.of(target)
    assert gpu is not None
    calls = Calls(rules.without({Lack.LIBRARY}), frozenset())
    features = _features(target, language)
    setting = Setting(calls, Machine.of(target), spells=lambda i: isinstance(i.code_for(features), WarpCall))
    programs = tuple(pipeline.run(function, setting, observe) for function in functions)
    layout = f'target datalayout = "{machine.target_data}"\n'
    return compile_text(layout + emit_kernels(programs, language, gpu, features), machine), programs


def _features(target: Target, language: KernelLanguage) -> frozenset[str]:
    """The names of all generations of CUDA up to a processor's own; none of others."""
    if language is not PTX:
        return frozenset()
    generation = int("".join(filter(str.isdigit, processor_of(target, language))))
    return frozenset(f"sm_{n}" for n in range(generation + 1))


def _machine(target: Target, language: KernelLanguage) -> llvm.TargetMachine:
    """LLVM's machine for a target. Raises TargetError for a processor that LLVM does not know."""
    triple, cpu = language.architecture.triple, processor_of(target, language)
    return llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, opt=2)


def processor_of(target: Target, language: KernelLanguage = PTX) -> str:
    """The processor of a target, the oldest one by default. Raises TargetError for one that LLVM does not know."""
    architecture = language.architecture
    cpu = target.cpu or architecture.levels[-1].name
    initialise()
    if cpu not in {row.name for row in architecture.rows}:
        known = processors_of(architecture.triple)
        if cpu not in known:
            close = did_you_mean(cpu, known)
            raise TargetError(f"LLVM knows no processor {cpu!r} for {architecture.name}{close}")
    return cpu
