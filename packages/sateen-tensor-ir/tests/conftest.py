"""What tests of several files use: the machine's OpenCL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sateen.tensor_ir import CompiledModule, build_functions
from sateen.tensor_ir.ir.expr import Const, Expr, Var
from sateen.tensor_ir.ir.stmt import Function
from sateen.tensor_ir.ir.visit import substitute

Launch = Callable[..., CompiledModule]
"""Compiles a function and runs it on arrays, into which what its kernels write is copied back."""


@pytest.fixture(scope="session")
def launch() -> Launch:
    """Execution on the first OpenCL device; skipped where there is none."""
    cl = pytest.importorskip("pyopencl", reason="pyopencl is not installed")
    try:
        devices = [device for platform in cl.get_platforms() for device in platform.get_devices()]
    except cl.Error as error:
        pytest.skip(f"OpenCL has no platform: {error}")
    if not devices:
        pytest.skip("OpenCL has no device")
    queue = cl.CommandQueue(cl.Context(devices[:1]))

    def run(function: Function, *arrays: np.ndarray[Any, Any]) -> CompiledModule:
        compiled = build_functions([function], "opencl")
        kernels = cl.Program(queue.context, compiled.source).build(cache_dir=False)
        program = compiled.program
        symbols: dict[Var, int] = {
            extent: size
            for b, array in zip(program.parameters, arrays, strict=True)
            for extent, size in zip(b.shape, array.shape, strict=True)
            if isinstance(extent, Var)
        }

        def value(e: Expr) -> int:
            e = substitute(e, {v: Const(n, v.dtype) for v, n in symbols.items()})
            assert isinstance(e, Const)
            return int(e.value)

        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        pairs = zip(program.parameters, arrays, strict=True)
        memory = {b: cl.Buffer(queue.context, flags, hostbuf=array) for b, array in pairs}
        for b in program.workspace:
            size = int(np.prod([value(e) for e in b.shape])) * b.dtype.bytes
            memory[b] = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, size)
        for kernel in program.kernels:
            sizes = [value(blocks) * threads for blocks, threads in zip(kernel.grid, kernel.block, strict=True)]
            arguments = [*(memory[b] for b in kernel.buffers), *(np.int64(symbols[v]) for v in kernel.scalars)]
            cl.Kernel(kernels, kernel.name)(queue, sizes, kernel.block, *arguments)
        for b, array in zip(program.parameters, arrays, strict=True):
            cl.enqueue_copy(queue, array, memory[b])
        return compiled

    return run
