"""Schedules that must be refused: per rule, a way to break it on a computation of random extents, and what is said."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from sateen.runtime.errors import CodegenError, SateenError, ScheduleError
from sateen.tensor_ir import build_functions, te
from sateen.tensor_ir.intrinsics import TensorIntrinsic
from sateen.tensor_ir.ir.expr import Expr
from sateen.tensor_ir.lowering import lower
from sateen.tensor_ir.schedule import Stage


class AcceptedError(Exception):
    """A schedule was not refused, or for another reason."""


class Product:
    """D = relu(A·B + b) by way of C = A·B; `rows` makes the first extent symbolic."""

    def __init__(self, rng: Random, *, rows: Expr | None = None) -> None:
        n, m, depth = (rng.randint(5, 40) for _ in range(3))
        self.rng = rng
        self.A, self.B = (
            te.placeholder((rows if rows is not None else n, depth), name="A"),
            te.placeholder((depth, m), name="B"),
        )
        self.b = te.placeholder((m,), name="b")
        self.n, self.m, self.depth = n, m, depth
        k = te.reduce_axis(depth, "k")
        self.C = te.compute((self.A.shape[0], m), lambda i, j: te.sum(self.A[i, k] * self.B[k, j], axis=k), name="C")
        self.D = te.compute(self.C.shape, lambda i, j: te.maximum(self.C[i, j] + self.b[j], 0.0), name="D")
        self.s = te.create_schedule(self.D)
        self.c, self.d = self.s[self.C], self.s[self.D]
        self.i, self.j = self.C.op.axis
        self.x, self.y = self.D.op.axis
        self.k = k

    def factor(self, extent: int) -> int:
        """A number that does not divide the extent."""
        return self.rng.choice([f for f in range(2, extent) if extent % f])

    def lower(self) -> None:
        lower(self.s, [self.A, self.B, self.b, self.D])

    def build(self) -> None:
        build_functions([lower(self.s, [self.A, self.B, self.b, self.D])])


def symbolic(rng: Random) -> Product:
    return Product(rng, rows=te.var("n"))


@dataclass(frozen=True)
class Refusal:
    """A rule: `provoke` breaks it; the error's text matches `text`."""

    name: str
    provoke: Callable[[Random], object]
    text: str
    error: type[SateenError] = ScheduleError

    def check(self, rng: Random) -> None:
        """Raise AcceptedError unless the rule is enforced as it says."""
        try:
            self.provoke(rng)
        except SateenError as error:
            if type(error) is not self.error or not re.search(self.text, str(error)):
                raise AcceptedError(
                    f"{self.name}: expected {self.error.__name__} {self.text!r}, found {error!r}"
                ) from error
        else:
            raise AcceptedError(f"{self.name}: expected {self.error.__name__} {self.text!r}, found no error")


def _then_lower(
    change: Callable[[Product], object], of: Callable[[Random], Product] = Product
) -> Callable[[Random], None]:
    def provoke(rng: Random) -> None:
        p = of(rng)
        change(p)
        p.lower()

    return provoke


def _cached(p: Product) -> Stage:
    """The computation of D, which can be inlined into the copy to it."""
    return p.s[p.s.cache_write(p.D, "local")]


def _inlined_after_split(p: Product) -> None:
    stage = _cached(p)
    stage.split(stage.leaves[0], 2)
    stage.compute_inline()


def _parallel_after_inlining(p: Product) -> None:
    stage = _cached(p)
    stage.compute_inline()
    stage.parallel(stage.leaves[0])


def _then_build(change: Callable[[Product], object]) -> Callable[[Random], None]:
    def provoke(rng: Random) -> None:
        p = Product(rng)
        change(p)
        p.build()

    return provoke


def _on(change: Callable[[Product], object], of: Callable[[Random], Product] = Product) -> Callable[[Random], object]:
    return lambda rng: change(of(rng))


def _used_axis(p: Product) -> None:
    p.d.split(p.x, p.rng.randint(2, 5))
    p.d.split(p.x, 2)


def _cycle(rng: Random) -> None:
    p = Product(rng)
    p.c.compute_at(p.d, p.x)
    E = p.s.cache_write(p.C, "local")
    p.s[E].compute_at(p.c, p.i)
    p.c.attach = (p.s[E], E.op.axis[0])
    p.lower()


def _vanished(p: Product) -> None:
    p.c.compute_at(p.d, p.x)
    p.d.split(p.x, p.rng.randint(2, 5))


