"""The kind of a file by its content, which files may be written, and the errors for those that can't be."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

import click

from sateen.frontends.core.reader import LoadedModel
from sateen.frontends.readers import EXPECTED, open_model
from sateen.runtime import ARTIFACT_MAGIC, ArgumentError, ArtifactError

MODEL_OR_ARTIFACT = f"{EXPECTED}, or an artifact of sateen"
"""The name in errors for the files that verbs take."""


def read_model_file(path: Path, weights: Path | None) -> LoadedModel:
    """The loaded model in a file that is no artifact, perhaps with its second file. Raises FrontendError if it is no
    model."""
    return open_model(path, weights, MODEL_OR_ARTIFACT)


def is_artifact(path: Path) -> bool:
    """Whether the file is an artifact of sateen; else it may be a model."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(ARTIFACT_MAGIC)) == ARTIFACT_MAGIC


def keep_sources(option: str, outputs: Iterable[Path], sources: Iterable[Path]) -> None:
    """Raises BadParameter if writing the output of an option would destroy a file that is read, under any name.

    `sources` is called only if an output exists already.
    """
    existing = [output for output in outputs if output.exists()]
    for source in sources if existing else ():
        for output in existing:
            if source.exists() and output.samefile(source):
                raise click.BadParameter(
                    f"expected another file than {source}, which is read, found {output}", param_hint=option
                )


@contextmanager
def new_folder(place: Path, what: str) -> Iterator[Path]:
    """A folder to fill, which gets its name at the end; nothing is left of one that can't be filled. Raises
    ArtifactError for a place that exists or can't be written."""
    if place.exists():
        raise ArtifactError(f"{place}: expected a new folder to write {what} to, found one that exists")
    try:
        made = Path(mkdtemp(prefix=f".{place.name}.", dir=place.parent))
        try:
            yield made
            made.chmod(0o755)
            made.rename(place)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise
    except OSError as error:
        raise ArtifactError(f"{place}: expected a place to write {what} to: {error.strerror}") from None


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """A block that writes `path`. Raises ArgumentError if it can't."""
    try:
        yield
    except OSError as error:
        raise ArgumentError(f"can't write {path}: {error.strerror}") from None
