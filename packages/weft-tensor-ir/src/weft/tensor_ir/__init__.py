"""The tensor compiler of weft: tensor expressions, schedules, loop IR, code generators.

`te` says what to compute, a schedule says how, `lower` shows the loops, `build` compiles them.
"""

from weft.tensor_ir import te
from weft.tensor_ir.build import CompiledModule, build, build_functions
from weft.tensor_ir.codegen.intrinsics import DEFAULT_RULES, IntrinsicRules
from weft.tensor_ir.codegen.object_cache import ObjectCache
from weft.tensor_ir.explain import Explanation, explain
from weft.tensor_ir.lower import lower
from weft.tensor_ir.machine import Machine, PeakMeter

__all__ = [
    "DEFAULT_RULES",
    "CompiledModule",
    "Explanation",
    "IntrinsicRules",
    "Machine",
    "ObjectCache",
    "PeakMeter",
    "build",
    "build_functions",
    "explain",
    "lower",
    "te",
]
