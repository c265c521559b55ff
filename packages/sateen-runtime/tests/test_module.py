import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sateen.runtime import (
    ArgumentError,
    ArtifactError,
    ExecutionError,
    Hosting,
    HostPool,
    Metadata,
    Module,
    OutOfMemoryError,
    Signature,
    Target,
    array,
    empty,
    load_module,
)
from sateen.runtime.dtype import DType
from sateen.runtime.module import arrays_of
from sateen.runtime.signature import Parameter


@pytest.fixture
def module(library: bytes) -> Module:
    return load_module(library, pool=HostPool())  # its table has no functions, so no other library may get it


def facts(module: Module) -> tuple[int, int]:
    """The cap on threads and the context of the host table that a module's functions are given."""
    found = empty(2, "int64")
    module["host"](found)
    threads, context = found.numpy().tolist()
    return threads, context


def test_a_function_writes_its_output(module: Module) -> None:
    a, b, c = array(np.full((3, 4), 2, np.float32)), array(np.full((3, 4), 5, np.float32)), empty((3, 4))
    module["add"](a, b, c)
    assert (c.numpy() == 7).all()


def test_numpy_arrays_are_passed_in_place(module: Module) -> None:
    a, b, c = (empty((5, 4)).numpy() for _ in range(3))
    a[:], b[:] = 1, 2
    module["add"](a, b, c)
    assert (c == 3).all()


def test_a_bound_call_repeats(module: Module) -> None:
    a, b, c = array(np.ones((1, 4), np.float32)), array(np.ones((1, 4), np.float32)), empty((1, 4))
    run = module["add"].bind(a, b, c)
    run()
    a.numpy()[:] = 4
    run()
    assert (c.numpy() == 5).all()


def test_a_file_is_loaded(library: bytes, signatures: tuple[Signature, ...], tmp_path: Path) -> None:
    path = tmp_path / "kernels.so"
    path.write_bytes(library)
    assert list(load_module(path, pool=HostPool()).functions) == [signature.name for signature in signatures]


def test_a_module_shows_its_signatures(module: Module) -> None:
    assert str(module["add"].signature) == "add(A: float32[n, 4], B: float32[n, 4], C: float32[n, 4] out)"
    assert "host(facts: int64[2] out)" in repr(module)


def test_a_function_outlives_its_module(library: bytes) -> None:
    host = load_module(library, pool=HostPool())["host"]
    found = empty(2, "int64")
    host(found)
    assert found.numpy()[0] == 0


def test_a_module_of_one_function_is_called_itself(module: Module) -> None:
    signature = module["host"].signature
    address = {"host": module._addresses["host"]}
    alone = Module([signature], address, owner=module)
    found = empty(2, "int64")
    alone(found)
    with pytest.raises(ArgumentError, match="expected a module of one function to call, found one of add, fail, host"):
        module(found)


def test_an_unknown_function_is_named_with_those_there_are(module: Module) -> None:
    with pytest.raises(
        ArgumentError, match=r"expected a function of this module, one of add, fail, host, .*; found 'sub'"
    ):
        module["sub"]


@pytest.mark.parametrize(
    ("a", "error"),
    [
        (np.zeros((2, 4)), r"add: argument 0 \(A\): expected float32, found float64"),
        (np.zeros(4, np.float32), r"argument 0 \(A\): expected 2 dimensions, shape \(n, 4\), found shape \(4,\)"),
        (np.zeros((2, 5), np.float32), r"expected 4 in dimension 1 of shape \(n, 4\), found shape \(2, 5\)"),
        (empty((4, 2)).numpy().T, r"argument 0 \(A\): expected compact strides, found strides \(1, 2\)"),
        (empty((3, 4)).numpy()[1:], r"expected memory aligned to 64 bytes, found 16; runtime\.array makes"),
        ([[1.0] * 4] * 2, r"add: argument 0 \(A\): expected an array that speaks DLPack, found list"),
    ],
)
def test_a_wrong_argument_is_refused(module: Module, a: Any, error: str) -> None:
    with pytest.raises(ArgumentError, match=error):
        module["add"](a, empty((2, 4)), empty((2, 4)))


