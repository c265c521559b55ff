"""The program of a compiler process: answers requests for the object code of functions."""

from __future__ import annotations

from sateen.tensor_ir.codegen.compile_requests import answer_of
from sateen.tensor_ir.codegen.workers import serve

if __name__ == "__main__":
    serve(answer_of)
