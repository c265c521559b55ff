"""PTX: its text, that ptxas assembles it where that is installed, and what the LLVM text that it is made of computes.

No GPU runs it here: threads of this machine run the LLVM text, whose address spaces are one there.
"""

import ctypes
import itertools
import re
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from device_workloads import everything, product, softmax

from sateen.runtime import Target
from sateen.runtime.errors import CodegenError, LoweringError, TargetError
from sateen.tensor_ir import CompiledModule, build_functions, lower, te
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.codegen.llvm import PTX, LoadedObject, emit_kernels
from sateen.tensor_ir.codegen.object_code import compile_for
from sateen.tensor_ir.interpret.loop_oracle import run
from sateen.tensor_ir.ir.expr import Const
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.ir.stmt import Function
from sateen.tensor_ir.ir.visit import substitute
from sateen.tensor_ir.targets import Gpu

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(0)
X = te.thread_axis("threadIdx.x")


def doubled_vectors(dtype: str) -> Function:
    """B = 2 A, of which each thread has 4 neighbours."""
    a = te.placeholder((256,), dtype, name="A")
    b = te.compute((256,), lambda i: a[i] * te.const(2, dtype), name="B")
    s = te.create_schedule(b)
    thread, lane = s[b].split(b.op.axis[0], 4)
    s[b].bind(thread, X)
    s[b].vectorize(lane)
    aligned = {t: te.decl_buffer(t.shape, dtype, name=t.name, alignment=16) for t in (a, b)}
    return lower(s, [a, b], "doubled", buffers=aligned)


def built(function: Function, target: str = "cuda") -> CompiledModule:
    return build_functions([function], target)


def report(source: str, folder: Path) -> str:
    """What ptxas says of a module: registers, shared bytes and spills of each kernel."""
    ptxas = shutil.which("ptxas")
    if ptxas is None:
        pytest.skip("ptxas is not installed: apt package nvidia-cuda-toolkit, or the wheel nvidia-cuda-nvcc")
    (folder / "kernels.ptx").write_text(source)
    command = [ptxas, "-v", "-arch=sm_80", "kernels.ptx", "-o", "kernels.cubin"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, check=False)
    assert result.returncode == 0, result.stderr
    return result.stderr


@pytest.mark.parametrize(
    "function",
    [
        product(64, 64, 64), product(37, 50, 19), product(37, 50, 19, "shift"), softmax(),
        doubled_vectors("float16"), everything(),
    ],
    ids=["tiles", "guarded tiles", "shifted tiles", "softmax", "vectors", "every type"],
)  # fmt: skip
def test_it_is_assembled_without_spills_and_stack(function: Function, tmp_path: Path) -> None:
    module = built(function)
    told = report(module.source, tmp_path)
    (kernel,) = module.program.kernels
    assert f"Compiling entry function '{kernel.name}'" in told
    assert "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in told
    taken = re.search(r"(\d+) bytes smem", told)
    assert kernel.shared_bytes <= (0 if taken is None else int(taken[1])) <= kernel.shared_bytes + 256  # with padding


def test_a_product_has_its_sums_in_registers_and_its_tiles_in_shared_memory() -> None:
    text = built(product(64, 64, 64)).source
    assert text.count("fma.rn.f32") == 16
    assert text.count("bar.sync") == 2
    assert len(re.findall(r"\.shared \.align \d+ \.b8 \S+\[(?:512|1024)\];", text)) == 2
    assert "ld.global.nc.b32" in text  # read only, and no other pointer reaches it
    assert "ld.shared.v4.b32" in text
    assert ".local" not in text
    assert ".reqntid 8, 4, 1" in text


def test_the_processor_is_that_of_the_target() -> None:
    assert ".target sm_70" in built(softmax()).source
    assert ".target sm_90" in built(softmax(), "cuda -mcpu=sm_90").source
    with pytest.raises(TargetError, match=r"^LLVM knows no processor 'sm_98' for nvptx64; did you mean sm_90 or"):
        built(softmax(), "cuda -mcpu=sm_98")


def test_neighbours_are_loaded_and_stored_as_one() -> None:
    text = built(doubled_vectors("float32")).source
    assert re.search(r"ld\.global\.nc\.(v4\.b32|v2\.b64)", text)
    assert re.search(r"st\.global\.(v4\.b32|v2\.b64)", text)


def test_scalars_have_64_bits_and_the_grid_is_the_hosts() -> None:
    module = built(everything())
    (kernel,) = module.program.kernels
    assert [v.name for v in kernel.scalars] == ["n"]
    assert len(re.findall(r"\.param \.u64", module.source)) == len(kernel.buffers) + 1
    assert str(module.program.host.body).startswith("launch everything_0(A + 0,")
    assert "on cuda(0)" in str(module.program.host) or "cuda" in str(module.program.host)


def test_a_block_has_limits() -> None:
    text = "function f(A: out float32[4096])\n  thread threadIdx.x t in [0, 4096):\n    A[t] = 1.0f"
    message = (
        "f_0, which computes 'A': expected at most 1024 threads in a block of the device, found 4096 (threadIdx.x 4096)"
    )
    with pytest.raises(LoweringError, match=re.escape(message)):
        built(parse_function(text))
    text = """\
function f(A: out float32[32])
  allocate T: shared float32[16384]
  thread threadIdx.x t in [0, 32):
    T[t] = 1.0f
    A[t] = T[t]"""
    inside = text.replace("  allocate", "  thread blockIdx.x b in [0, 1):\n    allocate", 1)
    lines = inside.splitlines()
    inside = "\n".join([*lines[:3], *(f"    {line}" for line in lines[3:])])
    with pytest.raises(LoweringError, match=r"at most 49152 bytes of shared memory .* found 65536 \('T' 65536\)"):
        built(parse_function(inside))


