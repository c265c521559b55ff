"""What LLVM keeps once for a process stays as its other users know it, whoever comes first or forks."""

import os
import subprocess
import sys
from collections.abc import Iterator

import llvmlite.binding as llvm
import pytest

from sateen.tensor_ir import build_functions
from sateen.tensor_ir.codegen.llvm.process import initialise, without_hoisting
from sateen.tensor_ir.ir.parser import parse_function

OTHERS_LOOP = """
define void @others(ptr noalias %p, i64 %n) {
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %following, %next ]
  %at = getelementptr <4 x double>, ptr %p, i64 %i
  %value = load <4 x double>, ptr %at
  %sum = fadd <4 x double> %value, <double 3.0, double 4.0, double 5.0, double 7.0>
  store <4 x double> %sum, ptr %at
  %following = add i64 %i, 1
  %is.more = icmp slt i64 %following, %n
  br i1 %is.more, label %next, label %done
done:
  ret void
}
"""
WITH_A_REGISTER_TILE = """\
function f(a: float32[96] align 4, b: out float32[96] align 4)
  allocate tile: register float32[96]
  vectorized i in [0, 96):
    tile[i] = a[i]
  vectorized i in [0, 96):
    b[i] = tile[i]
"""


def others_code(target: str = "") -> str:
    """What another user of LLVM in this process gets."""
    initialise()
    machine = llvm.Target.from_triple(target or llvm.get_process_triple()).create_target_machine(opt=2)
    return str(machine.emit_assembly(llvm.parse_assembly(OTHERS_LOOP)))


@pytest.fixture
def nothing_hoisted() -> Iterator[None]:
    """Another user's own choice of the option that `without_hoisting` sets."""
    initialise()
    llvm.set_option("other", "-disable-machine-licm=true")
    yield
    llvm.set_option("other", "-disable-machine-licm=false")


@pytest.mark.parametrize("target", ["", "aarch64-linux-gnu"])
def test_code_of_others_stays_the_same_when_a_register_tile_is_compiled(target: str) -> None:
    before = others_code(target)
    module = build_functions([parse_function(WITH_A_REGISTER_TILE)])
    assert others_code(target) == before
    module.assembly()
    assert others_code(target) == before


@pytest.mark.usefixtures("nothing_hoisted")
def test_an_option_that_somebody_else_has_set_stays_set() -> None:
    before = others_code()
    build_functions([parse_function(WITH_A_REGISTER_TILE)])
    assert others_code() == before


def test_options_are_restored_when_compiling_is_interrupted() -> None:
    before, between = others_code(), []

    def interrupted() -> None:
        with without_hoisting():
            between.append(others_code())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert between != [before] == [others_code()]


def run_in_process(program: str) -> None:
    """Runs `program` in an interpreter of its own, which must end well and say nothing."""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


BUILT = """
import os, sys, threading
import numpy as np
from sateen import runtime
from sateen.tensor_ir import build_functions
from sateen.tensor_ir.compiled_module import process_pool
from sateen.tensor_ir.codegen.llvm import process_jit
from sateen.tensor_ir.codegen.llvm.process import LLVM_LOCK
from sateen.tensor_ir.ir.parser import parse_function

TEXT = '''\\
function f(a: float32[4096] align 4, b: out float32[4096] align 4)
  parallel i in [0, 4096):
    b[i] = a[i] * float32(2)
'''

def built():
    return build_functions([parse_function(TEXT)])

def fine(module):
    a, b = np.ones(4096, np.float32), np.zeros(4096, np.float32)
    module(a, b)
    return (b == 2).all()
"""


def test_two_first_callers_share_one_linker_and_one_pool() -> None:
    program = """
modules, found, together = [built(), built()], [], threading.Barrier(2)

def first(module):
    together.wait()
    found.append((process_jit(), process_pool(), fine(module)))

threads = [threading.Thread(target=first, args=(module,)) for module in modules]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
(jit, pool, one), (other_jit, other_pool, other) = found
assert jit is other_jit is process_jit()
assert pool is other_pool is process_pool()
assert one and other
"""
    run_in_process(BUILT + program)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_waits_for_a_thread_inside_llvm_so_that_the_child_can_compile() -> None:
    program = """
assert fine(built())
inside, through = threading.Event(), threading.Event()

def compiling():
    with LLVM_LOCK:
        inside.set()
        while not waits_for_the_lock(threading.main_thread()):
            pass
        through.set()

def waits_for_the_lock(thread):
    code = sys._current_frames()[thread.ident].f_code
    return (code.co_name, os.path.basename(code.co_filename)) == ("__enter__", "ffi.py")

thread = threading.Thread(target=compiling)
thread.start()
inside.wait()
child = os.fork()
if child == 0:
    os._exit(0 if through.is_set() and fine(built()) else 1)
assert os.waitpid(child, 0)[1] == 0
thread.join()
assert fine(built())
"""
    run_in_process(BUILT + program)
