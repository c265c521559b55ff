"""Inputs that `--bind` makes constants: numbers in words, or arrays in files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path

import numpy as np

from sateen.frontends.command.arrays import MOST_ELEMENTS, read_array, split_key
from sateen.frontends.command.compilation import Compilation
from sateen.frontends.command.files import read_model_file
from sateen.frontends.core.inputs import Declaration
from sateen.graph_ir.ir import Array, TensorType
from sateen.runtime import ArgumentError
from sateen.runtime.display import did_you_mean


def constants_of(path: Path, compilation: Compilation) -> dict[str, Array | float]:
    """The data of the inputs that `--bind` makes constant. Raises ArgumentError for text that is no such data."""
    if not compilation.bindings:
        return {}
    declared = read_model_file(path, compilation.weights).declarations()
    types = {given.name: given.type or _scalar(given, compilation.bindings) for given in declared}
    constants: dict[str, Array | float] = {}
    for name, text in compilation.bindings.items():
        if name not in types and name not in compilation.inputs:
            known = f"the model's inputs are {', '.join(types) or 'none'}"
            raise ArgumentError(f"--bind {name}: {known}{did_you_mean(name, types)}")
        constants[name] = _constant(name, text, types.get(name), compilation.shapes.get(name))
    return constants


def _scalar(given: Declaration, bindings: Mapping[str, str]) -> TensorType | None:
    """The type of an input without a shape that is bound to one number."""
    text = bindings.get(given.name, "")
    return TensorType.of(given.dtype, ()) if text and "," not in text and not _is_file(text) else None


def bound_files(compilation: Compilation) -> Iterator[Path]:
    """The files that `--bind` names."""
    yield from (split_key(text)[0] for text in compilation.bindings.values() if _is_file(text))


def _is_file(text: str) -> bool:
    """Whether the value of --bind names a file with an array."""
    return text.rpartition(":")[0].endswith(".npz") or text.endswith((".npy", ".npz"))


def bound_arrays(path: Path, compilation: Compilation) -> dict[str, Array]:
    """As `constants_of`, for engines that know no numbers without a type."""
    return {name: np.asarray(given) for name, given in constants_of(path, compilation).items()}


def _constant(name: str, text: str, type_: TensorType | None, shape: tuple[int, ...] | None) -> Array | float:
    """A file's array, or numbers in the shape of the input: a scalar, or a vector of that length. A number for an input
    of unknown type is given as it is: reading knows the type of values at which a network begins."""
    if _is_file(text):
        expected = shape or (type_.static_shape if type_ is not None and type_.is_static else None)
        return read_array(text, name, MOST_ELEMENTS if expected is None else prod(expected))
    try:
        numbers = [float(word) if set(word) & set(".enEN") else int(word) for word in text.split(",")]
    except ValueError:
        raise ArgumentError(f"--bind {name}: expected numbers, FILE.npy or FILE.npz:KEY, found {text!r}") from None
    if type_ is None and shape is None and len(numbers) == 1:
        return numbers[0]
    if type_ is not None and type_.rank == 0 and len(numbers) > 1:
        raise ArgumentError(f"--bind {name}: expected one number, for {type_}, found {len(numbers)}: {text!r}")
    dtype = None if type_ is None else type_.dtype.numpy
    given = np.array(numbers[0] if type_ is not None and type_.rank == 0 else numbers)
    if given.dtype == object:  # integers beyond 64 bits
        try:
            given = given.astype(np.float64)
        except OverflowError:
            raise ArgumentError(f"--bind {name}: expected numbers of float64, found {text[:40]}…") from None
    with np.errstate(invalid="ignore", over="ignore"):  # what the cast changes is told below
        data = given if dtype is None else given.astype(dtype)
    kept = (data, given) if data.dtype.kind in "biu" else (np.isinf(data), np.isinf(given))
    if not np.array_equal(*kept):
        raise ArgumentError(f"--bind {name}: expected numbers of {data.dtype}, found {text!r}")
    if shape is not None and data.size != prod(shape):
        raise ArgumentError(f"--bind {name}: expected {prod(shape)} numbers for shape {list(shape)}, found {data.size}")
    return data if shape is None else data.reshape(shape)
