"""A case of a neural network: layers that coremltools' builder adds, and what they compute."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from arrays import Array, Source, t
from coremltools.models import datatypes, neural_network
from coremltools.models.utils import save_spec

Builder = neural_network.NeuralNetworkBuilder
_SOURCE = Source("networks")
PICTURE, OTHER, POSITIVE = _SOURCE.reals(3, 4, 5), _SOURCE.reals(3, 4, 5), _SOURCE.reals(3, 4, 5, low=0.1, high=3)
BLOCK, POSITIVE_BLOCK = _SOURCE.reals(2, 3, 4), _SOURCE.reals(2, 3, 4, low=0.2, high=2)
COLUMN, LARGE = _SOURCE.reals(3, 1), _SOURCE.reals(4, 9, 8)
TABLE, TABLE_BIAS = _SOURCE.reals(5, 7), _SOURCE.reals(5)


@dataclass
class NetworkCase:
    """A network. `old`: its blobs are those of versions 1 to 3, [Seq, Batch, C, H, W]; `features` are shapes of inputs
    where they differ from those of the data; `prepare` changes the message."""

    name: str
    inputs: Mapping[str, Array]
    build: Callable[[Builder], None]
    expected: Sequence[Array]
    old: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    prepare: Callable[[Any], Any] = lambda spec: spec
    features: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def save(self, folder: Path) -> str:
        shapes = {name: self.features.get(name, data.shape) for name, data in self.inputs.items()}
        inputs = [(name, datatypes.Array(*shape)) for name, shape in shapes.items()]
        outputs = [
            (f"out{i}" if i else "out", datatypes.Array(*np.shape(data)) if self.old else None)
            for i, data in enumerate(self.expected)
        ]
        builder = Builder(inputs, outputs, disable_rank5_shape_mapping=not self.old)
        self.build(builder)
        save_spec(self.prepare(builder.spec), str(folder / "model.mlmodel"))
        return "model.mlmodel"


class Cases:
    """The cases of a family. Inputs are called x, y, z …, outputs out, out1 …"""

    def __init__(self, family: str) -> None:
        self._cases: list[NetworkCase] = []
        self.source = Source(family)

    def __iter__(self) -> Iterator[NetworkCase]:
        return iter(self._cases)

    def case(
        self, name: str, inputs: Sequence[Array], build: Callable[[Builder], Any], *expected: Any, **more: Any
    ) -> None:
        named = {given: data.astype(np.float32) for given, data in zip("xyzuvw", inputs, strict=False)}
        self._cases.append(NetworkCase(name, named, build, [np.asarray(e, np.float32) for e in expected], **more))

    def layer(
        self, name: str, function: str, inputs: Sequence[Array], *expected: Any, old: bool = False, **parameters: Any
    ) -> None:
        """A case of one layer, which a method of the builder adds."""

        def build(builder: Builder) -> None:
            method = getattr(builder, function)
            taken = method.__code__.co_varnames[: method.__code__.co_argcount]
            given: dict[str, Any] = {"input_name": "x"}
            if "input_names" in taken:
                given = {"input_names": list("xyzuvw"[: len(inputs)])}
            outputs = [f"out{i}" if i else "out" for i in range(len(expected))]
            made = {"output_names": outputs} if "output_names" in taken else {"output_name": "out"}
            method(name="layer", **given, **made, **parameters)

        self.case(name, inputs, build, *expected, old=old)


def images(function: Callable[[torch.Tensor], torch.Tensor], x: Array) -> Array:
    """A function of [N, C, H, W] on [C, H, W]."""
    return function(t(x)[None])[0].numpy()
