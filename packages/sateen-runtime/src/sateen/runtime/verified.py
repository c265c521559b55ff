"""Records which files had their parameters verified, so that loading one again does not hash it again.

A file is identified by device, inode, size and the times in nanoseconds at which its content and its inode changed (the
latter can't be set back), together with the digest of its manifest, which holds the digests of all parameters. The
notes are empty files in a folder that only its owner may write to.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from sateen.runtime.cache_folder import CacheFolder
from sateen.runtime.errors import ArtifactError

MOST_NOTES = 4096
"""The most files that are recorded; those loaded the longest time ago are forgotten."""


@dataclass(frozen=True, slots=True)
class KnownFile:
    """One file, to look up or to note."""

    notes: CacheFolder
    identity: str

    def _note(self, digest: str) -> str:
        return hashlib.sha256(f"{self.identity} {digest}".encode()).hexdigest()

    def is_verified(self, digest: str) -> bool:
        return self.notes.read(self._note(digest)) is not None

    def remember(self, digest: str) -> None:
        """Note the file. If the folder can't be written, only the next check takes longer."""
        self.notes.write(self._note(digest), b"")


class VerifiedFiles:
    """Notes in `folder`, which is created if it does not exist.

    Raises ArtifactError if it can't be created, belongs to another user, or others may write to it.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        try:
            self._notes = CacheFolder(self.folder, 0, MOST_NOTES)
        except OSError as error:
            raise ArtifactError(f"{self.folder}: expected a folder to keep notes in: {error.strerror}") from None

    def of(self, descriptor: int) -> KnownFile:
        """The open file."""
        s = os.fstat(descriptor)
        return KnownFile(self._notes, f"{s.st_dev} {s.st_ino} {s.st_size} {s.st_mtime_ns} {s.st_ctime_ns}")