def test_kernels_call_no_functions_of_a_host() -> None:
    a = te.placeholder((32,), name="A")
    b = te.compute((32,), lambda i: te.call_extern("float32", "frobnicate", a[i]), name="B")
    s = te.create_schedule(b)
    s[b].bind(b.op.axis[0], X)
    with pytest.raises(CodegenError, match="f_0: kernels call no functions of a host, found a call of 'frobnicate'"):
        built(lower(s, [a, b], "f"))


AXES = [(register, i) for register in ("ctaid", "tid") for i in range(3)]


def run_by_threads(function: Function, *arrays: Array) -> None:
    """Run the only kernel of a function on arrays: block after block, each with a thread of this machine per thread."""
    program = built(function).program
    gpu = Gpu.of(Target.of("cuda"))
    assert gpu is not None
    (kernel,) = program.kernels
    text = emit_kernels([program], PTX, gpu).replace("ptx_kernel ", "")
    text = re.sub(r"\.p[13]\(", ".p0(", re.sub(r" addrspace\(\d\)", "", text))
    text = text.replace("llvm.nvvm.read.ptx.sreg.", "axis.").replace(
        "llvm.nvvm.barrier.cta.sync.aligned.all", "barrier"
    )
    text = text.replace("llvm.nvvm.shfl.sync.idx.", "shuffle.")
    host = Target.host()
    place = threading.local()
    barrier = threading.Barrier(int(np.prod(kernel.block)))
    index, wait = ctypes.CFUNCTYPE(ctypes.c_int32), ctypes.CFUNCTYPE(None, ctypes.c_int32)
    called: dict[str, Any] = {
        f"axis.{register}.{'xyz'[i]}": index(lambda register=register, i=i: getattr(place, register)[i])
        for register, i in AXES
    }
    called["barrier"] = wait(lambda _: barrier.wait(60) and None)
    given_to_warp: dict[int, float] = {}

    def shuffled(mask: int, value: float, lane: int, last: int) -> float:
        assert (mask, last) == (-1, 31)
        x, y, z = place.tid
        own = x + kernel.block[0] * (y + kernel.block[1] * z)
        given_to_warp[own] = value
        barrier.wait(60)
        result = given_to_warp[own // 32 * 32 + lane]
        barrier.wait(60)
        return result

    for suffix, kind in (("f32", ctypes.c_float), ("i32", ctypes.c_int32)):
        others = (ctypes.c_int32, ctypes.c_int32)
        called[f"shuffle.{suffix}"] = ctypes.CFUNCTYPE(kind, ctypes.c_int32, kind, *others)(shuffled)
    addresses = {name: ctypes.cast(f, ctypes.c_void_p).value or 0 for name, f in called.items()}
    loaded = LoadedObject(compile_for(text, host), [kernel.name], addresses)
    sizes = {v: a.shape[d] for b, a in zip(function.parameters, arrays, strict=True) for d, v in enumerate(b.shape)}
    numbers = {v: Const(sizes[v], v.dtype) for v in kernel.scalars}
    given = [ctypes.c_void_p(arrays[function.parameters.index(b)].ctypes.data) for b in kernel.buffers]
    given += [ctypes.c_int64(int(numbers[v].value)) for v in kernel.scalars]
    entry = ctypes.CFUNCTYPE(None, *map(type, given))(loaded.addresses[kernel.name])

    def thread(block: tuple[int, ...], own: tuple[int, ...]) -> None:
        place.ctaid, place.tid = block, own
        entry(*given)

    grid = [Analyzer().constant(substitute(e, numbers)) or 0 for e in kernel.grid]
    for block in itertools.product(*map(range, grid)):
        threads = [
            threading.Thread(target=thread, args=(block, own)) for own in itertools.product(*map(range, kernel.block))
        ]
        for one in threads:
            one.start()
        for one in threads:
            one.join(60)
        assert not any(one.is_alive() for one in threads)


@pytest.mark.parametrize(
    ("m", "n", "k", "tail"),
    [(16, 32, 8, "guard"), (19, 35, 11, "guard"), (19, 35, 11, "partition"), (19, 35, 11, "shift")],
)
def test_a_product_of_tiles_is_right(m: int, n: int, k: int, tail: str) -> None:
    a, b = RNG.standard_normal((m, k)).astype("float32"), RNG.standard_normal((k, n)).astype("float32")
    c = np.zeros((m, n), "float32")
    run_by_threads(product(m, n, k, tail), a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)


def test_sums_across_threads_are_right() -> None:
    x, y = RNG.standard_normal((5, 100)).astype("float32"), np.zeros((5, 100), "float32")
    run_by_threads(softmax(), x, y)
    expected = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(y, expected / expected.sum(1, keepdims=True), rtol=1e-5, atol=1e-7)


def test_every_type_and_operation_is_right() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    n, kinds = 16, ("float32", "float16", ml_dtypes.bfloat16, "float64", "int32", "uint8", "bool")
    inputs = [(RNG.standard_normal(n) * 3).astype(kind) for kind in kinds[:4]]
    inputs += [RNG.integers(-(1 << 31), 1 << 31, n, "int32"), RNG.integers(0, 256, n, "uint8"), RNG.random(n) < 0.5]
    found, expected = ([np.zeros(n, kind) for kind in kinds] for _ in range(2))
    function = everything()
    run_by_threads(function, *inputs, *found)
    run(function, [*inputs, *expected])
    for a, b in zip(found, expected, strict=True):
        if a.dtype in ("float32", "float64"):
            np.testing.assert_allclose(a, b, rtol=1e-6)
        else:
            np.testing.assert_array_equal(a, b)
