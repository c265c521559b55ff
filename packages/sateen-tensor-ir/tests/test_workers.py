from __future__ import annotations

import os
import signal
import struct
import subprocess
from concurrent.futures import CancelledError
from io import BytesIO

import pytest

from sateen.runtime import CodegenError
from sateen.runtime.isolation import isolated_program
from sateen.tensor_ir import te
from sateen.tensor_ir.codegen import workers
from sateen.tensor_ir.codegen.workers import CompilerPool, receive_message
from sateen.tensor_ir.lowering import lower


def _function():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] * 2.0, name="B")
    return lower(te.create_schedule(B), [A, B], "twice")


def test_an_interrupt_from_the_terminal_does_not_reach_workers():
    with CompilerPool(1) as pool:
        (worker,) = pool._workers
        assert os.getpgid(worker.process.pid) != os.getpgid(0)
        (code,) = pool.compile([_function()])
        assert code.symbols == ("twice",)
        internal = pool.submit(_function(), internal=True).result()
        assert internal.symbols == ()
        assert len(internal.code) < len(code.code)
    assert worker.process.returncode == 0


@pytest.mark.parametrize(
    ("stream", "words"),
    [
        (struct.pack("<Q", 4 << 40), "expected a message of at most 1073741824 bytes, found 4398046511104"),
        (struct.pack("<Q", 3) + b"[1]", "expected a message of a JSON object, found list"),
        (struct.pack("<Q", 9) + b"{", "Expecting property name"),
    ],
)
def test_what_is_no_message_is_refused_before_there_is_memory_for_it(stream, words):
    with pytest.raises(ValueError, match=words):
        receive_message(BytesIO(stream))


def test_a_worker_whose_output_is_no_answer_is_replaced():
    with CompilerPool(1) as pool:
        (worker,) = pool._workers
        noise = isolated_program("import sys; sys.stdout.write('noise that is no length'); sys.stdout.flush()")
        real, started = worker.process, subprocess.Popen(noise, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        worker.process = started
        with pytest.raises(CodegenError, match="the compiler's process ended with status 0 while compiling twice"):
            pool.compile([_function()])
        assert pool.compile([_function()])[0].symbols == ("twice",)
        real.communicate()


NEVER_ANSWERS = isolated_program("import sys; sys.stdin.buffer.read()")


@pytest.fixture
def silent(monkeypatch):
    """Workers that take requests and give no answer as long as they may go on."""
    start = subprocess.Popen
    monkeypatch.setattr(workers.subprocess, "Popen", lambda command, **options: start(NEVER_ANSWERS, **options))


@pytest.mark.parametrize("error", [KeyboardInterrupt, CodegenError])
@pytest.mark.usefixtures("silent")
def test_an_interrupt_or_error_ends_workers_amid_their_requests(error):
    pool = CompilerPool(2)

    def interrupted():
        with pool:
            submitted.extend(pool.submit(_function()) for _ in range(4))
            while not pool._idle.empty():
                pass  # until both workers are taken
            raise error

    submitted = []
    with pytest.raises(error):
        interrupted()
    assert [worker.process.returncode for worker in pool._workers] == [-signal.SIGKILL] * 2
    for future in submitted[:2]:
        with pytest.raises(CodegenError, match="the compiler's process ended with status -9 while compiling twice"):
            future.result()
    for future in submitted[2:]:
        with pytest.raises(CancelledError):
            future.result()


def test_a_pool_that_is_interrupted_while_it_starts_leaves_no_worker(monkeypatch):
    started, start = [], subprocess.Popen

    def interrupted(*arguments, **options):
        if started:
            raise KeyboardInterrupt
        started.append(start(*arguments, **options))
        return started[0]

    monkeypatch.setattr(workers.subprocess, "Popen", interrupted)
    with pytest.raises(KeyboardInterrupt):
        CompilerPool(2)
    assert started[0].returncode == -signal.SIGKILL


def test_a_request_that_is_interrupted_is_not_answered_to_the_next(monkeypatch):
    with CompilerPool(1) as pool:
        (worker,) = pool._workers
        first, receive = worker.process, workers.receive_message

        def interrupted(_stream):
            monkeypatch.setattr(workers, "receive_message", receive)
            raise KeyboardInterrupt

        monkeypatch.setattr(workers, "receive_message", interrupted)
        with pytest.raises(KeyboardInterrupt):
            worker.request({"names": ["other"], "functions": [], "target": "llvm"})
        assert first.returncode == -signal.SIGKILL
        (code,) = pool.compile([_function()])
        assert code.symbols == ("twice",)


def test_workers_that_are_not_at_once_start_with_the_first_request_that_finds_none_idle():
    with CompilerPool(2, at_once=False) as pool:
        assert pool._workers == []
        for _ in range(2):
            assert pool.compile([_function()])[0].symbols == ("twice",)
            assert len(pool._workers) == 1
        assert [code.symbols for code in pool.compile([_function()] * 2)] == [("twice",)] * 2
        (*_, last) = pool._workers
    assert last.process.returncode == 0


@pytest.mark.usefixtures("silent")
def test_no_worker_starts_in_a_pool_that_was_ended():
    pool = CompilerPool(1, at_once=False)
    with pytest.raises(KeyboardInterrupt), pool:
        raise KeyboardInterrupt
    with pytest.raises(CodegenError, match="found one that an error or an interrupt has ended"):
        pool._answer({"names": ["twice"]})
    assert pool._workers == []
