"""What kind of file a path names, by its content; which files may be written, and what is said where one can't be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from sateen.frontends.core.reader import Model
from sateen.frontends.readers import EXPECTED, open_model
from sateen.runtime import ARTIFACT_MAGIC, ArgumentError

MODEL_OR_ARTIFACT = f"{EXPECTED} or an artifact of sateen"
"""What errors call the files that verbs take."""


def read_model_file(path: Path) -> Model:
    """The loaded model in a file that is no artifact. Raises FrontendError where it is no model."""
    return open_model(path, MODEL_OR_ARTIFACT)


def is_artifact(path: Path) -> bool:
    """Whether the file is an artifact of sateen; else it may be a model."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(ARTIFACT_MAGIC)) == ARTIFACT_MAGIC


def keep_sources(option: str, outputs: Iterable[Path], sources: Iterable[Path]) -> None:
    """Raises BadParameter where writing an output of an option would destroy a file that is read, by whatever name.

    `sources` are asked for only where an output exists already.
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
    """A block that writes `path`. Raises ArgumentError where it can't."""
    try:
        yield
    except OSError as error:
        raise ArgumentError(f"can't write {path}: {error.strerror}") from None
