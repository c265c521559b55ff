"""Where the command keeps what it can use again: compiled kernels, and which artifacts were verified."""

from __future__ import annotations

from pathlib import Path

import platformdirs

from sateen.frontends.command.compilation import Compilation
from sateen.frontends.command.output import say
from sateen.runtime import ArtifactError, CodegenError, VerifiedFiles
from sateen.tensor_ir import ObjectCache


def object_cache(compilation: Compilation) -> ObjectCache | None:
    """Where compiled kernels are kept; None where the command line forbids it, and where there is no place for them.

    In the second case stderr says so.
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


def verified_files() -> VerifiedFiles | None:
    """Where verified artifacts are noted; None where there is no place for it, which costs time at every load."""
    try:
        return VerifiedFiles(_cache_folder() / "verified")
    except (OSError, ArtifactError):
        return None


def _cache_folder() -> Path:
    return Path(platformdirs.user_cache_dir("sateen", appauthor=False))
