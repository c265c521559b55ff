"""A case of a model that is no network: the message, rows of features, and what is computed of one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from arrays import Array
from coremltools.models.utils import save_spec


@dataclass
class EstimatorCase:
    """A model, and one element of each of its features."""

    name: str
    spec: Any
    inputs: Mapping[str, Array]
    expected: Sequence[Array]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def save(self, folder: Path) -> str:
        save_spec(self.spec, str(folder / "model.mlmodel"))
        return "model.mlmodel"


class Cases:
    """The cases of a family."""

    def __init__(self) -> None:
        self._cases: list[EstimatorCase] = []

    def __iter__(self) -> Any:
        return iter(self._cases)

    def case(self, name: str, spec: Any, inputs: Mapping[str, Array], *expected: Any) -> None:
        results = [
            e if isinstance(e, np.ndarray) and e.dtype == np.int64 else np.asarray(e, np.float32) for e in expected
        ]
        self._cases.append(EstimatorCase(f"estimator_{name}", spec, inputs, results))
