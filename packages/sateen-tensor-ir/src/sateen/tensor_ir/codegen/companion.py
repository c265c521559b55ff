"""Object code of what a library has besides its functions: thread pool and host table, texts of statuses, metadata."""

from __future__ import annotations

from functools import lru_cache

from sateen.runtime.signature import Metadata
from sateen.runtime.target import Target
from sateen.tensor_ir.codegen.llvm import companion_text, metadata_text
from sateen.tensor_ir.codegen.object_code import compile_for

_kept_code = lru_cache(maxsize=8)(compile_for)
"""LLVM takes longer for the companion than for a small network, and all libraries of a target have the same."""


def companion_codes(target: Target, metadata: Metadata, more: str = "") -> list[bytes]:
    """Objects that define the companion, with `more` LLVM text in it, and the metadata.

    Raises CodegenError for a system without a thread pool.
    """
    return [_kept_code(companion_text(target) + more, target), compile_for(metadata_text(metadata), target)]
