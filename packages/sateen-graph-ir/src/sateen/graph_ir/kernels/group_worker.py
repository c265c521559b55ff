"""The program of a process that makes kernels: it lowers and compiles groups, and compiles functions."""

from __future__ import annotations

from sateen.graph_ir.kernels.group_requests import answer
from sateen.tensor_ir.codegen import serve

if __name__ == "__main__":
    serve(answer)
