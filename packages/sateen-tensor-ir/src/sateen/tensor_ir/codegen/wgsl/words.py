"""The words of WGSL that a text may not give to something else (WGSL, 15.1 and 15.2), and those that kernels use."""

from __future__ import annotations

import re

from sateen.runtime.errors import CodegenError
from sateen.runtime.signature import LONGEST_NAME
from sateen.tensor_ir.codegen.c_family.identifiers import PREFIX
from sateen.tensor_ir.functions import FUNCTIONS
from sateen.tensor_ir.functions.spelling import LibraryFunction

_KEYWORDS = """
alias break case const const_assert continue continuing default diagnostic discard else enable false fn for if let loop
override requires return struct switch true var while
"""
_RESERVED = """
NULL Self abstract active alignas alignof as asm asm_fragment async attribute auto await become cast catch class
co_await co_return co_yield coherent column_major common compile compile_fragment concept const_cast consteval constexpr
constinit crate debugger decltype delete demote demote_to_helper do dynamic_cast enum explicit export extends extern
external fallthrough filter final finally friend from fxgroup get goto groupshared highp impl implements import inline
instanceof interface layout lowp macro macro_rules match mediump meta mod module move mut mutable namespace new nil
noexcept noinline nointerpolation non_coherent noncoherent noperspective null nullptr of operator package packoffset
partition pass patch pixelfragment precise precision premerge priv protected pub public readonly ref regardless register
reinterpret_cast require resource restrict self set shared sizeof smooth snorm static static_assert static_cast std
subroutine super target template this thread_local throw trait try type typedef typeid typename typeof union unless
unorm unsafe unsized use using varying virtual volatile wgsl where with writeonly yield
"""
_USED = """
array atomic bool f16 f32 i32 u32 vec2 vec3 vec4 bitcast select all atomicLoad atomicStore atomicCompareExchangeWeak
extractBits insertBits workgroupBarrier storageBarrier any countLeadingZeros min max
"""
_TAKEN = frozenset(
    [*_KEYWORDS.split(), *_RESERVED.split(), *_USED.split()]
    + [f.wgsl.name for f in FUNCTIONS.values() if isinstance(f.wgsl, LibraryFunction)]
)


def is_reserved(name: str) -> bool:
    """Whether WGSL, or a kernel, has the name already."""
    return name in _TAKEN or name.startswith(("__", PREFIX))


def check_kernel(name: str) -> None:
    """Raise CodegenError for a name that WGSL can't give to a kernel."""
    if is_reserved(name) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise CodegenError(f"expected an identifier that WGSL leaves to its users for a kernel, found {name!r}")
    if len(name) > LONGEST_NAME:
        raise CodegenError(f"expected at most {LONGEST_NAME} characters in the name of a kernel, found {len(name)}")
