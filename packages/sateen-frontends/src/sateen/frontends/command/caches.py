"""The caches of the command: compiled kernels, and notes of verified artifacts."""

from __future__ import annotations

from pathlib import Path

import platformdirs

from sateen.frontends.command.compilation import Compilation
from sateen.frontends.command.output import say
from sateen.runtime import ArtifactError, CodegenError, VerifiedFiles
from sateen.tensor_ir import ObjectCache


def object_cache(compilation: Compilation) -> ObjectCache | None:
    """The cache of compiled kernels; None if the command line forbids it or the folder can't be used.

    In the second case stderr says so.
    """
    if not compilation.use_cache:
        return None
    folder = cache_folder() / "objects"
    try:
        return ObjectCache(folder)
    except (OSError, CodegenError) as error:
        _say_not_kept(folder, str(error))
        return None


def tell_refusal(cache: ObjectCache | None) -> None:
    """Say on stderr why compiled kernels are not cached, if they should be and are not."""
    if cache is not None and cache.refusal:
        _say_not_kept(cache.folder, cache.refusal)


def _say_not_kept(folder: Path, reason: str) -> None:
    say(
        f"compiled kernels are not kept in {folder}: {reason}\n"
        "  make room there, set XDG_CACHE_HOME to a folder of yours that has it, or give --no-cache",
        err=True,
    )


def verified_files() -> VerifiedFiles | None:
    """The notes of verified artifacts; None if the folder can't be used, which costs time at every load."""
    try:
        return VerifiedFiles(cache_folder() / "verified")
    except (OSError, ArtifactError):
        return None


def cache_folder() -> Path:
    """Where the command keeps what it can make again."""
    return Path(platformdirs.user_cache_dir("sateen", appauthor=False))
