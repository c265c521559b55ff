"""Functions in C99: memory and tasks of their host, the public function, and what C lacks."""

import ctypes
import re

import numpy as np
import pytest

from sateen.runtime import array
from sateen.runtime.abi import ABI_VERSION, DLTensor, SateenHost, Status
from sateen.runtime.errors import ArgumentError, CodegenError
from sateen.tensor_ir import build_functions, te
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.lowering import lower

RNG = np.random.default_rng(0)


def parsed(text):
    return parse_function(text.strip())


def floats(*shape):
    return RNG.standard_normal(shape).astype("float32")


def matmul(m, n, k):
    a, b = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    r = te.reduce_axis(k, "r")
    c = te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    return te.create_schedule(c), a, b, c


# Memory and tasks.


def two_stages(symbolic, place):
    """C[i, j] = (2 A)[i, 7 - j] + 1, the doubled tensor in global memory, computed at root or in the parallel loop."""
    n = te.var("n") if symbolic else 12
    a = te.placeholder((n, 8), name="A")
    b = te.compute((n, 8), lambda i, j: a[i, j] * 2.0, name="B")
    c = te.compute((n, 8), lambda i, j: b[i, 7 - j] + 1.0, name="C")
    s = te.create_schedule(c)
    s[c].parallel(c.op.axis[0])
    if place == "task":
        s[b].compute_at(s[c], c.op.axis[0])
    return lower(s, [a, c], "f")


class Host:
    """A host table that counts allocations, refuses those beyond `limit`, and cuts loops into single iterations."""

    def __init__(self, limit=100):
        self.live = {}
        self.count = 0
        self.chunks = []
        task = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)

        def parallel_for(_, address, closure, extent):
            self.chunks.append(extent)
            statuses = [task(address)(closure, i, i + 1) for i in range(extent)]
            return next(filter(None, statuses), 0)

        def alloc(_, size, alignment):
            self.count += 1
            if self.count > limit:
                return None
            block = ctypes.create_string_buffer(size + alignment)
            address = -(-ctypes.addressof(block) // alignment) * alignment
            self.live[address] = block
            return address

        def free(_, address):
            del self.live[address]

        p, i64 = ctypes.c_void_p, ctypes.c_int64
        self.functions = (
            ctypes.CFUNCTYPE(ctypes.c_int32, p, p, p, i64)(parallel_for),
            ctypes.CFUNCTYPE(p, p, ctypes.c_uint64, ctypes.c_uint64)(alloc),
            ctypes.CFUNCTYPE(None, p, p)(free),
        )
        addresses = [ctypes.cast(f, p).value for f in self.functions]
        self.table = SateenHost(ABI_VERSION, 0, None, *addresses, None, None)

    def call(self, function, *arrays):
        """The status of a call with this host."""
        pointers = (ctypes.c_void_p * len(arrays))(*[a.handle for a in arrays])
        return function._call(ctypes.addressof(self.table), pointers, len(arrays))


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("place", ["kernel", "task"])
def test_memory_between_stages_comes_from_the_host_and_goes_back(compiled_c, symbolic, place):
    function = compiled_c(two_stages(symbolic, place))["f"]
    x = floats(12, 8)
    a, c = array(x), array(np.zeros((12, 8), "float32"))
    host = Host()
    assert host.call(function, a, c) == 0
    np.testing.assert_array_equal(c.numpy(), x[:, ::-1] * 2 + 1)
    assert (host.live, host.chunks) == ({}, [12])
    assert host.count == (1 if place == "kernel" else 12)


def test_null_pointers_are_reported(compiled_c):
    function = compiled_c(two_stages(True, "kernel"))["f"]
    host = Host()
    assert function._call(ctypes.addressof(host.table), None, 2) == Status.NULL_ARGUMENT
    for changed in ({"data": None}, {"shape": ctypes.POINTER(ctypes.c_int64)()}):
        a, c = array(floats(12, 8)), array(np.zeros((12, 8), "float32"))
        tensor = DLTensor.from_address(c.handle)
        for name, value in changed.items():
            setattr(tensor, name, value)
        assert host.call(function, a, c) == Status.NULL_ARGUMENT | 1 << 8


@pytest.mark.parametrize("place", ["kernel", "task"])
def test_a_lack_of_memory_is_reported_and_nothing_is_kept(compiled_c, place):
    function = compiled_c(two_stages(True, place))["f"]
    a, c = array(floats(12, 8)), array(np.zeros((12, 8), "float32"))
    for limit in (0, 5) if place == "task" else (0,):
        host = Host(limit)
        assert host.call(function, a, c) == 9
        assert host.live == {}


def test_private_memory_beyond_a_stack_comes_from_the_host(compiled_c):
    a = te.placeholder((40000,), name="A")
    b = te.compute((40000,), lambda i: a[i] * 2.0, name="B")
    c = te.compute((40000,), lambda i: b[39999 - i], name="C")
    s = te.create_schedule(c)
    s[b].set_scope("local")
    function = compiled_c(lower(s, [a, c], "f"))["f"]
    host = Host()
    x, y = array(floats(40000)), array(np.zeros(40000, "float32"))
    assert (host.call(function, x, y), host.count, host.live) == (0, 1, {})
    np.testing.assert_array_equal(y.numpy(), x.numpy()[::-1] * 2)


# The public function.


def test_the_metadata_tells_the_signature(compiled_c):
    n = te.var("n")
    a, b = te.placeholder((n, 4), name="A"), te.placeholder((n, 4), "int8", name="A")
    c = te.compute((n, 4), lambda i, j: a[i, j] + b[i, j].astype("float32"), name="C")
    module = compiled_c(lower(te.create_schedule(c), [a, b, c], "f"))
    assert str(module["f"].signature) == "f(A: float32[n, 4], A_1: int8[n, 4], C: float32[n, 4] out)"


def test_metadata_may_be_longer_than_a_string_of_c(compiled_c):
    functions = []
    for i in range(20):
        s, *tensors = matmul(2, 2, 2)
        functions.append(lower(s, tensors, f"matmul_{i}"))
    assert len(compiled_c(*functions).functions) == 20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda a, b, c: (a, b), "f: expected 3 arguments (A, B, C), found 2"),
        (lambda a, b, c: (a.astype("float64"), b, c), "f: argument 0 (A): expected float32, found float64"),
        (lambda a, b, c: (a, b[0], c), "f: argument 1 (B): expected 2 dimensions, shape (8, 8), found shape (8,)"),
        (lambda a, b, c: (a, b[:7].copy(), c), "f: argument 1 (B): expected 8 in dimension 0 of shape (8, 8), found"),
        (lambda a, b, c: (a, b.T, c), "f: argument 1 (B): expected compact strides, found strides (1, 8)"),
        (lambda a, b, c: (a, b, a), "f: argument 2 (C): expected memory of its own, found memory that ano"),
        (
            lambda a, b, c: (a, b, np.zeros(257, "uint8")[1:].view("float32").reshape(8, 8)),
            "f: argument 2 (C): expected memory aligned to 4 bytes, found",
        ),
    ],
)
def test_a_wrong_argument_is_refused(compiled_c, arguments, message):
    s, a, b, c = matmul(8, 8, 8)
    function = compiled_c(lower(s, [a, b, c], "f"))
    given = arguments(floats(8, 8), floats(8, 8), np.zeros((8, 8), "float32"))
    with pytest.raises(ArgumentError, match=re.escape(message)):
        function(*given)


