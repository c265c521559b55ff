"""A schedule for each primitive, over small computations of whole numbers, whose results are exact in any order.

Extents are odd, so that factors don't divide them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sateen.tensor_ir import te


@dataclass(frozen=True, eq=False)
class Scheduled:
    """A schedule, and what is computed from what."""

    schedule: te.Schedule
    inputs: tuple[te.Tensor, ...]
    output: te.Tensor


@dataclass(frozen=True, eq=False)
class Blur:
    """A stencil B of A, and a stencil C of B."""

    A: te.Tensor
    B: te.Tensor
    C: te.Tensor
    s: te.Schedule

    @staticmethod
    def make() -> Blur:
        A = te.placeholder((21, 39), name="A")
        B = te.compute((21, 37), lambda i, j: A[i, j] + A[i, j + 1] * 2.0 + A[i, j + 2], name="B")
        C = te.compute((19, 37), lambda i, j: B[i, j] - B[i + 1, j] * 3.0 + B[i + 2, j], name="C")
        return Blur(A, B, C, te.create_schedule(C))

    def scheduled(self) -> Scheduled:
        return Scheduled(self.s, (self.A,), self.C)


@dataclass(frozen=True, eq=False)
class Product:
    """R, the product of two matrices, and D, an element-wise function of it."""

    inputs: tuple[te.Tensor, te.Tensor]
    R: te.Tensor
    D: te.Tensor
    s: te.Schedule

    @staticmethod
    def make() -> Product:
        X, Y = te.placeholder((13, 22), name="X"), te.placeholder((22, 35), name="Y")
        k = te.reduce_axis(22, "k")
        R = te.compute((13, 35), lambda i, j: te.sum(X[i, k] * Y[k, j], axis=k), name="R")
        D = te.compute((13, 35), lambda i, j: te.maximum(R[i, j], 0.0) + 1.0, name="D")
        return Product((X, Y), R, D, te.create_schedule(D))

    def scheduled(self) -> Scheduled:
        return Scheduled(self.s, self.inputs, self.D)


def split(tail: str) -> Callable[[], Scheduled]:
    """Tiles of both axes with a tail, by their size and by their number."""

    def make() -> Scheduled:
        blur = Blur.make()
        stage = blur.s[blur.C]
        i, j = blur.C.op.axis
        stage.split(i, factor=4, tail=tail)
        stage.split(j, nparts=5, tail=tail)
        return blur.scheduled()

    return make


def round_up() -> Scheduled:
    """A tail in the middle that is computed whole, from a longer input."""
    A = te.placeholder((40,), name="A")
    B = te.compute((37,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((37,), lambda i: B[i] + B[36 - i], name="C")
    s = te.create_schedule(C)
    s[B].split(B.op.axis[0], factor=8, tail="round_up")
    return Scheduled(s, (A,), C)


def tile() -> Scheduled:
    blur = Blur.make()
    blur.s[blur.C].tile(*blur.C.op.axis, 4, 8)
    return blur.scheduled()


def fuse() -> Scheduled:
    blur = Blur.make()
    blur.s[blur.C].split(blur.s[blur.C].fuse(*blur.C.op.axis), factor=16)
    return blur.scheduled()


def reorder() -> Scheduled:
    product = Product.make()
    i, j = product.R.op.axis
    product.s[product.R].reorder(product.R.op.reduce_axis[0], j, i)
    return product.scheduled()


def reorder_block() -> Scheduled:
    """The outer part of a reduction around the loops of the stage that it is computed in."""
    product = Product.make()
    s, R, D = product.s, product.R, product.D
    io, _ = s[D].split(D.op.axis[0], factor=13)
    s[R].compute_at(s[D], io)
    ko, _ = s[R].split(R.op.reduce_axis[0], factor=11)
    s[D].reorder(ko, io)
    return product.scheduled()


def vectorize() -> Scheduled:
    blur = Blur.make()
    for tensor in (blur.B, blur.C):
        _, lane = blur.s[tensor].split(tensor.op.axis[1], factor=8)
        blur.s[tensor].vectorize(lane)
    return blur.scheduled()


def unroll() -> Scheduled:
    product = Product.make()
    _, inner = product.s[product.R].split(product.R.op.reduce_axis[0], factor=4)
    product.s[product.R].unroll(inner)
    return product.scheduled()


def parallel() -> Scheduled:
    product = Product.make()
    for tensor in (product.R, product.D):
        product.s[tensor].parallel(tensor.op.axis[0])
    return product.scheduled()


def bind() -> Scheduled:
    product = Product.make()
    for tensor in (product.R, product.D):
        stage = product.s[tensor]
        loops = stage.tile(*tensor.op.axis, 8, 8)
        for loop, thread in zip(loops, ("blockIdx.y", "blockIdx.x", "threadIdx.y", "threadIdx.x"), strict=True):
            stage.bind(loop, te.thread_axis(thread))
    return product.scheduled()


def env_threads() -> Scheduled:
    """A running sum over rows, and over the neighbours of each column: one kernel for all steps."""
    X, state = te.placeholder((6, 16), name="X"), te.placeholder((6, 16), name="state")
    first = te.compute((1, 16), lambda _, i: X[0, i], name="first")
    update = te.compute((6, 16), lambda t, i: state[t - 1, 15 - i] + X[t, i], name="update")
    total = te.scan(first, update, state, name="total")
    s = te.create_schedule(total)
    thread = te.thread_axis("threadIdx.x")
    s[total].env_threads([thread])
    for tensor in (first, update):
        s[tensor].bind(tensor.op.axis[1], thread)
    return Scheduled(s, (X,), total)


def bind_virtual() -> Scheduled:
    """Tiles of a product whose parts, far from each other, are computed in turns."""
    product = Product.make()
    s, R, D = product.s, product.R, product.D
    vi, i = s[D].split(D.op.axis[0], nparts=2)
    vj, j = s[D].split(D.op.axis[1], nparts=3)
    s[D].reorder(vi, vj, i, j)
    for axis in (vi, vj):
        s[D].bind(axis, te.thread_axis("vthread"))
    s[R].compute_at(s[D], j)
    s[R].set_scope("local")
    return product.scheduled()


def pragma() -> Scheduled:
    """A product with padding that conditions leave out: the first and the last rows get loops of their own."""
    X = te.placeholder((17, 9), name="X")
    k = te.reduce_axis(3, "k")

    def element(i: te.Expr, j: te.Expr) -> te.Expr:
        return te.sum(X[i + k - 1, j], axis=k, where=te.all(i + k >= 1, i + k <= 17))

    C = te.compute((17, 9), element, name="C")
    s = te.create_schedule(C)
    s[C].pragma(C.op.axis[0], "partition")
    return Scheduled(s, (X,), C)


def pragma_unroll(*, explicit: bool) -> Callable[[], Scheduled]:
    """Loops that become few statements are unrolled, written out or left to the compiler."""

    def make() -> Scheduled:
        product = Product.make()
        stage, k = product.s[product.R], product.R.op.reduce_axis[0]
        outer, _ = stage.split(k, factor=4)
        stage.pragma(outer, "auto_unroll_max_step", 4)
        stage.pragma(outer, "auto_unroll_max_depth", 1)
        stage.pragma(outer, "unroll_explicit", explicit)
        stage.pragma(outer, "parallel_launch_point")
        return product.scheduled()

    return make


def prefetch() -> Scheduled:
    blur = Blur.make()
    blur.s[blur.B].prefetch(blur.A, blur.B.op.axis[0], 2)
    return blur.scheduled()


def prefetch_next() -> Scheduled:
    blur = Blur.make()
    blur.s[blur.B].prefetch_next(blur.A, blur.B.op.axis[1])
    return blur.scheduled()


def compute_at() -> Scheduled:
    blur = Blur.make()
    outer, _ = blur.s[blur.C].split(blur.C.op.axis[0], factor=4)
    blur.s[blur.B].compute_at(blur.s[blur.C], outer)
    return blur.scheduled()


def compute_at_fused() -> Scheduled:
    """The rows that tiles of a fused loop touch, where tiles begin and end within rows."""
    blur = Blur.make()
    outer, _ = blur.s[blur.C].split(blur.s[blur.C].fuse(*blur.C.op.axis), factor=16)
    blur.s[blur.B].compute_at(blur.s[blur.C], outer)
    return blur.scheduled()


def compute_inline() -> Scheduled:
    blur = Blur.make()
    blur.s[blur.B].compute_inline()
    return blur.scheduled()


def compute_root() -> Scheduled:
    blur = Blur.make()
    blur.s[blur.B].compute_at(blur.s[blur.C], blur.C.op.axis[0])
    blur.s[blur.B].compute_root()
    return blur.scheduled()


def set_scope(scope: str) -> Callable[[], Scheduled]:
    """The rows of B that a row of C reads, in a scope."""

    def make() -> Scheduled:
        blur = Blur.make()
        s, B, C = blur.s, blur.B, blur.C
        outer, inner = s[C].split(C.op.axis[1], factor=4)
        s[C].unroll(inner)
        s[B].compute_at(s[C], outer)
        s[B].set_scope(scope)
        for axis in B.op.axis:
            s[B].unroll(axis)
        return blur.scheduled()

    return make


def storage_align() -> Scheduled:
    blur = Blur.make()
    blur.s[blur.B].storage_align(blur.B.op.axis[0], 16, 1)
    return blur.scheduled()


def double_buffer() -> Scheduled:
    blur = Blur.make()
    copy = blur.s.cache_read(blur.A, "local", [blur.B])
    outer, _ = blur.s[blur.B].split(blur.B.op.axis[1], factor=8)
    blur.s[copy].compute_at(blur.s[blur.B], outer)
    blur.s[copy].double_buffer()
    return blur.scheduled()


def cache_read() -> Scheduled:
    blur = Blur.make()
    copy = blur.s.cache_read(blur.A, "local", [blur.B])
    blur.s[copy].compute_at(blur.s[blur.B], blur.B.op.axis[0])
    return blur.scheduled()


def cache_write() -> Scheduled:
    product = Product.make()
    part = product.s.cache_write(product.R, "local")
    outer, _ = product.s[product.R].split(product.R.op.axis[1], factor=8)
    product.s[part].compute_at(product.s[product.R], outer)
    return product.scheduled()


def cache_write_all() -> Scheduled:
    """Both results of an operation, computed in a thread's own memory first."""
    A = te.placeholder((21, 39), name="A")
    low, high = te.compute((21, 39), lambda i, j: (A[i, j] - 1.0, A[i, j] * 2.0), name="both")
    C = te.compute((21, 39), lambda i, j: low[i, j] * high[i, 38 - j], name="C")
    s = te.create_schedule(C)
    parts = s.cache_write([low, high], "local")
    s[parts[0]].compute_at(s[low], low.op.axis[0])
    return Scheduled(s, (A,), C)