def test_extents_that_contradict_each_other_are_refused(module: Module) -> None:
    with pytest.raises(ArgumentError, match=r"add: argument 1 \(B\): expected n = 2 as in A in dimension 0 of shape"):
        module["add"](empty((2, 4)), empty((3, 4)), empty((2, 4)))


def test_a_wrong_count_is_refused(module: Module) -> None:
    with pytest.raises(ArgumentError, match=r"add: expected 3 arguments \(A, B, C\), found 2"):
        module["add"](empty((2, 4)), empty((2, 4)))


def test_a_number_is_an_input_without_dimensions() -> None:
    kinds = [DType.of(name) for name in ("float32", "int8", "bool")]
    signature = Signature("f", (*(Parameter(str(k), k, ()) for k in kinds), Parameter("x", kinds[0], (2,))))
    x = np.zeros(2, "float32")
    taken = arrays_of(signature, (2, np.int64(-3), True, x))
    assert [(a.dtype, a.shape, a.numpy().tolist()) for a in taken[:3]] == [
        (kinds[0], (), 2.0),
        (kinds[1], (), -3),
        (kinds[2], (), True),
    ]
    rounded = arrays_of(signature, (np.float64(0.1), np.uint8(3), np.bool_(False), x))
    assert [a.numpy().tolist() for a in rounded[:3]] == [np.float32(0.1), 3, False]
    assert arrays_of(signature, (float("-inf"), 1, True, x))[0].numpy() == -np.inf
    assert np.isnan(arrays_of(signature, (float("nan"), 1, True, x))[0].numpy())
    for numbers, error in (
        ((2, 2.5, True, x), "argument 1 (int8): expected a number of int8, found 2.5"),
        ((2, 200, True, x), "argument 1 (int8): expected a number of int8, found 200"),
        ((2, 3.0, True, x), "argument 1 (int8): expected a number of int8, found 3.0"),
        ((2, True, True, x), "argument 1 (int8): expected a number of int8, found True"),
        ((2, np.bool_(True), True, x), "argument 1 (int8): expected a number of int8, found"),
        ((2, 1, 3, x), "argument 2 (bool): expected a number of bool, found 3"),
        ((2, 1, 1, x), "argument 2 (bool): expected a number of bool, found 1"),
        ((True, 1, True, x), "argument 0 (float32): expected a number of float32, found True"),
        ((np.complex64(1), 1, True, x), "argument 0 (float32): expected a number of float32, found"),
        ((1e39, 1, True, x), "argument 0 (float32): expected a number of float32, found 1e+39"),
        ((10**400, 1, True, x), "argument 0 (float32): expected a number of float32, found 1000"),
        ((2, 1, True, 3.0), "argument 3 (x): expected an array that speaks DLPack, found float"),
    ):
        with pytest.raises(ArgumentError, match=re.escape(error)):
            arrays_of(signature, numbers)


def test_a_read_only_output_is_refused_and_a_read_only_input_is_not(module: Module) -> None:
    fixed = np.broadcast_to(np.float32(1), (2, 4)).copy()
    value = array(fixed).numpy()
    value.flags.writeable = False
    module["add"](value, value, empty((2, 4)))
    with pytest.raises(
        ArgumentError, match=r"add: argument 2 \(C\): expected memory to write the output to, found a read"
    ):
        module["add"](empty((2, 4)), empty((2, 4)), value)


def test_an_output_that_is_an_input_is_refused(module: Module) -> None:
    a = empty((2, 4))
    with pytest.raises(
        ArgumentError, match=r"add: argument 2 \(C\): expected memory of its own, found memory that another"
    ):
        module["add"](a, empty((2, 4)), a)


def test_failures_of_the_code_are_errors(module: Module) -> None:
    with pytest.raises(OutOfMemoryError, match="fail: no memory left for its workspace"):
        module["fail"](array([9]))
    with pytest.raises(ExecutionError, match="fail: the device refused a kernel"):
        module["fail"].bind(array([12]))()


