"""Packages: folders whose Manifest.json names the model in them; its weights are files beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sateen.frontends.core.beside import plain_path, read_whole_beside
from sateen.frontends.core.json_text import parse_object
from sateen.frontends.core.source import Limits, Source
from sateen.runtime.errors import FrontendError

MANIFEST = "Manifest.json"
_DATA = "Data"
"""The folder that the manifest's paths begin in."""
_MOST_MANIFEST = 1 << 20
_ROOT, _ENTRIES = "rootModelIdentifier", "itemInfoEntries"


def is_package(folder: Path) -> bool:
    """Whether a folder is a package: it has a manifest that names its model."""
    try:
        return _ROOT in _manifest(folder)
    except FrontendError:
        return False


def model_of_package(folder: Path, limits: Limits) -> Source:
    """The model of a package, whose path is that within the package. Raises FrontendError if there is none."""
    manifest = _manifest(folder)
    entries = manifest.get(_ENTRIES)
    entry = entries.get(str(manifest.get(_ROOT))) if isinstance(entries, dict) else None
    path = entry.get("path") if isinstance(entry, dict) else None
    if not isinstance(path, str):
        raise FrontendError(f"{folder}: expected a {MANIFEST} that names the path of its model, found none")
    what = f"the model of package {folder.name!r}"
    parts = (_DATA, *plain_path(path, what))
    data = read_whole_beside(folder, "/".join(parts), limits.model_bytes, what)
    return Source(data, folder.joinpath(*parts))


def _manifest(folder: Path) -> dict[str, Any]:
    """The manifest. Raises FrontendError if it is no object of JSON."""
    data = read_whole_beside(folder, MANIFEST, _MOST_MANIFEST, "the manifest of the package")
    return parse_object(data, str(folder / MANIFEST))