def test_a_host_of_another_abi_is_refused(compiled_c):
    s, a, b, c = matmul(8, 8, 8)
    function = compiled_c(lower(s, [a, b, c], "f"))["f"]
    host = Host()
    host.table.abi_version = 1
    assert host.call(function, *(array(floats(8, 8)) for _ in range(3))) == 10


def test_overlapping_arguments_may_be_declared(compiled_c):
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="B")
    function = compiled_c(lower(te.create_schedule(b), [a, b], "f", aliased=[a, b]))
    x = array(floats(8))
    expected = x.numpy() + 1
    function(x, x)
    np.testing.assert_array_equal(x.numpy(), expected)


# What C lacks.


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("B[0] = frobnicate(A[0])", "no rule serves the call of 'frobnicate' giving float32"),
        ("notify:int32(1)", "f: C99 has no function 'notify' of int32 that could be called for its effect"),
        ("B[0] = float32(float8_e5m2(A[0]))", "f: C99 has no type float8_e5m2; it has int8, int16, "),
        ("barrier shared", "f: C99 has no threads to wait for at a barrier shared"),
    ],
)
def test_what_c_lacks_is_refused(statement, message):
    with pytest.raises(CodegenError, match=re.escape(message)):
        build_functions([parsed(f"function f(A: float32[4], B: out float32[4])\n  {statement}")], "c")


def test_an_extent_that_no_argument_has_is_refused():
    n = te.var("n")
    a = te.placeholder((n + 1,), name="A")
    b = te.compute((4,), lambda i: a[i], name="B")
    with pytest.raises(CodegenError, match="f: no argument's shape gives the extent 'n'"):
        build_functions([lower(te.create_schedule(b), [a, b], "f")], "c")


def test_memory_whose_size_is_data_is_refused():
    text = """
function f(N: int64[1], B: out float32[4])
  let n = index(N[0])
  allocate T: float32[n]
    T[0] = 1.0f
    B[0] = T[0]
"""
    message = "f: the size of 'T' expects extents of the arguments, found 'n', which is known only where"
    with pytest.raises(CodegenError, match=re.escape(message)):
        build_functions([parsed(text)], "c")


def test_functions_of_one_name_are_refused():
    s, a, b, c = matmul(2, 2, 2)
    function = lower(s, [a, b, c], "f")
    with pytest.raises(CodegenError, match="expected functions of different names, found f, f"):
        build_functions([function, function], "c")
