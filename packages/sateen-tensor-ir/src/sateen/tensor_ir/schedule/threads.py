"""The axes that loops are bound to: those of hardware, and virtual threads."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

from sateen.runtime.errors import ScheduleError
from sateen.tensor_ir.ir.stmt import THREAD_TAGS, LoopKind

VTHREAD = LoopKind.VTHREAD.value


@dataclass(frozen=True, slots=True)
class ThreadAxis:
    """A hardware axis, such as `threadIdx.x`, or `vthread`, and the number of its iterations if it is given."""

    tag: str
    extent: int | None = None


def thread_axis(domain: Any = None, tag: str | None = None) -> ThreadAxis:
    """The hardware axis `blockIdx.{x,y,z}` or `threadIdx.{x,y,z}`, or virtual threads, `vthread`.

    `thread_axis("threadIdx.x")` takes the extent of the loop that is bound to it, `thread_axis((0, 64), "threadIdx.x")`
    says that it is 64. Raises ScheduleError for another name, and for another domain.
    """
    if tag is None:
        domain, tag = None, domain
    known = (*THREAD_TAGS, VTHREAD)
    if tag not in known:
        raise ScheduleError(f"thread_axis expects one of {', '.join(known)}, found {tag!r:.80}")
    if domain is None:
        return ThreadAxis(tag)
    start, extent = domain if isinstance(domain, (tuple, list)) and len(domain) == 2 else (0, domain)
    if start != 0 or not isinstance(extent, Integral) or extent < 1:
        raise ScheduleError(f"thread_axis {tag!r} expects a domain (0, extent) of integers, found {domain!r:.80}")
    return ThreadAxis(tag, int(extent))
