"""Remembers which files had their parameters verified, so that loading one again does not hash it again.

A file is known by device, inode, size and the times in nanoseconds at which its content and its inode changed (the
latter can't be set back), together with the digest of its manifest, which holds the digests of all parameters. The
notes are empty files in a folder that only its owner may write to.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sateen.runtime.errors import ArtifactError


@dataclass(frozen=True, slots=True)
class KnownFile:
    """One file, to be asked about or noted."""

    folder: Path
    identity: str

    def _note(self, digest: str) -> Path:
        return self.folder / hashlib.sha256(f"{self.identity} {digest}".encode()).hexdigest()

    def is_verified(self, digest: str) -> bool:
        return self._note(digest).exists()

    def remember(self, digest: str) -> None:
        """Note the file. A folder that takes no note costs the time of the next check, nothing else."""
        with suppress(OSError):
            self._note(digest).touch()


class VerifiedFiles:
    """Notes in `folder`, which is created if it does not exist.

    Raises ArtifactError where it can't be created, belongs to another user, or others may write to it.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            status = self.folder.stat()
        except OSError as error:
            raise ArtifactError(f"{self.folder}: expected a folder to keep notes in: {error.strerror}") from None
        if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
            raise ArtifactError(
                f"{self.folder}: expected a folder that only its owner, you, may write to; found owner {status.st_uid} "
                f"and mode {status.st_mode & 0o777:o}"
            )

    def of(self, descriptor: int) -> KnownFile:
        """The open file."""
        s = os.fstat(descriptor)
        return KnownFile(self.folder, f"{s.st_dev} {s.st_ino} {s.st_size} {s.st_mtime_ns} {s.st_ctime_ns}")
