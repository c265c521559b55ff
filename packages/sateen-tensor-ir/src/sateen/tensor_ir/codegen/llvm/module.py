"""A module of LLVM text from functions of loop IR, as their pipeline gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sateen.runtime.signature import Metadata
from sateen.runtime.target import Target
from sateen.tensor_ir.arith import Analyzer, constant
from sateen.tensor_ir.codegen.llvm.checks import public_function
from sateen.tensor_ir.codegen.llvm.environment import Environment
from sateen.tensor_ir.codegen.llvm.expressions import Nothing
from sateen.tensor_ir.codegen.llvm.frame import Frame
from sateen.tensor_ir.codegen.llvm.long_integers import long_integers_text
from sateen.tensor_ir.codegen.llvm.module_state import CodeReport, ModuleState
from sateen.tensor_ir.codegen.llvm.statements import Statements
from sateen.tensor_ir.codegen.llvm.values import LlvmValue
from sateen.tensor_ir.codegen.llvm.writer import FunctionWriter
from sateen.tensor_ir.codegen.signature import symbols_of
from sateen.tensor_ir.codegen.status import STATUS_MESSAGES
from sateen.tensor_ir.host import host_text
from sateen.tensor_ir.ir.access import devices_of
from sateen.tensor_ir.ir.buffer import Buffer, Scope
from sateen.tensor_ir.ir.stmt import Allocate, Function
from sateen.tensor_ir.ir.visit import walk
from sateen.tensor_ir.lowering.split_tasks import HostProgram
from sateen.tensor_ir.targets import architecture_named, features_of


@dataclass(frozen=True, slots=True)
class ModuleText:
    """LLVM text of a module, the counts of its accesses, and whether a function has a tile in registers."""

    text: str
    report: CodeReport
    has_register_tile: bool
    intrinsics: tuple[str, ...] = ()
    """Those of LLVM that users call by name."""
    imports: Mapping[str, str] = field(default_factory=dict)
    """LLVM texts of users', which define functions that the module calls, and where errors say that they are from."""


def emit_module(
    programs: Sequence[HostProgram], triple: str, *, internal: bool = False, features: frozenset[str] = frozenset()
) -> ModuleText:
    """LLVM text with each function's kernel and its public function, and the counts of accesses.

    With `internal` there are kernels alone, which other functions call (`Invoke`) and nothing else. `features` are what
    the processor has, by LLVM's names: intrinsics ask for them. Raises TargetError for an architecture that is not in
    sateen.tensor_ir.targets. Raises CodegenError for anything that the target can't express: thread loops, intrinsics
    without code, register indices that vary, nested vectorization, an extent that no argument gives, denormals to flush
    on an architecture other than x86-64, AArch64 and ARM.
    """
    architecture = architecture_named(triple)
    module = ModuleState(architecture, triple, features)
    text: list[str] = []
    for program in programs:
        text.append(_kernel(module, program))
        if not internal:
            text.append(public_function(program, architecture))
    constants = [constant_text(b, name) for b, name in module.constants.items()]
    modes = architecture.float_mode.declarations if architecture.float_mode else ()
    constants += [_string(name.removeprefix("@"), text, "private") for text, name in module.texts.items()]
    head = [*modes, *module.declarations, "declare ptr @sateen_default_host()", *constants, *module.routines]
    tail = [f"attributes #0 = {{ nounwind {architecture.attributes} }}", '!0 = !{!"branch_weights", i32 2000, i32 1}']
    has_tile = any(_largest_tile(p.function) >= architecture.register_tile_bytes for p in programs)
    whole = "\n".join([*head, *module.functions, *text, *tail, ""])
    return ModuleText(whole, module.report, has_tile, tuple(module.intrinsics), module.imports)


def _largest_tile(function: Function) -> int:
    """The bytes of the largest buffer in registers."""
    sizes = (
        (n.buffer.size() or 0) * n.buffer.dtype.bytes
        for n in walk(function.body)
        if isinstance(n, Allocate) and n.buffer.scope is Scope.REGISTER
    )
    return max(sizes, default=0)


def metadata_text(metadata: Metadata) -> str:
    """The metadata of a library."""
    return _string("sateen_metadata", metadata.to_json()) + "\n"


def companion_text(target: Target) -> str:
    """The parts of a library besides its kernels and its metadata: the pool and host table, the text of statuses."""
    strings = [_string(f"message.{code.value}", text, "private") for code, text in STATUS_MESSAGES.items()]
    cases = "\n".join(f"    i32 {code.value}, label %case{code.value}" for code in STATUS_MESSAGES)
    returns = "\n".join(f"case{code.value}:\n  ret ptr @message.{code.value}" for code in STATUS_MESSAGES)
    return "\n".join(
        [
            host_text(target.triple, features_of(target)),
            long_integers_text(target),
            *strings,
            _string("message.unknown", "unknown status", "private"),
            "define ptr @sateen_status_message(i32 %status) nounwind {",
            "  %code = and i32 %status, 255",
            "  switch i32 %code, label %unknown [",
            cases,
            "  ]",
            returns,
            "unknown:",
            "  ret ptr @message.unknown",
            "}",
            "",
        ]
    )


def _kernel(module: ModuleState, program: HostProgram) -> str:
    function = program.function
    index = f"i{program.index_bits}"
    writer, environment = FunctionWriter(module, function.name, index), Environment(Analyzer())
    frame = Frame(writer)
    statements = Statements(writer, environment, Nothing(), frame, program)
    parameters = ["ptr %host"]
    for i, b in enumerate(function.parameters):
        statements.addresses.base[b] = LlvmValue(f"%a{i}", "ptr")
        alias = "" if b in function.aliased else "noalias "
        if alias:
            frame.noalias.add(f"%a{i}")
        access = "" if b in function.outputs else "readonly "
        if b.on_device is not None:
            statements.devices.offsets[b] = LlvmValue(f"%o{i}", "i64")
            parameters += [f"ptr %a{i}", f"i64 %o{i}"]
            continue
        parameters.append(f"ptr {alias}{access}align {b.alignment} %a{i}")
    for i, v in enumerate(symbols_of(function)):
        environment.variables[v] = LlvmValue(f"%n{i}", index)
        environment.analyzer.bind_form(v, constant(0), None)
        parameters.append(f"{index} %n{i}")
    statements.devices.find(devices_of(function))
    statements.statement(function.body)
    return frame.define(f"{function.name}.kernel", ", ".join(parameters), "hidden")


def constant_text(buffer: Buffer, name: str, space: int = 0) -> str:
    """The definition of constant data in an address space."""
    assert buffer.data is not None
    raw = np.ascontiguousarray(buffer.data).tobytes()
    where = f"private unnamed_addr addrspace({space})" if space else "private unnamed_addr"
    return f'{name} = {where} constant [{len(raw)} x i8] c"{_escaped(raw)}", align {buffer.alignment}'


def _string(name: str, value: str, linkage: str = "") -> str:
    """A zero-terminated string."""
    raw = value.encode() + b"\0"
    return f'@{name} = {linkage} constant [{len(raw)} x i8] c"{_escaped(raw)}"'


def _escaped(raw: bytes) -> str:
    return "".join(f"\\{byte:02X}" for byte in raw)
