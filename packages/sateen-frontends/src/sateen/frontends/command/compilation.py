"""From a MODEL on the command line to a graph and an artifact: the options that say how, and the compile path."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import click
import numpy as np
import platformdirs

from sateen.frontends.command.arguments import FILE, by_name, named, named_extent, named_shape
from sateen.frontends.command.arrays import MOST_ELEMENTS, read_array, split_key
from sateen.frontends.command.dimensions import Sizes, find_sizes, open_dimensions, options_of
from sateen.frontends.command.files import is_artifact, read_model_file
from sateen.frontends.command.output import say
from sateen.frontends.command.progress import step
from sateen.frontends.onnx.external_data import external_files
from sateen.frontends.onnx.importer import import_onnx
from sateen.frontends.onnx.loading import Model as LoadedModel
from sateen.frontends.onnx.report import Report
from sateen.frontends.onnx.signature import declared_type, input_types
from sateen.graph_ir.build import NUMERICS, build, lowered, network_target
from sateen.graph_ir.graph import Array, Graph
from sateen.graph_ir.installed import installed_operators
from sateen.graph_ir.records import Records
from sateen.graph_ir.types import TensorType
from sateen.runtime import (
    ArgumentError,
    Artifact,
    ArtifactError,
    CodegenError,
    FrontendError,
    Model,
    SateenError,
    VerifiedFiles,
    read_artifact,
)
from sateen.runtime import load as load_artifact
from sateen.runtime.display import did_you_mean
from sateen.tensor_ir import ObjectCache
from sateen.tensor_ir.codegen.workers import CompilerPool
from sateen.tensor_ir.ir.stmt import DENORMALS

MOST_INPUTS = 3
"""That a message names."""
WORKERS = 2
"""Compiler processes; they start while the model is read."""


@dataclass(frozen=True, slots=True)
class Compilation:
    """How to read and compile a model, as the command line says."""

    target: str
    shapes: Mapping[str, tuple[int, ...]]
    dims: Mapping[str, int]
    bindings: Mapping[str, str]
    use_cache: bool
    numerics: str
    denormals: str
    records: Path | None = None

    @property
    def is_default(self) -> bool:
        read_as_it_is = not (self.shapes or self.dims or self.bindings)
        plain = (self.target, self.numerics, self.denormals, self.records) == ("llvm", "default", "keep", None)
        return read_as_it_is and plain


def compilation_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb the options of `Compilation`, which it takes as `compilation`."""

    @click.option(
        "--target", default="llvm", metavar="TARGET", show_default="this machine", help="What to compile for."
    )
    @click.option("--shape", multiple=True, type=named_shape, metavar="NAME=1x3x224x224", help="The shape of an input.")
    @click.option(
        "--dim",
        multiple=True,
        type=named_extent,
        metavar="NAME=N",
        help="The extent of a dimension that the model names.",
    )
    @click.option(
        "--bind", multiple=True, type=named, metavar="NAME=VALUE", help="Make an input constant: numbers or a file."
    )
    @click.option(
        "--numerics",
        type=click.Choice(NUMERICS),
        default="default",
        show_default=True,
        help="strict: each sum as it is; default: Winograd's method too; fast: Strassen's, which mixes rows, as well.",
    )
    @click.option(
        "--denormals",
        type=click.Choice(DENORMALS),
        default="keep",
        show_default=True,
        help="flush: subnormal numbers may count as zeros, which is faster where data have many.",
    )
    @click.option("--records", type=FILE, metavar="LOG", help="Measurements of `sateen tune` to choose by.")
    @click.option("--cache/--no-cache", default=True, help="Keep compiled kernels for the next time.")
    @functools.wraps(verb)
    def collected(
        target: str,
        shape: tuple[tuple[str, tuple[int, ...]], ...],
        dim: tuple[tuple[str, int], ...],
        bind: tuple[tuple[str, str], ...],
        cache: bool,
        numerics: str,
        denormals: str,
        records: Path | None,
        **others: Any,
    ) -> Any:
        given = Compilation(
            target,
            by_name("--shape", shape),
            by_name("--dim", dim),
            by_name("--bind", bind),
            cache,
            numerics,
            denormals,
            records,
        )
        return verb(compilation=given, **others)

    return collected


def check_target(compilation: Compilation) -> None:
    """Raises TargetError for a target that networks can't be compiled for, before a model is read."""
    network_target(compilation.target)


