"""What a process is asked that compiles for another one, and what it answers: maps of plain values."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sateen.runtime.errors import CodegenError, SateenError
from sateen.runtime.target import Target
from sateen.tensor_ir.codegen.llvm import CodeReport
from sateen.tensor_ir.codegen.object_code import ObjectCode, compile_functions
from sateen.tensor_ir.intrinsics import INTRINSICS
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.ir.stmt import Function, Intrinsic
from sateen.tensor_ir.ir.visit import walk


def request_for(function: Function, target: Target | str, *, internal: bool) -> dict[str, Any]:
    """What `answer_of` takes. Raises CodegenError for a user's intrinsic, which other processes do not know."""
    for node in walk(function.body):
        if isinstance(node, Intrinsic) and INTRINSICS.get(node.instruction.name) is not node.instruction:
            raise CodegenError(
                f"{function.name}: worker processes know the intrinsics {', '.join(INTRINSICS)}, found "
                f"{node.instruction.name!r} of another definition; compile it in this process"
            )
    text = str(Target.of(target))
    return {"names": [function.name], "functions": [str(function)], "target": text, "internal": internal}


def answer_of(request: dict[str, Any]) -> dict[str, Any]:
    """The object code that a request asks for, or the error of compiling it."""
    try:
        functions = [parse_function(text, INTRINSICS) for text in request["functions"]]
    except SateenError as error:
        return {"error": str(error)}
    return answer_with(functions, Target.parse(request["target"]), internal=request["internal"])


def answer_with(functions: Sequence[Function], target: Target, *, internal: bool) -> dict[str, Any]:
    """The object code of functions as an answer, or the error of compiling them."""
    try:
        made = compile_functions(functions, target, internal=internal)
    except SateenError as error:
        return {"error": str(error)}
    return {
        "code": base64.b64encode(made.code).decode(),
        "symbols": list(made.symbols),
        "report": asdict(made.report),
    }


def code_of(answer: dict[str, Any]) -> ObjectCode:
    """The code in an answer. Raises CodegenError with the error in it."""
    if "error" in answer:
        raise CodegenError(answer["error"])
    return ObjectCode(base64.b64decode(answer["code"]), tuple(answer["symbols"]), CodeReport(**answer["report"]))
