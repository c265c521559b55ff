"""The words of scripts beside Python's own: loops, memory and outputs. They mean something in a script only."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn

from sateen.runtime.dtype import DType
from sateen.runtime.errors import ExpressionError


def _outside(word: str, *operands: Any) -> NoReturn:
    found = ", ".join(f"{x!r:.40}" for x in operands)
    raise ExpressionError(f"hybrid.{word} stands in a function of hybrid.script, found {word}({found}) outside of one")


def serial(start: Any, stop: Any = None, step: int = 1) -> Any:
    """`for i in serial(n)`: as `range`."""
    _outside("serial", start, stop, step)


def parallel(start: Any, stop: Any = None, step: int = 1) -> Any:
    """A loop whose iterations run at the same time; arguments are those of `range`."""
    _outside("parallel", start, stop, step)


def vectorize(start: Any, stop: Any = None, step: int = 1) -> Any:
    """A loop whose iterations are lanes of vectors; arguments are those of `range`."""
    _outside("vectorize", start, stop, step)


def unroll(start: Any, stop: Any = None, step: int = 1) -> Any:
    """A loop that is unrolled when code is generated; arguments are those of `range`."""
    _outside("unroll", start, stop, step)


def bind(tag: str, extent: Any) -> Any:
    """A loop over a hardware axis such as "threadIdx.x"."""
    _outside("bind", tag, extent)


def const_range(start: int, stop: int | None = None, step: int = 1) -> Any:
    """A loop that is written out when the script is called, so that its variable is a number: `tensors[i]`. Arguments
    are those of `range`, and known then."""
    _outside("const_range", start, stop, step)


def allocate(shape: Any, dtype: DType | str = "float32", scope: str = "global") -> Any:
    """Memory of `shape` elements, undefined at first, to the end of the block."""
    _outside("allocate", shape, dtype, scope)


def output_tensor(shape: Any, dtype: DType | str = "float32") -> Any:
    """Memory of a result, which `return` gives back."""
    _outside("output_tensor", shape, dtype)


RANGES: Mapping[Callable[..., Any], str] = MappingProxyType(
    {range: "serial", serial: "serial", parallel: "parallel", vectorize: "vectorized", unroll: "unrolled"}
)
"""The words of loops, with the kind of `for_range`."""

WORDS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {w.__name__: w for w in (serial, parallel, vectorize, unroll, bind, const_range, allocate, output_tensor)}
)
"""By name: a script may use them without an import."""


def bound(word: Callable[..., Any], operands: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
    """The arguments of a word in the order of its parameters; `range` has those of `serial`. Raises ExpressionError for
    others than it takes."""
    known = inspect.signature(serial if word is range else word)
    try:
        arguments = known.bind(*operands, **named)
    except TypeError as error:
        raise ExpressionError(f"{word.__name__} expects {known}: {error}") from None
    arguments.apply_defaults()
    return list(arguments.arguments.values())


def bounds(word: Callable[..., Any], operands: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, Any, int]:
    """Start, stop and step of a loop. Raises ExpressionError for a step that is no number, or 0."""
    start, stop, step = bound(word, operands, named)
    if not isinstance(step, int) or isinstance(step, bool) or step == 0:
        raise ExpressionError(f"{word.__name__} expects a number other than 0 as its step, found {step}")
    return (0, start, step) if stop is None else (start, stop, step)