def _outside(p: Product) -> None:
    E = p.s.cache_read(p.A, "local", [p.C])
    p.s[E].compute_at(p.d, p.x)


def _inlined_host(p: Product) -> None:
    L = p.s.cache_write(p.D, "local")
    p.c.compute_at(p.s[L], L.op.axis[0])
    p.s[L].compute_inline()


def _overlapping_sums(p: Product) -> None:
    io, ii = p.c.split(p.i, p.rng.randint(2, 4), tail="shift")
    p.c.reorder(p.k, io, ii)


def _shared_overlap(p: Product) -> None:
    io, _ = p.c.split(p.i, p.rng.randint(2, 4), tail="shift")
    p.c.parallel(io)


def _overlapping_tiles(p: Product) -> None:
    _, ji = p.c.split(p.j, 4)
    p.c.split(ji, 3, tail="round_up")


def _beyond_end(p: Product) -> None:
    p.c.split(p.j, p.factor(p.m), tail="round_up")


def _lanes_share(p: Product) -> None:
    p.d.vectorize(p.y)
    p.c.compute_at(p.d, p.y)


def _parallel_parts(p: Product) -> None:
    p.d.parallel(p.x)
    p.c.compute_at(p.d, p.x)
    p.c.double_buffer()


def _untimely_parts(p: Product) -> None:
    tensors = [p.s.cache_read(p.A, "local", [p.C])]
    tensors.append(p.s.cache_read(tensors[0], "local", [p.C]))
    for tensor in tensors:
        p.s[tensor].compute_at(p.c, p.i)
    p.s[tensors[1]].double_buffer()


def _inlined_parts(p: Product) -> None:
    stage = p.s[p.s.cache_read(p.A, "local", [p.C])]
    stage.compute_at(p.c, p.i)
    stage.double_buffer()
    stage.compute_inline()


def _second_sum(rng: Random) -> None:
    p = Product(rng)
    r = te.reduce_axis(p.m, "r")
    T = te.compute((p.n,), lambda i: te.sum(p.C[i, r], axis=r), name="T")
    s = te.create_schedule(T)
    s[p.C].compute_at(s[T], T.op.axis[0])
    s[T].reorder(p.k, T.op.axis[0])


def _inner_block(p: Product) -> None:
    _, ki = p.c.split(p.k, p.rng.randint(2, 4))
    p.c.compute_at(p.d, p.y)
    p.d.reorder(ki, p.x)


