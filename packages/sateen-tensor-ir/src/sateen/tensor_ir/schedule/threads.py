"""The axes that loops are bound to: those of hardware, and virtual threads."""

from __future__ import annotations

from dataclasses import dataclass

from sateen.runtime.errors import ScheduleError
from sateen.tensor_ir.ir.stmt import THREAD_TAGS, LoopKind

VTHREAD = LoopKind.VTHREAD.value


@dataclass(frozen=True, slots=True)
class ThreadAxis:
    """A hardware axis, such as `threadIdx.x`, or `vthread`."""

    tag: str


def thread_axis(tag: str) -> ThreadAxis:
    """The hardware axis `blockIdx.{x,y,z}` or `threadIdx.{x,y,z}`, or virtual threads, `vthread`.

    Raises ScheduleError for another name.
    """
    known = (*THREAD_TAGS, VTHREAD)
    if tag not in known:
        raise ScheduleError(f"thread_axis expects one of {', '.join(known)}, found {tag!r}")
    return ThreadAxis(tag)
