"""A module of LLVM text from functions of loop IR."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from weft.runtime.errors import CodegenError
from weft.tensor_ir.arith import Analyzer, constant
from weft.tensor_ir.codegen.llvm.checks import public_function, symbols_of, unbound_symbols
from weft.tensor_ir.codegen.llvm.state import ModuleState, Report
from weft.tensor_ir.codegen.llvm.statements import Statements
from weft.tensor_ir.codegen.llvm.values import Value
from weft.tensor_ir.ir.buffer import Buffer
from weft.tensor_ir.ir.stmt import Function

ATTRIBUTES = '"min-legal-vector-width"="512" "prefer-vector-width"="512"'
"""Vectors are as wide as the schedule says; LLVM is not to split them for its own reasons."""


def emit_module(functions: Sequence[Function]) -> tuple[str, Report]:
    """LLVM text with each function's kernel and its public function, and what was counted on the way.

    Raises CodegenError for what the target can't express: thread loops, register indices that vary, nested
    vectorization.
    """
    module = ModuleState()
    text: list[str] = []
    for function in functions:
        unknown = unbound_symbols(function)
        if unknown:
            raise CodegenError(f"{function.name}: no argument's shape gives the extent {unknown[0].name!r}")
        text.append(_kernel(module, function))
        text.append(public_function(function))
    constants = [_constant(b, name) for b, name in module.constants.items()]
    head = [*module.declarations, "declare ptr @weft_default_host()", *constants]
    tail = [f"attributes #0 = {{ nounwind {ATTRIBUTES} }}", '!0 = !{!"branch_weights", i32 2000, i32 1}']
    return "\n".join([*head, *module.functions, *text, *tail, ""]), module.report


def _kernel(module: ModuleState, function: Function) -> str:
    analyzer = Analyzer()
    state = Statements(module, function.name, analyzer)
    parameters = ["ptr %host"]
    for i, b in enumerate(function.parameters):
        state.base[b] = Value(f"%a{i}", "ptr")
        alias = "" if b in function.aliased else "noalias "
        if alias:
            state.noalias.add(f"%a{i}")
        access = "" if b in function.outputs else "readonly "
        parameters.append(f"ptr {alias}{access}align {b.alignment} %a{i}")
    for i, v in enumerate(symbols_of(function)):
        state.env[v] = Value(f"%n{i}", "i64")
        analyzer.bind_form(v, constant(0), None)
        parameters.append(f"i64 %n{i}")
    state.statement(function.body)
    return state.define(f"{function.name}.kernel", ", ".join(parameters), "internal")


def _constant(buffer: Buffer, name: str) -> str:
    assert buffer.data is not None
    raw = np.ascontiguousarray(buffer.data).tobytes()
    escaped = "".join(f"\\{byte:02X}" for byte in raw)
    return f'{name} = private unnamed_addr constant [{len(raw)} x i8] c"{escaped}", align {buffer.alignment}'


def string_constant(name: str, value: str) -> str:
    """An exported, zero-terminated string."""
    raw = value.encode() + b"\0"
    escaped = "".join(f"\\{byte:02X}" for byte in raw)
    return f'@{name} = constant [{len(raw)} x i8] c"{escaped}"'


