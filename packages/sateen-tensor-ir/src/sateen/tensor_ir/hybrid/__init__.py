"""Hybrid scripts: functions of Python, of a documented subset, as loops over tensors, which Python runs on arrays as
well.

    @hybrid.script
    def running_sum(a):
        result = hybrid.output_tensor(a.shape, a.dtype)
        total = 0.0
        for i in range(len(a)):
            total += a[i]
            result[i] = total
        return result
"""

from sateen.tensor_ir.hybrid.decorator import Script, script
from sateen.tensor_ir.hybrid.source import ScriptError
from sateen.tensor_ir.hybrid.words import (
    allocate,
    bind,
    const_range,
    output_tensor,
    parallel,
    serial,
    unroll,
    vectorize,
)

__all__ = [
    "Script",
    "ScriptError",
    "allocate",
    "bind",
    "const_range",
    "output_tensor",
    "parallel",
    "script",
    "serial",
    "unroll",
    "vectorize",
]