def _unaligned_block(rng: Random) -> None:
    n, depth = rng.randint(4, 20), rng.randint(4, 20)
    A, k = te.placeholder((n, n, depth), name="A"), te.reduce_axis(depth, "k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, j, k], axis=k), name="C")
    D = te.compute((n, n), lambda i, j: C[j, i] * 2.0, name="D")
    s = te.create_schedule(D)
    s[C].compute_at(s[D], D.op.axis[0])
    s[D].reorder(k, D.op.axis[0])
    lower(s, [A, D])


def _block_inside(p: Product) -> None:
    p.c.compute_at(p.d, p.x)
    p.d.reorder(p.k, p.x)
    p.d.reorder(p.x, p.k)


def _block_of_tail(p: Product) -> None:
    _, xi = p.d.split(p.x, 4)
    xio, _ = p.d.split(xi, 3)
    p.c.compute_at(p.d, xio)
    p.d.reorder(p.k, *p.d.leaves[:3])


def _block_split(p: Product) -> None:
    p.c.compute_at(p.d, p.x)
    p.d.reorder(p.k, p.x)
    p.d.split(p.k, 2)


def _block_left(p: Product) -> None:
    p.c.compute_at(p.d, p.x)
    p.d.reorder(p.k, p.x)
    p.c.compute_root()


def _at_moved_block(p: Product) -> None:
    p.c.compute_at(p.d, p.x)
    p.d.reorder(p.k, p.x)
    E = p.s.cache_read(p.A, "local", [p.C])
    p.s[E].compute_at(p.c, p.k)


def _late_cache(p: Product) -> None:
    p.c.split(p.k, 2)
    p.s.cache_write(p.C, "local")


def _nothing_ahead(p: Product) -> None:
    p.c.compute_at(p.d, p.y)
    p.d.prefetch(p.C, p.x)


def _registers_ahead(p: Product) -> None:
    p.c.set_scope("register")
    p.d.prefetch(p.C, p.x)


def _ahead_of_nothing(p: Product) -> None:
    p.d.prefetch(p.C, p.x)
    p.d.split(p.x, 2)


def _rows(columns: int, terms: int, *, adds: bool = True) -> TensorIntrinsic:
    """z[j] = Σ x[k]·y[k, j] with compact operands, or only x[0]·y[0, j]."""
    x, y = te.placeholder((terms,), name="x"), te.placeholder((terms, columns), name="y")
    k = te.reduce_axis(terms, "k")
    total = te.compute((columns,), lambda j: te.sum(x[k] * y[k, j], axis=k), name="z")
    first = te.compute((columns,), lambda j: x[0] * y[0, j], name="z")
    return te.decl_tensor_intrin((total if adds else first).op, name="rows", otherwise="definition")


def _tensorized(p: Product, instruction: TensorIntrinsic) -> None:
    p.c.reorder(p.i, p.j, p.k)
    p.c.tensorize(p.j, instruction)


def _in_tiles(p: Product) -> None:
    """All terms of a part of the columns."""
    columns = p.factor(p.m)
    jo, ji = p.c.split(p.j, columns)
    p.c.reorder(p.i, jo, ji, p.k)
    p.c.tensorize(ji, _rows(columns, p.depth))


def _in_strips(p: Product) -> None:
    """Whole tiles of the columns, whose rows are apart."""
    columns = p.rng.randint(2, p.m - 1)
    jo, ji = p.c.split(p.j, columns, tail="shift")
    p.c.reorder(p.i, jo, ji, p.k)
    p.c.tensorize(ji, _rows(columns, p.depth))


def _in_lanes(p: Product) -> None:
    p.c.vectorize(p.i)
    _tensorized(p, _rows(p.m, p.depth))


def _late_split(p: Product) -> None:
    _tensorized(p, _rows(p.m, p.depth))
    p.c.split(p.j, 2)


def _two_instructions(p: Product) -> None:
    _tensorized(p, _rows(p.m, p.depth))
    p.c.tensorize(p.k, _rows(1, p.depth))


def _varying_register(p: Product) -> None:
    p.c.compute_at(p.d, p.x)
    p.c.set_scope("register")


def _shared_registers(p: Product) -> None:
    p.c.set_scope("register")
    p.c.parallel(p.i)


def _parallel_lanes(p: Product) -> None:
    p.d.vectorize(p.x)
    p.d.parallel(p.y)


def _beyond_definition(rng: Random) -> None:
    n, step = rng.randint(2, 30), rng.randint(1, 5)
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i + step], name="B")
    lower(te.create_schedule(B), [A, B])


def _before_definition(rng: Random) -> None:
    n, step = te.var("n"), rng.randint(1, 5)
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i - step], name="B")
    lower(te.create_schedule(B), [A, B])


def _unbounded_region(rng: Random) -> None:
    n = te.var("n")
    A = te.placeholder((n * 2,), name="A")
    H = te.compute((n * 2,), lambda i: A[i] * 2.0, name="H")
    V = te.compute((n,), lambda i: H[i] + H[2 * n - 1 - i], name="V")
    s = te.create_schedule(V)
    o, _ = s[V].split(V.op.axis[0], rng.randint(2, 8))
    s[H].compute_at(s[V], o)
    lower(s, [A, V])


def _arguments(change: Callable[[Product], list[te.Tensor]]) -> Callable[[Random], object]:
    def provoke(rng: Random) -> None:
        p = Product(rng)
        lower(p.s, change(p))

    return provoke