def records_of(compilation: Compilation) -> Records | None:
    """The records that the command line names. Raises ArgumentError for a file that has other lines."""
    return None if compilation.records is None else Records.read(compilation.records)


def constants_of(path: Path, compilation: Compilation) -> dict[str, Array]:
    """The data of the inputs that `--bind` makes constant. Raises ArgumentError for text that is no such data."""
    if not compilation.bindings:
        return {}
    types = {v.name: declared_type(v) for v in read_model_file(path).proto.graph.input}
    constants = {}
    for name, text in compilation.bindings.items():
        if name not in types:
            known = f"the model's inputs are {', '.join(types) or 'none'}"
            raise ArgumentError(f"--bind {name}: {known}{did_you_mean(name, types)}")
        constants[name] = _constant(name, text, types[name], compilation.shapes.get(name))
    return constants


def _is_file(text: str) -> bool:
    """Whether the value of --bind names a file with an array."""
    return text.rpartition(":")[0].endswith(".npz") or text.endswith((".npy", ".npz"))


def _constant(name: str, text: str, type_: TensorType | None, shape: tuple[int, ...] | None) -> Array:
    """A file's array, or numbers in the shape of the input: a scalar, or a vector of as many."""
    if _is_file(text):
        expected = shape or (type_.static_shape if type_ is not None and type_.is_static else None)
        return read_array(text, name, MOST_ELEMENTS if expected is None else prod(expected))
    try:
        numbers = [float(word) if set(word) & set(".enEN") else int(word) for word in text.split(",")]
    except ValueError:
        raise ArgumentError(f"--bind {name}: expected numbers, FILE.npy or FILE.npz:KEY, found {text!r}") from None
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


def sources_of(path: Path, compilation: Compilation) -> Iterator[Path]:
    """The files that compiling a model or opening an artifact reads.

    Those beside the model come last, since the model must be read to name them.
    """
    yield path
    if compilation.records is not None:
        yield compilation.records
    yield from (split_key(text)[0] for text in compilation.bindings.values() if _is_file(text))
    if not is_artifact(path):
        yield from external_files(read_model_file(path))


def require_model(path: Path) -> None:
    """Raises UsageError for an artifact where a verb needs what it was compiled from."""
    if is_artifact(path):
        raise click.UsageError(f"{path} is compiled already; this needs the model that it was compiled from")


def read_graph(path: Path, compilation: Compilation) -> tuple[Graph, dict[str, Array]]:
    """The graph of a model and the data of its parameters. Raises FrontendError where a dimension is still open."""
    reading = read_model(path, compilation)
    if reading.advice:
        raise FrontendError(reading.advice)
    if reading.graph is None:
        raise FrontendError(str(reading.report))
    return reading.graph, {value.name: data for value, data in reading.graph.parameters.items()}


@dataclass(frozen=True, slots=True)
class Reading:
    """A model's graph, None where it has gaps or open dimensions; the report of gaps; and advice on open dimensions.

    Where dimensions are open, the report is of the best sizes that were tried.
    """

    graph: Graph | None
    report: Report
    advice: str = ""


def read_model(path: Path, compilation: Compilation) -> Reading:
    """The graph of a model, or what stands in the way. Raises FrontendError where it is malformed."""
    require_model(path)
    constants = constants_of(path, compilation)
    operators = installed_operators()
    model = read_model_file(path)
    types = input_types_of(model, compilation)
    usual = open_dimensions(types)

    def read(dims: Mapping[str, int]) -> tuple[Graph | None, Report]:
        return import_onnx(model, compilation.shapes, {**compilation.dims, **dims}, constants, operators)

    if not usual:
        return Reading(*read({}))
    sizes = find_sizes(usual, read)
    return Reading(None, sizes.report, _advice(types, sizes))


def input_types_of(model: LoadedModel, compilation: Compilation) -> dict[str, TensorType]:
    """The types of the inputs that stay inputs, as far as they are known."""
    graph = model.proto.graph
    constant = {*(tensor.name for tensor in graph.initializer), *compilation.bindings}
    shapes = {name: shape for name, shape in compilation.shapes.items() if name not in constant}
    return input_types([v for v in graph.input if v.name not in constant], shapes, compilation.dims)[0]


