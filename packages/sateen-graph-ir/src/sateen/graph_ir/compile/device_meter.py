"""What a device does at most: float32 multiply-adds in registers, and bytes of memory, measured by kernels of ours."""

from __future__ import annotations

from sateen.graph_ir.compile.launch_list import launches_of
from sateen.runtime import Artifact, Device, DType, Parameter, Session, SessionModel, Step, Target
from sateen.runtime.launches import BlockPlace
from sateen.tensor_ir import Machine
from sateen.tensor_ir.codegen import TARGET_KINDS
from sateen.tensor_ir.ir import (
    Allocate,
    Buffer,
    Expr,
    For,
    Function,
    Load,
    LoopKind,
    Scope,
    Stmt,
    Store,
    Var,
    cast,
    const,
    sequence,
)
from sateen.tensor_ir.lowering import spread_over_threads
from sateen.tensor_ir.version import __version__

FLOAT32 = DType.of("float32")
CHAINS = 96
"""Sums of a thread that do not wait for each other."""
FIRST_ROUNDS, MOST_ROUNDS = 8, 4096
SECONDS = 0.02
"""What a measurement of multiply-adds should take."""
ELEMENTS = 1 << 23
"""The elements of float32 that are copied: more than caches hold."""
BLOCK_THREADS = 256
LEAST_THREADS = 64 * BLOCK_THREADS
"""Blocks enough for all cores of a processor, which holds a thread at a time."""


class DeviceMeter:
    """Measures the device of a session that runs networks for a target: the first of its kind, or `device`. Raises the
    errors of loading one there."""

    def __init__(self, session: Session, target: Target, device: Device | None = None) -> None:
        gpu = Machine.of(target).gpu
        assert gpu is not None, f"{target} is a processor"
        threads = max(gpu.units * gpu.unit_threads, LEAST_THREADS)
        with session.load_model(_network(_chains(threads, FIRST_ROUNDS), target), device=device) as first:
            wanted = SECONDS / max(_seconds(first), SECONDS * FIRST_ROUNDS / MOST_ROUNDS)
        rounds = max(FIRST_ROUNDS, int(FIRST_ROUNDS * wanted))
        self._operations = 2 * threads * CHAINS * rounds
        self._chains = session.load_model(_network(_chains(threads, rounds), target), device=device)
        self._copy = session.load_model(_network(_copy(), target), device=device)

    def sample(self) -> float:
        """One measurement of float32 multiply-adds, each of which counts as two, in GFLOP/s."""
        return self._operations / _seconds(self._chains) / 1e9

    def bandwidth(self) -> float:
        """One measurement of bytes per second, read and written, in GB/s."""
        return 2 * ELEMENTS * FLOAT32.bytes / _seconds(self._copy) / 1e9


def _seconds(model: SessionModel) -> float:
    return model.time_steps({}, 1)[0].median


def _network(function: Function, target: Target) -> Artifact:
    """A network of one kernel, whose arrays lie in the workspace."""
    network = TARGET_KINDS[target.kind].network
    assert network is not None
    kernels, (program,) = network([spread_over_threads(function, BLOCK_THREADS)], target)
    sizes = [_bytes(b) for b in function.parameters]
    offsets = [sum(sizes[:i]) for i in range(len(sizes))]
    done = Parameter("done", FLOAT32, (1,), None, FLOAT32.bytes, is_output=True)
    places = [BlockPlace(2, offset, size) for offset, size in zip(offsets, sizes, strict=True)]
    return Artifact(
        f"sateen-graph-ir {__version__}",
        str(target),
        (),
        (done,),
        sum(sizes),
        b"",
        b"",
        steps=(Step(function.name, (function.name,), (), (), (), 0, sum(sizes)),),
        kernels=kernels,
        actions=tuple(launches_of(program, places)),
    )


def _bytes(b: Buffer) -> int:
    return (b.size() or 0) * b.dtype.bytes


def _copy() -> Function:
    """out[i] = data[i]."""
    data, out = (Buffer(name, (const(ELEMENTS),), FLOAT32) for name in ("data", "out"))
    i = Var("i")
    body = For(i, const(0), const(ELEMENTS), LoopKind.PARALLEL, Store(out, (i,), Load(data, (i,), FLOAT32)))
    return Function("copy", (data, out), frozenset({out}), body)


def _chains(threads: int, count: int) -> Function:
    """x = x * 0.5 + 0.5, `count` times, for independent values x of each thread, which begin differently."""
    out = Buffer("out", (const(threads), const(CHAINS)), FLOAT32)
    x = Buffer("x", (const(CHAINS),), FLOAT32, Scope.LOCAL)
    thread, half = Var("thread"), const(0.5)

    def chains(target: Buffer, first: tuple[Expr, ...], start: bool = False) -> Stmt:
        chain = Var("chain")
        value = Load(x, (chain,), FLOAT32)
        step = cast(FLOAT32, thread * CHAINS + chain) if start else value * half + half
        store = Store(target, (*first, chain), value if target is out else step)
        return For(chain, const(0), const(CHAINS), LoopKind.UNROLLED, store)

    rounds = For(Var("round"), const(0), const(count), LoopKind.SERIAL, chains(x, ()))
    body = Allocate(x, sequence(chains(x, (), start=True), rounds, chains(out, (thread,))))
    return Function("chains", (out,), frozenset({out}), For(thread, const(0), const(threads), LoopKind.PARALLEL, body))