REFUSALS = (
    Refusal("split by 0", _on(lambda p: p.d.split(p.x, 0)), "factor expects an integer of at least 1, found 0"),
    Refusal(
        "split by less", _on(lambda p: p.d.split(p.x, -p.n)), r"factor expects an integer of at least 1, found -\d"
    ),
    Refusal("no parts", _on(lambda p: p.d.split(p.x, nparts=0)), "nparts expects an integer of at least 1, found 0"),
    Refusal("split by both", _on(lambda p: p.d.split(p.x, p.n, p.m)), "give either factor= or nparts="),
    Refusal("split by nothing", _on(lambda p: p.d.split(p.x)), "give either factor= or nparts="),
    Refusal(
        "split of another stage's loop", _on(lambda p: p.d.split(p.i, 2)), "no loop of this stage, whose loops are i, j"
    ),
    Refusal("split of a used axis", _on(_used_axis), "no loop of this stage, whose loops are io, ii, j"),
    Refusal(
        "unknown tail",
        _on(lambda p: p.d.split(p.x, 2, tail="wrap")),
        "tail expects one of guard, partition, .* found 'wrap'",
    ),
    Refusal(
        "shifted reduction",
        _on(lambda p: p.c.split(p.k, 2, tail="shift")),
        "add the overlapping terms of the reduction twice",
    ),
    Refusal(
        "shift of a short loop",
        _on(lambda p: p.d.split(p.x, p.n + 1, tail="shift")),
        r"found extent \d+ and factor \d+",
    ),
    Refusal(
        "shift of a symbolic loop",
        _on(lambda p: p.d.split(p.x, 4, tail="shift"), symbolic),
        "found extent n and factor 4",
    ),
    Refusal(
        "rounded-up output",
        _on(lambda p: p.d.split(p.x, 4, tail="round_up")),
        "is an output, whose storage can't be enlarged",
    ),
    Refusal(
        "rounded-up reduction",
        _on(lambda p: p.c.split(p.k, 4, tail="round_up")),
        "add terms that the reduction does not have",
    ),
    Refusal("rounded-up reads", _then_lower(_beyond_end), r"read 'B' beyond its end: dimension 1 holds \d+ elements"),
    Refusal("rounded-up inner loop", _then_lower(_overlapping_tiles), "would overlap the next tile of 'j'"),
    Refusal("tile of one loop", _on(lambda p: p.d.tile(p.x, p.x, 2, 2)), "two different loops, found it twice"),
    Refusal("fuse unlike axes", _on(lambda p: p.c.fuse(p.j, p.k)), "'j' is a data axis and 'k' a reduce axis"),
    Refusal("fuse backwards", _on(lambda p: p.d.fuse(p.y, p.x)), "must be the loop directly inside 'j'; reorder first"),
    Refusal("fuse nothing", _on(lambda p: p.d.fuse()), "expects at least one axis, found none"),
    Refusal("reorder twice", _on(lambda p: p.d.reorder(p.x, p.y, p.x)), "an axis is named twice"),
    Refusal(
        "reorder a stranger",
        _on(lambda p: p.d.reorder(p.i, p.x)),
        "it is a loop of 'C'; only a reduce loop of a stage computed",
    ),
    Refusal(
        "reorder a distant sum",
        _on(lambda p: p.d.reorder(p.k, p.x)),
        "only a reduce loop of a stage computed at this one",
    ),
    Refusal("block of an inner loop", _on(_inner_block), r"only the outermost reduce loop of 'C' \('ko'\) may move"),
    Refusal("block in a sum", _second_sum, "'T' is a reduction itself"),
    Refusal(
        "block transposed", _unaligned_block, r"only where that alone reads it, element by element; 'D' reads C\[j, i\]"
    ),
    Refusal(
        "block inside", _then_lower(_block_inside), "loop 'k' of 'C' must be outside of 'i', where 'C' is computed"
    ),
    Refusal("block of a tail", _then_lower(_block_of_tail), "tiles of 'D' end where .* fails, inside the tensor"),
    Refusal("block split", _on(_block_split), "it is a loop of 'C', moved here by reorder; split it there before"),
    Refusal("block left", _then_lower(_block_left), "no loop of 'C' any more that is computed here"),
    Refusal(
        "at a moved block",
        _then_lower(_at_moved_block),
        "which reorder has moved into 'D'; compute it at that stage's loop",
    ),
    Refusal(
        "vectorized sum", _on(lambda p: p.c.vectorize(p.k)), "its lanes would race for the result; rfactor it first"
    ),
    Refusal(
        "vectorized symbol",
        _on(lambda p: p.d.vectorize(p.x), symbolic),
        "expects a constant extent, found n; split it first",
    ),
    Refusal(
        "two vectorized loops",
        _on(lambda p: (p.d.vectorize(p.y), p.d.vectorize(p.x))),
        "loop 'j' is vectorized already",
    ),
    Refusal(
        "unrolled symbol",
        _on(lambda p: p.d.unroll(p.x), symbolic),
        "expects a constant extent, found n; split it first",
    ),
    Refusal(
        "parallel sum", _on(lambda p: p.c.parallel(p.k)), "its threads would race for the result; rfactor it first"
    ),
    Refusal(
        "shift inside a sum", _then_lower(_overlapping_sums), "inside the reduce loop 'k', so that overlapping elements"
    ),
    Refusal(
        "shift among threads", _then_lower(_shared_overlap), "shared among threads, so that two of them would add terms"
    ),
    Refusal("at no loop", _on(lambda p: p.c.compute_at(p.d, p.i)), "'i' is no loop of stage 'D', whose loops are i, j"),
    Refusal("at itself", _on(lambda p: p.c.compute_at(p.c, p.i)), "'C' can't be computed inside itself"),
    Refusal("at each other", _cycle, "are computed inside each other"),
    Refusal("at a vanished loop", _then_lower(_vanished), "no loop of it any more .*; call compute_at after split"),
    Refusal("outside", _then_lower(_outside), "'C' reads 'A.local', but is not computed inside loop 'i' of 'D'"),
    Refusal("at an inlined stage", _then_lower(_inlined_host), "computed at 'D.local', which is inlined"),
    Refusal(
        "in lanes",
        _then_lower(_lanes_share),
        "inside the vectorized loop 'j' of 'D', whose lanes would share its storage",
    ),
    Refusal(
        "output elsewhere", _on(lambda p: p.d.compute_at(p.c, p.i)), "compute_at: 'D' is an output of the schedule"
    ),
    Refusal(
        "inlined sum",
        _on(lambda p: p.c.compute_inline()),
        "'C' is a reduction; only an element-wise body can be substituted",
    ),
    Refusal(
        "inlined after a primitive",
        _on(_inlined_after_split),
        "'D.local' has no loops and no storage of its own then, found primitives for loop",
    ),
    Refusal(
        "primitive after inlining",
        _on(_parallel_after_inlining),
        "'D.local' is inlined, so it has no loops",
    ),
    Refusal(
        "predicate of elements",
        _then_lower(lambda p: p.d.set_store_predicate(p.x > 0)),
        "depends on '.*', along which threads don't compute the same element",
    ),
    Refusal(
        "threads of no scan",
        _on(lambda p: p.d.env_threads([te.thread_axis("threadIdx.x")])),
        "expects the stage of a scan, found ComputeOp",
    ),
    Refusal(
        "some results",
        _on(lambda p: p.s.cache_write([p.C, p.D], "local")),
        "expects all results of one operation, which are C for the first",
    ),
    Refusal("inlined output", _on(lambda p: p.d.compute_inline()), "compute_inline: 'D' is an output of the schedule"),
    Refusal(
        "inlined argument", _on(lambda p: p.s[p.A].compute_inline()), "compute_inline: 'A' is not computed, it is given"
    ),
    Refusal("unbounded region", _unbounded_region, "changes from iteration to iteration without a bound|not bounded"),
    Refusal(
        "unknown scope",
        _on(lambda p: p.c.set_scope("cache")),
        "one of register, local, warp, shared, global, found 'cache'",
    ),
    Refusal("scope of an output", _on(lambda p: p.d.set_scope("local")), "set_scope: 'D' is an output of the schedule"),
    Refusal(
        "symbolic registers",
        _then_lower(lambda p: p.c.set_scope("register"), symbolic),
        r"registers need a constant shape, found \[n, \d+\]",
    ),
    Refusal(
        "aligned output", _on(lambda p: p.d.storage_align(p.x, 8)), "'D' is an output, whose storage is the caller's"
    ),
    Refusal(
        "aligned by 0", _on(lambda p: p.c.storage_align(p.i, 0)), "factor >= 1 and 0 <= offset < factor, found 0 and 0"
    ),
    Refusal("aligned reduction", _on(lambda p: p.c.storage_align(p.k, 8)), "expects a data axis of the operation"),
    Refusal("cache for no reader", _on(lambda p: p.s.cache_read(p.A, "local", [])), "at least one reader, found none"),
    Refusal(
        "cache for another", _on(lambda p: p.s.cache_read(p.A, "local", [p.D])), "'D' does not read it as a compute"
    ),
    Refusal("cache of an argument", _on(lambda p: p.s.cache_write(p.A, "local")), "it is not computed by te.compute"),
    Refusal("late cache", _on(_late_cache), "its reduce axes are already split; call cache_write first"),
    Refusal(
        "factored data",
        _on(lambda p: p.s.rfactor(p.C, p.i)),
        "expects a reduce loop of the stage, whose loops are i, j, k",
    ),
    Refusal("factor axis", _on(lambda p: p.s.rfactor(p.C, p.k, 3)), "factor_axis expects 0 to 2, found 3"),
    Refusal("prefetch of another", _on(lambda p: p.d.prefetch(p.A, p.x)), "'D' does not read 'A'"),
    Refusal("prefetch behind", _on(lambda p: p.c.prefetch(p.A, p.i, 0)), "of at least 1 as distance, found 0"),
    Refusal(
        "prefetch inside",
        _then_lower(_nothing_ahead),
        "computed inside that loop, at 'j', so there is nothing to read ahead",
    ),
    Refusal("prefetch of registers", _then_lower(_registers_ahead), "'C' is in registers, which are not read ahead"),
    Refusal(
        "prefetch at a vanished loop",
        _then_lower(_ahead_of_nothing),
        "no loop of the stage any more; call prefetch after",
    ),
    Refusal(
        "value of a pragma",
        _on(lambda p: p.d.pragma(p.x, "keep", 2)),
        "keep expects True or False, found 2",
    ),
    Refusal("instruction of tiles", _then_lower(_in_tiles), "expects whole tiles, found iterations only where .* < "),
    Refusal(
        "instruction of strips",
        _then_lower(_in_strips),
        "operand 'y': expected elements one behind the other, found extents",
    ),
    Refusal(
        "instruction of other extents",
        _then_lower(lambda p: _tensorized(p, _rows(p.m, p.depth + 1))),
        r"reduce loops: expected k of \d+, found k of \d+",
    ),
    Refusal(
        "instruction of one term",
        _then_lower(lambda p: _tensorized(p, _rows(p.m, p.depth, adds=False))),
        "it: expected element by element, found a stage that is a reduction",
    ),
    Refusal("instruction in lanes", _then_lower(_in_lanes), "expects no vectorized loop around, found 'i'"),
    Refusal("instruction at a vanished loop", _then_lower(_late_split), "call tensorize after split and fuse"),
    Refusal("two instructions", _on(_two_instructions), "'rows' replaces loop 'j' already; a stage has one"),
    Refusal(
        "virtual threads of a sum",
        _on(lambda p: p.c.bind(p.k, te.thread_axis("vthread"))),
        "it is a reduction, its virtual threads would race for the result; rfactor it first",
    ),
    Refusal(
        "symbolic virtual threads",
        _on(lambda p: p.d.bind(p.x, te.thread_axis("vthread")), symbolic),
        "virtual threads expect a constant extent of at most 64, found n; split it with nparts= first",
    ),
    Refusal(
        "many virtual threads",
        _on(
            lambda p: p.d.bind(p.d.fuse(p.x, p.y), te.thread_axis("vthread")),
            lambda rng: Product(rng, rows=te.const(65)),
        ),
        r"virtual threads expect a constant extent of at most 64, found \d+;",
    ),
    Refusal(
        "double buffer of an output",
        _on(lambda p: p.d.double_buffer()),
        "double_buffer: 'D' is an output of the schedule",
    ),
    Refusal(
        "double buffer at root", _then_lower(lambda p: p.c.double_buffer()), "it is computed as a whole; compute_at a"
    ),
    Refusal(
        "double buffer of parallel parts",
        _then_lower(_parallel_parts),
        "the iterations of parallel loop 'i' of 'D' do not follow one another; compute it at a serial or unrolled loop",
    ),
    Refusal(
        "double buffer of what is computed at its time",
        _then_lower(_untimely_parts),
        "double_buffer 'A.local', too, or",
    ),
    Refusal("inlined double buffer", _on(_inlined_parts), "'A.local' is double-buffered, so it needs storage"),
    Refusal("argument missing", _arguments(lambda p: [p.A, p.B, p.D]), "'b' is read, but is not among the arguments"),
    Refusal("argument twice", _arguments(lambda p: [p.A, p.A, p.B, p.b, p.D]), "'A' is among the arguments twice"),
    Refusal("output missing", _arguments(lambda p: [p.A, p.B, p.b]), "output 'D' is not among the arguments"),
    Refusal(
        "read beyond",
        _beyond_definition,
        r"'B' reads 'A' out of its bounds: dimension 0 has extent \d+, index i \+ \d reaches \d+",
    ),
    Refusal(
        "read before",
        _before_definition,
        r"'B' reads 'A' out of its bounds: dimension 0 has extent n, index i - \d reaches -\d",
    ),
    Refusal("varying register", _then_build(_varying_register), "varies with loop 'j'", CodegenError),
    Refusal(
        "shared registers",
        _then_build(_shared_registers),
        "uses a register buffer that belongs to the code around",
        CodegenError,
    ),
    Refusal("parallel lanes", _then_lower(_parallel_lanes), "whose lanes start no threads"),
)
