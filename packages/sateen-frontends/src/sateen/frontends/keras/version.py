"""The Keras that wrote a file: some layers changed their meaning."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LAST_ALONE = (2, 3)
"""The last Keras that was a package apart from TensorFlow, until Keras 3."""


@dataclass(frozen=True, slots=True)
class Version:
    """`generation` is 1, 2 or 3. Up to 2.3 Keras was a package apart from TensorFlow, which had its own (`-tf`)."""

    generation: int
    minor: int = 0
    is_tensorflows: bool = False

    @property
    def is_alone(self) -> bool:
        """Whether it is a Keras 1 or 2 apart from TensorFlow."""
        return (self.generation, self.minor) <= _LAST_ALONE and not self.is_tensorflows

    @classmethod
    def of(cls, text: str | None) -> Version | None:
        """The version that a text such as 2.2.4-tf names; None if it is none of these."""
        found = re.match(r"([123])\.(\d{1,3})(?=\.)", text or "")
        return None if found is None else cls(int(found[1]), int(found[2]), "-tf" in (text or ""))
