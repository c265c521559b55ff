"""What clients have uploaded, kept for later sessions: files in one folder, each named by its digest. Other files there
are a user's, and stay."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from sateen.runtime.cache_folder import ENTRY_NAME, is_abandoned


def trim(store: Path, most_bytes: int) -> None:
    """Removes what sessions were writing when they ended, and those files that were not used for longest, until at most
    `most_bytes` are left. Sessions set the time of a file when they use it."""
    found: list[tuple[float, int, str]] = []
    with suppress(FileNotFoundError), os.scandir(store) as entries:  # people clear folders of caches
        for entry in entries:
            with suppress(OSError):  # it was removed just now
                status = entry.stat(follow_symlinks=False)
                if ENTRY_NAME.fullmatch(entry.name):
                    found.append((status.st_mtime, status.st_size, entry.path))
                elif is_abandoned(entry.name, status.st_mtime):
                    os.unlink(entry.path)
    left = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if left <= most_bytes:
            return
        with suppress(OSError):
            os.unlink(path)
        left -= size
