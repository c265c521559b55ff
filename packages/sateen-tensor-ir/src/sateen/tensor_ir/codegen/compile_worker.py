"""The program of a compiler process: reads requests on its standard input, answers on its standard output."""

from __future__ import annotations

import base64
import sys
from dataclasses import asdict
from typing import Any

from sateen.runtime.errors import SateenError
from sateen.runtime.target import Target
from sateen.tensor_ir.codegen.object_code import compile_functions
from sateen.tensor_ir.codegen.workers import receive_message, send_message
from sateen.tensor_ir.intrinsics import INTRINSICS
from sateen.tensor_ir.ir.parser import parse_function


def main() -> None:
    """Serve until the input ends."""
    while (message := receive_message(sys.stdin.buffer)) is not None:
        send_message(sys.stdout.buffer, answer_of(message))


def answer_of(message: dict[str, Any]) -> dict[str, Any]:
    """The object code that a request of `workers.request_for` asks for, or the error of compiling it."""
    try:
        functions = [parse_function(text, INTRINSICS) for text in message["functions"]]
        result = compile_functions(functions, Target.parse(message["target"]), internal=message["internal"])
    except SateenError as error:
        return {"error": str(error)}
    code = base64.b64encode(result.code).decode()
    return {"code": code, "symbols": list(result.symbols), "report": asdict(result.report)}


if __name__ == "__main__":
    main()
