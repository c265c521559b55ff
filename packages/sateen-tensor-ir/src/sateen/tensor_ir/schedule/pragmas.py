"""The pragmas of loops: the values that each expects, and what becomes of those that change nothing here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral
from types import MappingProxyType

from sateen.runtime.display import did_you_mean


@dataclass(frozen=True, slots=True)
class Pragma:
    """A known pragma. `unused` is the reason why it changes nothing, '' if it does something; `serial` is whether it is
    for loops that are not vectorized."""

    expects: str
    accepts: Callable[[object], bool]
    unused: str = ""
    serial: bool = False


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _is_bool(value: object) -> bool:
    return isinstance(value, int) and value in (0, 1)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_plain(value: object) -> bool:
    return isinstance(value, (bool, int, str))


def _count() -> Pragma:
    return Pragma("an integer of at least 0", _is_count, serial=True)


def _hint(reason: str) -> Pragma:
    return Pragma("a bool, an integer or a text", _is_plain, reason)


PRAGMAS: Mapping[str, Pragma] = MappingProxyType(
    {
        "alternate": Pragma("True or False", _is_bool),
        "auto_unroll_max_depth": _count(),
        "auto_unroll_max_step": _count(),
        "auto_unroll_min_depth": _count(),
        "debug_skip_region": Pragma("True or False", _is_bool),
        "import_llvm": Pragma("LLVM text", _is_text),
        "keep": Pragma("True or False", _is_bool, serial=True),
        "partition": Pragma("True or False", _is_bool, serial=True),
        "unroll_explicit": Pragma("True or False", _is_bool),
        "parallel_barrier_when_finish": _hint("threads wait for each other at the end of every parallel loop"),
        "parallel_launch_point": _hint("every parallel loop is launched by itself"),
        "parallel_stride_pattern": _hint("each thread takes iterations that follow one another"),
        "prefetch_scope": _hint("prefetch says what is read ahead"),
    }
)
"""Those that mean something; other names are hints for passes of the user's own."""

PRIMITIVES = ("parallel", "unroll", "vectorize")
"""The primitives that are pragmas as well."""

OTHER = _hint("no pass of sateen reads it; one of your own may")


def plain_value(value: object) -> object:
    """The value as Python's own type: an integer of NumPy's is an int; None, as TVM has it, is True."""
    if value is None:
        return True
    return int(value) if isinstance(value, Integral) and not isinstance(value, bool) else value


def remark_on(key: str, value: object) -> str:
    """What `explain` says about a pragma; '' about one that the code shows."""
    known = PRAGMAS.get(key, OTHER)
    if key == "debug_skip_region" and value:
        return "left out, as the pragma debug_skip_region asks"
    if not known.unused:
        return ""
    close = did_you_mean(key, [*PRAGMAS, *PRIMITIVES]) if known is OTHER else ""
    return f"pragma {key} not used: {known.unused}{close}"
