"""The kind of a file by its content, which files may be written, and the errors for those that can't be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from sateen.frontends.core.reader import LoadedModel
from sateen.frontends.readers import EXPECTED, open_model
from sateen.runtime import ARTIFACT_MAGIC, ArgumentError

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
def writing(path: Path) -> Iterator[None]:
    """A block that writes `path`. Raises ArgumentError if it can't."""
    try:
        yield
    except OSError as error:
        raise ArgumentError(f"can't write {path}: {error.strerror}") from None