def vectorize_conditions() -> Scheduled:
    """Lanes that conditions take out of a sum."""
    X = te.placeholder((17, 16), name="X")
    k = te.reduce_axis(3, "k")

    def element(i: te.Expr, j: te.Expr) -> te.Expr:
        return te.sum(X[i, j + k - 1], axis=k, where=te.all(j + k >= 1, j + k <= 16, X[i, j] > 0.0))

    C = te.compute((17, 16), element, name="C")
    s = te.create_schedule(C)
    s[C].vectorize(s[C].split(C.op.axis[1], factor=8)[1])
    return Scheduled(s, (X,), C)


def set_store_predicate() -> Scheduled:
    """A sum that threads share, which one of them stores."""
    X, k = te.placeholder((13, 32), name="X"), te.reduce_axis(32, "k")
    B = te.compute((13,), lambda i: te.sum(X[i, k], axis=k), name="B")
    C = te.compute((13, 32), lambda i, j: X[i, j] - B[i], name="C")
    s = te.create_schedule(C)
    thread = te.thread_axis("threadIdx.x")
    s[C].bind(C.op.axis[0], te.thread_axis("blockIdx.x"))
    s[C].bind(C.op.axis[1], thread)
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].set_scope("shared")
    s[B].bind(k, thread)
    s[B].set_store_predicate(thread.var.equal(0))
    return Scheduled(s, (X,), C)


