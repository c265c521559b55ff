"""Checks of operators' arguments: each raises ArgumentError, which says what was expected and what was found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from inspect import signature
from typing import ParamSpec, TypeVar, get_type_hints

from sateen.runtime.errors import ArgumentError
from sateen.tensor_ir.te import Expr
from sateen.topi.computations.windows import Window
from sateen.topi.types import View, takes_weight

P = ParamSpec("P")
R = TypeVar("R")


def of_expressions(function: Callable[P, R]) -> Callable[P, R]:
    """A function of scalar expressions that refuses other arguments."""
    names, kinds = list(signature(function).parameters), get_type_hints(function)

    @wraps(function)
    def checked(*arguments: P.args, **named: P.kwargs) -> R:
        for name, value in (*zip(names, arguments, strict=False), *named.items()):
            if kinds.get(name) is Expr and not isinstance(value, Expr):
                remedy = "; call it with an element, such as view[i, j]" if isinstance(value, View) else ""
                found = f"{type(value).__name__}{remedy}"
                require(False, function.__name__, f"{name} as a scalar expression", found)
        return function(*arguments, **named)

    return checked


def require(condition: bool, operator: str, expected: str, found: object) -> None:
    """Raise ArgumentError unless what `operator` expects of its arguments holds."""
    if not condition:
        raise ArgumentError(f"{operator}: expected {expected}, found {found}")


def require_views(operator: str, **views: object) -> None:
    """Each argument is a view."""
    for name, view in views.items():
        what = f"{name} as a view, such as placeholder(shape, dtype, name)"
        require(isinstance(view, View), operator, what, type(view).__name__)


def require_integers(operator: str, name: str, values: object, count: int, least: int | None = None) -> None:
    """`values` are `count` integers of at least `least`."""
    fits = isinstance(values, Sequence) and not isinstance(values, str) and len(values) == count
    fits = fits and all(isinstance(v, int) and not isinstance(v, bool) for v in values)  # type: ignore[attr-defined]
    fits = fits and all(least is None or v >= least for v in values)  # type: ignore[attr-defined]
    bound = "" if least is None else f" of at least {least}"
    require(fits, operator, f"{name} as {count} integers{bound}", repr(values))


def require_count(operator: str, name: str, value: object, least: int, most: int | None = None) -> None:
    """`value` is an integer from `least` to `most`."""
    fits = isinstance(value, int) and not isinstance(value, bool) and value >= least and (most is None or value <= most)
    bound = f"at least {least}" if most is None else f"{least} to {most}"
    require(fits, operator, f"{name} of {bound}", repr(value))


def require_axis(operator: str, axis: object, rank: int) -> None:
    """`axis` counts from 0 and is below `rank`."""
    require_count(operator, "axis", axis, 0, rank - 1)


def require_axes(operator: str, axes: Sequence[int], rank: int) -> None:
    """Axes that count from 0, each once."""
    for axis in axes:
        require_axis(operator, axis, rank)
    require(len(set(axes)) == len(axes), operator, "each axis once", list(axes))


def require_one_of(operator: str, name: str, value: object, known: Iterable[object]) -> None:
    """`value` is among those that are known."""
    listed = list(known)
    require(value in listed, operator, f"{name} of {', '.join(map(repr, listed))}", repr(value))


def require_rank(operator: str, name: str, view: View, rank: int, *, or_more: bool = False) -> None:
    """The view has `rank` axes, with `or_more` at least that many."""
    fits = view.ndim >= rank if or_more else view.ndim == rank
    require(fits, operator, f"{name} of {rank}{' or more' * or_more} axes", list(view.shape))


def require_shape(operator: str, name: str, view: View, shape: Sequence[int]) -> None:
    """The view has exactly this shape."""
    require(tuple(view.shape) == tuple(shape), operator, f"{name} of shape {list(shape)}", list(view.shape))


def require_broadcast(operator: str, name: str, view: View, shape: Sequence[int]) -> None:
    """The view broadcasts to `shape`, whose last axes are its own."""
    own = shape[len(shape) - view.ndim :] if view.ndim <= len(shape) else None
    fits = own is not None and all(n in (1, m) for n, m in zip(view.shape, own, strict=True))
    require(fits, operator, f"{name} that broadcasts to {list(shape)}", list(view.shape))


def require_floats(operator: str, **views: View) -> None:
    """Elements are floating-point numbers."""
    for name, view in views.items():
        require(view.dtype.is_float, operator, f"{name} of floating-point numbers", view.dtype)


def require_whole_numbers(operator: str, **views: View) -> None:
    """Elements are integers."""
    for name, view in views.items():
        require(view.dtype.is_int, operator, f"{name} of integers", view.dtype)


def require_numbers(operator: str, **views: View) -> None:
    """Elements are not bools."""
    for name, view in views.items():
        require(not view.dtype.is_bool, operator, f"{name} of numbers", view.dtype)


def require_same_type(operator: str, **views: View) -> None:
    """All have the element type of the first."""
    (first, one), *others = views.items()
    for name, view in others:
        require(view.dtype == one.dtype, operator, f"{name} of {first}'s type, {one.dtype}", view.dtype)


def require_weight(operator: str, name: str, weight: View, data: View) -> None:
    """The weight has the type of the data, or is of integers of at most 16 bits if the data is int32."""
    require(takes_weight(data.dtype, weight.dtype), operator, f"{name} of data's type, {data.dtype}", weight.dtype)


def require_window(operator: str, window: object, spatial: Sequence[int], *, ceil_mode: bool = False) -> None:
    """A window with an entry per spatial extent (pads: two), which fits at least once."""
    require(isinstance(window, Window), operator, "a Window", type(window).__name__)
    assert isinstance(window, Window)
    rank = len(spatial)
    for name, values, count, least in (
        ("kernel", window.kernel, rank, 1), ("strides", window.strides, rank, 1), ("pads", window.pads, 2 * rank, 0),
        ("dilations", window.dilations, rank, 1),
    ):  # fmt: skip
        require_integers(operator, f"a window whose {name} are given", values, count, least)
    output = window.output(spatial, ceil_mode)
    require(min(output) >= 1, operator, f"a window that fits into {list(spatial)}", f"{window}, which gives {output}")