def test_libraries_share_the_pool_of_the_first(compile_library: Callable[..., bytes]) -> None:
    pool = HostPool()
    first, second = load_module(compile_library(), pool=pool), load_module(compile_library(), threads=2, pool=pool)
    apart = load_module(compile_library(), pool=HostPool())
    assert facts(first)[1] == facts(second)[1] != facts(apart)[1]
    assert (facts(first)[0], facts(second)[0]) == (0, 2)
    assert facts(first.with_threads(1)) == (1, facts(first)[1])


def test_the_shared_pool_stays_when_its_library_is_dropped(library: bytes) -> None:
    pool = HostPool()
    context = facts(load_module(library, pool=pool))[1]
    assert facts(load_module(library, pool=pool))[1] == context


def test_code_without_a_pool_falls_back_on_its_own(module: Module) -> None:
    alone = Module([module["host"].signature], module._addresses, owner=module, hosting=Hosting(HostPool()))
    found = empty(2, "int64")
    alone(found)
    assert found.numpy().tolist() == [-1, -1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
def test_a_forked_child_calls_functions(module: Module) -> None:
    a, c = array(np.ones((2, 4), np.float32)), empty((2, 4))
    child = os.fork()
    if child == 0:
        module["add"](a, array(np.ones((2, 4), np.float32)), c)
        os._exit(0 if (c.numpy() == 2).all() else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("version", [1, 2])
def test_a_status_is_read_as_the_library_of_its_version_means_it(
    compile_library: Callable[..., bytes], version: int
) -> None:
    module = load_module(compile_library(version=version), pool=HostPool())
    with pytest.raises(ArgumentError, match=r"argument 1 \(B\): expected 4 in dimension 1 of shape \(n, 4\)"):
        module["add"](*[array(np.ones((2, size), np.float32)) for size in (4, 5, 4)])


def test_a_library_of_another_abi_is_refused(compile_library: Callable[..., bytes]) -> None:
    with pytest.raises(
        ArtifactError, match="library: expected ABI 1 to 2, found ABI 3: the sateen-runtime is older, renew it"
    ):
        load_module(compile_library(version=3))
    with pytest.raises(
        ArtifactError, match="library: expected ABI 1 to 2, found ABI 0: the library is older, renew it"
    ):
        load_module(compile_library(version=0))


def test_a_library_without_its_functions_is_refused(
    compile_library: Callable[..., bytes], signatures: tuple[Signature, ...]
) -> None:
    metadata = Metadata("tests", str(Target.host()), signatures).to_json().replace('"add"', '"sub"')
    with pytest.raises(ArtifactError, match="expected the functions that its metadata names, found no sub"):
        load_module(compile_library(metadata))


@pytest.mark.parametrize(
    ("target", "error"),
    [
        ("lvm", "library: expected a kind of target, one of llvm, .*; found 'lvm'"),
        (
            f"{Target('llvm', Target.host().triple)} -mattr=+quantum",
            "for this processor, found one that needs quantum; compile",
        ),
        ("llvm -mtriple=z80-unknown-none", "for this processor, found one that needs z80; compile it for llvm"),
    ],
)
def test_a_library_for_another_target_is_refused(
    compile_library: Callable[..., bytes], signatures: tuple[Signature, ...], target: str, error: str
) -> None:
    with pytest.raises(ArtifactError, match=error):
        load_module(compile_library(Metadata("tests", target, signatures).to_json()))


def test_corrupt_metadata_is_refused(compile_library: Callable[..., bytes]) -> None:
    with pytest.raises(ArtifactError, match="library: expected the metadata of a library as JSON"):
        load_module(compile_library("{"))


@pytest.mark.skipif(sys.platform != "linux", reason="takes the C library of Linux as the foreign one")
def test_a_library_of_others_is_refused() -> None:
    foreign = next(Path("/").glob("lib/*-linux-gnu*/libm.so.6"), None)
    if foreign is None:
        pytest.skip("no libm.so.6 at the place where Debian has it")
    with pytest.raises(
        ArtifactError, match="expected a library that sateen compiled, found one without sateen_abi_version"
    ):
        load_module(foreign)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"missing\.so: expected a library to read: No such file or directory"):
        load_module(tmp_path / "missing.so")
