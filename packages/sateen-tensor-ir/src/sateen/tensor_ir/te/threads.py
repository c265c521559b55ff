"""The axes that loops are bound to: those of hardware, and virtual threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sateen.runtime.errors import ScheduleError
from sateen.tensor_ir.ir.choices import subscript
from sateen.tensor_ir.ir.expr import Const, Expr, Var, as_expr
from sateen.tensor_ir.ir.stmt import THREAD_TAGS, LoopKind

VTHREAD = LoopKind.VTHREAD.value


@dataclass(frozen=True, slots=True, eq=False)
class ThreadAxis:
    """A hardware axis, such as `threadIdx.x`, or `vthread`. `extent` is how many there shall be; None: as the loop has
    iterations. `var` stands for the number of a thread, in `set_store_predicate`."""

    tag: str
    extent: Expr | None = None
    name: str = ""
    var: Var = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "var", Var(self.name or self.tag))

    def __str__(self) -> str:
        return f"{self.name!r} ({self.tag})" if self.name else self.tag


def thread_axis(
    dom: str | int | Expr | Sequence[Any] | None = None, tag: str | None = None, name: str = ""
) -> ThreadAxis:
    """The hardware axis `blockIdx.{x,y,z}` or `threadIdx.{x,y,z}`, or virtual threads, `vthread`.

    `thread_axis(tag)` has as many threads as the loop that is bound to it has iterations. `thread_axis(dom, tag)` says
    how many these must be, by the extent or (0, extent); errors then name the axis `name`. Raises ScheduleError for
    another tag or domain, and for an extent below 1.
    """
    if isinstance(dom, str) and tag is None:
        dom, tag = None, dom
    known = (*THREAD_TAGS, VTHREAD)
    if tag not in known:
        raise ScheduleError(f"thread_axis expects one of {', '.join(known)}, found {tag!r:.80}")
    if isinstance(dom, (tuple, list)):
        if len(dom) != 2 or dom[0] != 0:
            raise ScheduleError(f"thread_axis {tag} expects a domain (0, extent), found {dom!r:.80}")
        dom = dom[1]
    extent = None if dom is None else as_expr(dom)
    if extent is not None and not extent.dtype.is_int:
        raise ScheduleError(f"thread_axis {tag} expects an integer extent, found {dom!r:.80}")
    if isinstance(extent, Const) and extent.value < 1:
        raise ScheduleError(f"thread_axis {tag} expects an extent of at least 1, found {extent}")
    return ThreadAxis(tag, None if extent is None else subscript(extent), name)
