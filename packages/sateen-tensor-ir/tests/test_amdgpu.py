"""Objects for GPUs of AMD: their structure, as the AMDGPU usage guide of LLVM describes it; no GPU runs them here."""

import re
import struct

import pytest

from sateen.runtime.errors import TargetError
from sateen.tensor_ir import CompiledModule, build_functions, lower, te
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.link.object_file import ObjectFile, read_object

AMDGPU_HSA, MACHINE = 64, 224
"""The system and the machine in the head of an ELF file."""

THREADS = 256
REVERSED = f"""\
function reversed(A: float32[1024], B: out float32[1024])
  thread blockIdx.x b in [0, 4):
    allocate T: shared float32[{THREADS}]
      thread threadIdx.x t in [0, {THREADS}):
        T[t] = A[b * {THREADS} + t]
      thread threadIdx.x u in [0, {THREADS}):
        B[b * {THREADS} + u] = exp(T[{THREADS - 1} - u])
"""
IN_TWO = """\
function in_two[n](A: float16[n], B: out float16[n])
  allocate T: float32[n]
    thread blockIdx.x b in [0, n):
      T[b] = float32(A[b])
    thread blockIdx.x c in [0, n):
      B[c] = float16(T[c] / 3.0f)
"""


def built(text: str, target: str = "rocm") -> CompiledModule:
    return build_functions([parse_function(text.strip())], target)


def content(read: ObjectFile, name: str) -> bytes:
    """The bytes of a symbol."""
    (symbol,) = (s for s in read.symbols if s.name == name)
    assert symbol.section is not None
    return bytes(symbol.section.data[symbol.value : symbol.value + symbol.size])


@pytest.mark.parametrize("target", ["rocm", "rocm -mcpu=gfx90a", "rocm -mcpu=gfx1100"])
@pytest.mark.parametrize("text", [REVERSED, IN_TWO], ids=["shared memory", "two kernels"])
def test_each_kernel_has_code_and_a_descriptor(text: str, target: str) -> None:
    module = built(text, target)
    code = module.object_code
    assert (code[7], struct.unpack_from("<H", code, 18)[0]) == (AMDGPU_HSA, MACHINE)
    read = read_object(code)
    for kernel in module.program.kernels:
        assert content(read, kernel.name)
        shared, private, arguments = struct.unpack_from("<III", content(read, f"{kernel.name}.kd"))
        assert (shared, private) == (kernel.shared_bytes, 0)
        assert arguments == 8 * (len(kernel.buffers) + len(kernel.scalars))


def test_the_metadata_name_the_processor_and_the_threads() -> None:
    code = built(REVERSED, "rocm -mcpu=gfx90a").object_code
    assert b"amdgcn-amd-amdhsa--gfx90a" in code
    assert b".max_flat_workgroup_size\xcd" + struct.pack(">H", THREADS) in code


def test_an_unknown_processor_is_refused() -> None:
    with pytest.raises(TargetError, match=r"^LLVM knows no processor 'gfx90b' for amdgcn; did you mean gfx9"):
        built(REVERSED, "rocm -mcpu=gfx90b")


def test_kernels_are_no_source_and_no_library() -> None:
    module = built(REVERSED)
    with pytest.raises(TargetError, match=r"gives object code of kernels, not a source: see object_code and host$"):
        module.source  # noqa: B018
    message = (
        "gives object code of kernels, not that of a processor: see object_code, and host, which launches its kernels"
    )
    for ask in (module.library, module.llvm_text, module.assembly):
        with pytest.raises(TargetError, match=re.escape(message)):
            ask()
    assert "rocm(0)" in str(module.program.host)


def test_a_sum_of_a_block_is_made_of_its_threads() -> None:
    a, k = te.placeholder((7, 1000), name="A"), te.reduce_axis(1000, "k")
    b = te.compute((7,), lambda i: te.sum(a[i, k], axis=k), name="B")
    s = te.create_schedule(b)
    s[b].bind(b.op.axis[0], te.thread_axis("blockIdx.x"))
    s[b].bind(s[b].split(k, 128)[1], te.thread_axis("threadIdx.x"))
    module = build_functions([lower(s, [a, b], "row_sum")], "rocm")
    (kernel,) = module.program.kernels
    read = read_object(module.object_code)
    assert struct.unpack_from("<II", content(read, f"{kernel.name}.kd")) == (kernel.shared_bytes, 0)
