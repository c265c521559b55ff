"""Worker processes that lower groups and compile them."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, ClassVar

from sateen.graph_ir.kernels.group_requests import group_request
from sateen.runtime import Target
from sateen.tensor_ir.codegen import CompilerPool


class KernelPool(CompilerPool):
    """A pool whose workers lower groups, too, so that all of the work on a kernel is done beside the caller."""

    program: ClassVar[str] = "sateen.graph_ir.kernels.group_worker"

    def submit_group(self, text: str, name: str, target: Target) -> Future[dict[str, Any]]:
        """A future of `group_requests.answer` for the text of a group, whose result raises CodegenError if the worker
        dies on it."""
        return self.ask(group_request(text, name, target))
