"""The languages of kernels as values: OpenCL C 1.2, CUDA C and Metal's (Metal Shading Language 2.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain

from sateen.runtime.dtype import DType
from sateen.tensor_ir.codegen.c_family import routines
from sateen.tensor_ir.codegen.c_family.dialects import Dialect
from sateen.tensor_ir.codegen.c_family.routines import FLOAT16, FLOAT32, FLOAT64
from sateen.tensor_ir.functions import Lack, MathFunction
from sateen.tensor_ir.functions.spelling import CSpelling, LibraryFunction, Routine
from sateen.tensor_ir.ir.buffer import Scope


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class KernelDialect(Dialect):
    """A language in which threads of a device run kernels.

    Texts are templates. Those of `pointer` and `scalar`, the parameters of a kernel, know their `$place` among all of
    them; `positions` are parameters behind these. `block` and `thread` are the position of a thread along an axis,
    which is `$number` (0, 1, 2) or `$letter` (x, y, z). `kernel` is a head, with its `$threads` of a block, along axes
    `$x`, `$y`, `$z`. `header` begins a text, `float64_header` one with float64. `spaces` are the words for kinds of
    memory before a type that is pointed to, `vectors` the names of element types in those of vectors, `aligned` an
    array's attribute that makes it begin at a multiple of `$bytes`. `shuffle` is the `$value` of another `$lane` of
    the warp, if the language has one.
    """

    kernel: str
    pointer: str
    restrict: str
    scalar: str
    positions: tuple[str, ...] = ()
    block: str
    thread: str
    shared: str
    constant: str
    barriers: Mapping[Scope, str]
    spaces: Mapping[Scope, str]
    vectors: Mapping[str, str]
    aligned: str
    shuffle: str | None = None
    header: str = ""
    float64_header: str = ""
    most_parameters: int | None = None


_INTEGERS = {
    "int8": "char", "int16": "short", "int32": "int", "int64": "long",
    "uint8": "uchar", "uint16": "ushort", "uint32": "uint", "uint64": "ulong",
}  # fmt: skip
_SAME_BITS = tuple(
    (floating, DType.of(f"{sign}int{floating.bits}")) for floating in (FLOAT32, FLOAT64) for sign in ("", "u")
)


def _reinterpreting(write: Callable[[DType, DType], str]) -> dict[str, Routine]:
    """The routines that read the bits of a number as those of another type, each returning what `write` gives for x."""
    pairs = chain(_SAME_BITS, ((integer, floating) for floating, integer in _SAME_BITS))
    return {
        (name := routines.reinterpret(source, target).name): Routine(
            name, f"${target} {name}(${source} x) {{\n  return {write(source, target)};\n}}"
        )
        for source, target in pairs
    }


def _half(pack: str, unpack: str, header: str = "") -> dict[str, Routine]:
    """The conversions between float32 and the bits of a float16, by the bodies of both."""
    to, of = routines.pack(FLOAT16).name, routines.unpack(FLOAT16).name
    return {
        to: Routine(to, f"$uint16 {to}($float32 x) {{\n{pack}\n}}", header=header),
        of: Routine(of, f"$float32 {of}($uint16 x) {{\n{unpack}\n}}", header=header),
    }


OPENCL_C = KernelDialect(
    name="OpenCL C",
    types={**_INTEGERS, "float32": "float", "float64": "double", "bool": "bool"},
    spelling=lambda function: function.opencl,
    instruction=lambda intrinsic: intrinsic.opencl,
    own={
        **_reinterpreting(lambda source, target: f"as_${target}(x)"),
        **_half(
            "  $uint16 bits;\n  vstore_half_rte(x, 0, (half *)&bits);\n  return bits;",
            "  return vload_half(0, (const half *)&x);",
        ),
    },
    kernel="__kernel __attribute__((reqd_work_group_size($x, $y, $z)))\nvoid $name($parameters)",
    pointer="__global $type *$restrict$name",
    restrict="restrict ",
    scalar="const $type $name",
    block="get_group_id($number)",
    thread="get_local_id($number)",
    shared="__local $type $name[$size]",
    spaces={Scope.GLOBAL: "__global ", Scope.SHARED: "__local ", Scope.LOCAL: "__private "},
    vectors={**_INTEGERS, "float32": "float", "float64": "double"},
    aligned=" __attribute__((aligned($bytes)))",
    constant="__constant",
    barriers={Scope.SHARED: "barrier(CLK_LOCAL_MEM_FENCE);", Scope.GLOBAL: "barrier(CLK_GLOBAL_MEM_FENCE);"},
    float64_header="#pragma OPENCL EXTENSION cl_khr_fp64 : enable",
)
"""Loads and stores of float16 are part of the language without an extension (6.12.7); only values of it are not."""

_CUDA_BITS = {"float32": "float", "float64": "double", "int32": "int", "uint32": "uint"} | dict.fromkeys(
    ("int64", "uint64"), "longlong"
)

CUDA_C = KernelDialect(
    name="CUDA C",
    types={
        "int8": "signed char", "int16": "short", "int32": "int", "int64": "long long",
        "uint8": "unsigned char", "uint16": "unsigned short", "uint32": "unsigned int", "uint64": "unsigned long long",
        "float32": "float", "float64": "double", "bool": "bool",
    },
    spelling=lambda function: function.opencl,
    instruction=lambda _: None,
    float_suffix="f",
    routine="static __device__ inline",
    own={
        **_reinterpreting(lambda source, target: f"__{_CUDA_BITS[str(source)]}_as_{_CUDA_BITS[str(target)]}(x)"),
        **_half(
            "  return __half_as_ushort(__float2half_rn(x));",
            "  return __half2float(__ushort_as_half(x));",
            header="#include <cuda_fp16.h>",
        ),
    },
    kernel='extern "C" __global__ void __launch_bounds__($threads)\n$name($parameters)',
    pointer="$type *$restrict$name",
    restrict="__restrict__ ",
    scalar="const $type $name",
    block="blockIdx.$letter",
    thread="threadIdx.$letter",
    shared="__shared__ $type $name[$size]",
    spaces=dict.fromkeys((Scope.GLOBAL, Scope.SHARED, Scope.LOCAL), ""),
    vectors={**_INTEGERS, "int64": "longlong", "uint64": "ulonglong", "float32": "float", "float64": "double"},
    aligned=" __attribute__((aligned($bytes)))",
    constant="static __device__ const",
    barriers=dict.fromkeys((Scope.SHARED, Scope.GLOBAL), "__syncthreads();"),
    shuffle="__shfl_sync(0xffffffffu, $value, $lane)",
)  # fmt: skip
"""__syncthreads orders accesses to all memory of the block's threads. Constants are no `__constant__` memory, of which
a module has 64 KiB."""


def _in_metal(function: MathFunction) -> CSpelling | None:
    """Metal's own, in their precise form where that differs, whatever the compiler's options say."""
    match function.opencl:
        case LibraryFunction(name) if name in ("exp", "log", "log2", "log10", "sin", "cos", "sqrt"):
            return LibraryFunction(f"precise::{name}")
    return function.opencl


METAL = KernelDialect(
    name="Metal",
    types={**_INTEGERS, "float32": "float", "bool": "bool"},
    spelling=_in_metal,
    instruction=lambda _: None,
    own={
        **_reinterpreting(lambda _, target: f"as_type<${target}>(x)"),
        **_half("  return as_type<$uint16>(half(x));", "  return float(as_type<half>(x));"),
    },
    lacks=frozenset({Lack.FLOAT64}),
    kernel="[[max_total_threads_per_threadgroup($threads)]]\nkernel void $name($parameters)",
    pointer="device $type *$name [[buffer($place)]]",
    restrict="",
    scalar="constant $type &$name [[buffer($place)]]",
    positions=(
        "uint3 sateen_block [[threadgroup_position_in_grid]]",
        "uint3 sateen_thread [[thread_position_in_threadgroup]]",
    ),
    block="sateen_block.$letter",
    thread="sateen_thread.$letter",
    shared="threadgroup $type $name[$size]",
    spaces={Scope.GLOBAL: "device ", Scope.SHARED: "threadgroup ", Scope.LOCAL: "thread "},
    vectors={name: word for name, word in _INTEGERS.items() if "64" not in name} | {"float32": "float"},
    aligned=" __attribute__((aligned($bytes)))",
    constant="constant",
    barriers={
        Scope.SHARED: "threadgroup_barrier(mem_flags::mem_threadgroup);",
        Scope.GLOBAL: "threadgroup_barrier(mem_flags::mem_device);",
    },
    shuffle="simd_shuffle($value, ushort($lane))",
    header="""\
#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#endif
using namespace metal;""",
    most_parameters=31,
)
"""Before Metal 3.2 the compiler is to be told itself to keep NaN and the order of operations (`-fno-fast-math`,
`MTLCompileOptions.fastMathEnabled`). A function takes at most 31 buffers (Metal Feature Set Tables)."""