def rfactor() -> Scheduled:
    product = Product.make()
    _, inner = product.s[product.R].split(product.R.op.reduce_axis[0], factor=4)
    product.s.rfactor(product.R, inner)
    return product.scheduled()


def tensorize() -> Scheduled:
    """Tiles of a product by an instruction that is loops, 5 columns by 11 terms; rows of Y are 35 elements apart."""
    x, y, k = te.placeholder((11,), name="x"), te.placeholder((11, 5), name="y"), te.reduce_axis(11, "k")
    z = te.compute((5,), lambda j: te.sum(x[k] * y[k, j], axis=k), name="z")
    apart = te.decl_buffer(y.shape, name="y", strides=[te.var("step"), 1], offset_factor=1)
    instruction = te.decl_tensor_intrin(z.op, name="rows", binds={y: apart}, otherwise="definition")
    product = Product.make()
    s, R = product.s, product.R
    i, j = R.op.axis
    jo, ji = s[R].split(j, factor=5)
    ko, ki = s[R].split(R.op.reduce_axis[0], factor=11)
    s[R].reorder(i, jo, ko, ji, ki)
    s[R].tensorize(ji, instruction)
    return product.scheduled()


PRIMITIVES: Mapping[str, Callable[[], Scheduled]] = {
    "split, tail guard": split("guard"),
    "split, tail partition": split("partition"),
    "split, tail shift": split("shift"),
    "split, tail round_up": round_up,
    "tile": tile,
    "fuse": fuse,
    "reorder": reorder,
    "reorder of a block": reorder_block,
    "vectorize": vectorize,
    "vectorize, conditions": vectorize_conditions,
    "unroll": unroll,
    "parallel": parallel,
    "bind": bind,
    "bind, vthread": bind_virtual,
    "env_threads": env_threads,
    "pragma partition": pragma,
    "pragma auto_unroll_max_step": pragma_unroll(explicit=True),
    "pragma unroll_explicit": pragma_unroll(explicit=False),
    "prefetch": prefetch,
    "prefetch_next": prefetch_next,
    "tensorize": tensorize,
    "compute_at": compute_at,
    "compute_at a fused loop": compute_at_fused,
    "compute_inline": compute_inline,
    "compute_root": compute_root,
    "set_scope local": set_scope("local"),
    "set_scope register": set_scope("register"),
    "set_scope warp": set_scope("warp"),
    "set_store_predicate": set_store_predicate,
    "storage_align": storage_align,
    "double_buffer": double_buffer,
    "cache_read": cache_read,
    "cache_write": cache_write,
    "cache_write of several": cache_write_all,
    "rfactor": rfactor,
}
"""The schedules, by the row of the table."""
