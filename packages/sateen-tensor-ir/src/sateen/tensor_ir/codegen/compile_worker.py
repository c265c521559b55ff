"""The program of a compiler process: reads requests on its standard input, answers on its standard output."""

from __future__ import annotations

import sys

from sateen.tensor_ir.codegen.compile_requests import answer_of
from sateen.tensor_ir.codegen.workers import receive_message, send_message


def main() -> None:
    """Serve until the input ends."""
    while (message := receive_message(sys.stdin.buffer)) is not None:
        send_message(sys.stdout.buffer, answer_of(message))


if __name__ == "__main__":
    main()