def _advice(types: Mapping[str, TensorType], sizes: Sizes) -> str:
    """The command line with sizes for a model's open dimensions; with the report where none are known to work."""
    open_ = [f"{name}: {t}" for name, t in types.items() if not t.is_static]
    more = f" and {len(open_) - MOST_INPUTS} more" if len(open_) > MOST_INPUTS else ""
    words: list[str] = click.get_current_context().obj  # as `main` has got them
    end = words.index("--") if "--" in words else len(words)  # behind it all words are names of files
    example = shlex.join([*words[:end], *options_of(types, sizes.dims), *words[end:]])
    advice = f"expected inputs of known dimensions, found {'; '.join(open_[:MOST_INPUTS])}{more}; say what they are"
    if sizes.work:
        return f"{advice}, such as\n  {example}"
    return f"{advice}; of the sizes that were tried none works, the best are\n  {example}\nwith these: {sizes.report}"


def compile_model(
    path: Path,
    compilation: Compilation,
    change: Callable[[Graph], Graph] = lambda graph: graph,
    *,
    timed: bool = False,
) -> Artifact:
    """The artifact of a model, whose graph `change` may alter before it is optimised; with `timed` its steps are."""
    check_target(compilation)
    records = records_of(compilation)
    cache = object_cache(compilation)
    with CompilerPool(WORKERS) as workers:
        with step(f"reading {path.name}"):
            graph, parameters = read_graph(path, compilation)
        with step(f"compiling {path.name}"):
            artifact = build(
                change(graph),
                target=compilation.target,
                params=parameters,
                numerics=compilation.numerics,
                denormals=compilation.denormals,
                records=records,
                timed=timed,
                workers=workers,
                cache=cache,
            )
    tell_refusal(cache)
    return artifact


def refusal_of(graph: Graph, compilation: Compilation) -> SateenError | None:
    """What compiling a graph raises before code is generated; None where it gets there."""
    target = network_target(compilation.target)
    try:
        lowered(
            graph,
            target,
            numerics=compilation.numerics,
            records=records_of(compilation),
            denormals=compilation.denormals,
        )
    except SateenError as error:
        return error
    return None


def open_artifact(path: Path, compilation: Compilation) -> Artifact:
    """The artifact in a file, or of a model in it."""
    if not is_artifact(path):
        return compile_model(path, compilation)
    _require_default(path, compilation)
    return read_artifact(path, verified=_verified_files())


def load_model(
    path: Path,
    compilation: Compilation,
    threads: int,
    change: Callable[[Graph], Graph] = lambda graph: graph,
    *,
    timed: bool = False,
) -> Model:
    """The network in a file, an artifact or a model, which is compiled as by `compile_model`, ready to run here."""
    if not is_artifact(path):
        return load_artifact(compile_model(path, compilation, change, timed=timed), threads=threads)
    _require_default(path, compilation)
    return load_artifact(path, threads=threads, verified=_verified_files())


def _require_default(path: Path, compilation: Compilation) -> None:
    """Raises UsageError where the command line says how to compile what is compiled already."""
    if not compilation.is_default:
        raise click.UsageError(
            "--target, --shape, --dim, --bind, --numerics, --denormals and --records are for models; "
            f"{path} is compiled already"
        )


def object_cache(compilation: Compilation) -> ObjectCache | None:
    """Where compiled kernels are kept, unless the command line says that they are not, or there is no place for them.

    The latter is told on stderr.
    """
    if not compilation.use_cache:
        return None
    folder = _cache_folder() / "objects"
    try:
        return ObjectCache(folder)
    except (OSError, CodegenError) as error:
        _say_not_kept(folder, str(error))
        return None


def tell_refusal(cache: ObjectCache | None) -> None:
    """Say on stderr why compiled kernels are not kept, where they should be and are not."""
    if cache is not None and cache.refusal:
        _say_not_kept(cache.folder, cache.refusal)


def _say_not_kept(folder: Path, reason: str) -> None:
    say(
        f"compiled kernels are not kept in {folder}: {reason}\n"
        "  make room there, set XDG_CACHE_HOME to a folder of yours that has it, or give --no-cache",
        err=True,
    )


def _verified_files() -> VerifiedFiles | None:
    """Where verified artifacts are noted; None where there is no place for it, which costs time at every load."""
    try:
        return VerifiedFiles(_cache_folder() / "verified")
    except (OSError, ArtifactError):
        return None


def _cache_folder() -> Path:
    return Path(platformdirs.user_cache_dir("sateen", appauthor=False))
