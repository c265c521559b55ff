"""Functions of loop IR to object code of a target: the unit of caching and of worker processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import llvmlite.binding as llvm

from sateen.runtime.errors import CodegenError, TargetError
from sateen.runtime.target import Target
from sateen.tensor_ir.codegen.c_family.identifiers import check_public
from sateen.tensor_ir.codegen.llvm import (
    CodeReport,
    ModuleText,
    ParsedModule,
    compile_text,
    emit_module,
    lacks,
    target_machine,
)
from sateen.tensor_ir.functions import FUNCTIONS, MathFunction
from sateen.tensor_ir.functions.spelling import LlvmIntrinsic
from sateen.tensor_ir.ir.external import IMPORT, imported_texts
from sateen.tensor_ir.ir.stmt import Function
from sateen.tensor_ir.lowering.expand_calls import DEFAULT_RULES, IntrinsicRules
from sateen.tensor_ir.lowering.index_width import shorten_host_indices
from sateen.tensor_ir.lowering.pipelines import LLVM, Calls, Observer, Setting
from sateen.tensor_ir.lowering.remarks import Listener, unheard
from sateen.tensor_ir.targets import Machine, System, architecture_of, assumed_features, features_of


@dataclass(frozen=True, slots=True)
class ObjectCode:
    """Relocatable object code that defines `symbols`, public functions of the ABI, which need `sateen_default_host`."""

    code: bytes
    symbols: tuple[str, ...]
    report: CodeReport


def generate(
    functions: Sequence[Function],
    target: Target,
    rules: IntrinsicRules = DEFAULT_RULES,
    *,
    internal: bool = False,
    listener: Listener = unheard,
    observe: Observer | None = None,
) -> ModuleText:
    """LLVM text of the functions; `listener` gets the remarks of passes, `observe` the functions before and after each.
    Raises CodegenError for anything that the target can't express."""
    if target.kind != "llvm":
        raise TargetError(f"expected a target of kind llvm, which LLVM makes code for, found {target.kind!r}")
    names = [f.name for f in functions]
    for name in names:
        check_public(name)
    if len(set(names)) != len(names):
        raise CodegenError(f"expected functions of different names, found {', '.join(names)}")
    kept = rules.unchanged(f for f in FUNCTIONS.values() if _is_instruction(f, target))
    calls = Calls(rules.without(lacks(*_machine(target))), kept)
    bits = 8 * architecture_of(target).abi.pointer_bytes
    features = features_of(target)
    setting = Setting(calls, Machine.of(target), listener, lambda i: i.code_for(features) is not None)
    imported = {text: IMPORT for function in functions for text in imported_texts(function)}
    programs = [shorten_host_indices(LLVM.run(function, setting, observe), bits) for function in functions]
    module = emit_module(programs, target.triple, internal=internal, features=features)
    return replace(module, imports={**module.imports, **imported})


def _is_instruction(function: MathFunction, target: Target) -> bool:
    """Whether the processor has an instruction for a function that other processors compute by formulas."""
    spelling = function.llvm
    return isinstance(spelling, LlvmIntrinsic) and bool(spelling.feature) and spelling.feature in features_of(target)


def compile_functions(
    functions: Sequence[Function],
    target: Target,
    rules: IntrinsicRules = DEFAULT_RULES,
    observe: Observer | None = None,
    *,
    internal: bool = False,
    optimised: bool = True,
) -> ObjectCode:
    """Object code of the functions; with `internal`, of functions that only `Invoke` calls, which check no
    arguments. For long functions that only call others, code that is not `optimised` is made in a tenth of the
    time."""
    module = generate(functions, target, rules, internal=internal, observe=observe)
    symbols = () if internal else tuple(f.name for f in functions)
    return ObjectCode(parsed(module, target, optimised=optimised).object_code(), symbols, module.report)


def parsed(module: ModuleText, target: Target, *, optimised: bool = True) -> ParsedModule:
    """The parsed LLVM module for a target."""
    return compile_text(
        module.text,
        machine_of(target, optimised=optimised),
        has_register_tile=module.has_register_tile,
        intrinsics=module.intrinsics,
        imports=module.imports,
    )


def compile_for(text: str, target: Target) -> bytes:
    """Object code of LLVM text that has no tile in registers."""
    return compile_text(text, machine_of(target)).object_code()


def machine_of(target: Target, *, optimised: bool = True) -> llvm.TargetMachine:
    """LLVM's machine for a complete target. Raises TargetError for names that LLVM does not know or can't take."""
    triple, cpu, features, abi = _machine(target)
    return target_machine(triple, cpu, features, abi=abi, optimised=optimised)


def _machine(target: Target) -> tuple[str, str, str, str]:
    """LLVM's words for a target: triple, processor, features and calls."""
    abi = ""
    for name, value in target.options:
        if name != "mabi":
            raise TargetError(
                f"target {target}: expected no option -{name}, which LLVM is not told of, found {value!r}"
            )
        abi = value
    architecture = architecture_of(target)
    missing = sorted(architecture.call_features - features_of(target))
    if missing and not abi and not target.cpu and System.of(target.triple) is System.LINUX:
        raise TargetError(
            f"target {target}: expected {', '.join(missing)}, whose registers pass numbers in calls on Linux, found it "
            "removed; give an ABI without them by -mabi"
        )
    assumed = sorted(assumed_features(target) - target.enabled_features)
    features = [*architecture.tuning, *target.features, *(f"+{feature}" for feature in assumed)]
    return target.triple, target.cpu, ",".join(features), abi
