"""A case of an ML program: operations that coremltools' builder adds, and what they compute."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import coremltools as ct
import numpy as np
from arrays import Array, Source
from coremltools.converters.mil import Builder
from coremltools.converters.mil.mil import types

_TYPES = {"float32": types.fp32, "float16": types.fp16, "int32": types.int32}
_SOURCE = Source("programs")
BLOCK, POSITIVE = _SOURCE.reals(2, 3, 4), _SOURCE.reals(2, 3, 4, low=0.1, high=3)
PICTURES, LARGE = _SOURCE.reals(2, 3, 4, 5), _SOURCE.reals(2, 4, 9, 8)


@dataclass
class ProgramCase:
    """A program for a system of a version; `compress` changes its weights. Inputs that are `states` have their next
    values as outputs, after the others."""

    name: str
    inputs: Mapping[str, Array]
    build: Callable[..., Any]
    expected: Sequence[Array]
    target: Any = ct.target.iOS17
    settings: Mapping[str, Any] = field(default_factory=dict)
    compress: Callable[[Any], Any] | None = None
    states: Sequence[str] = ()

    def model(self) -> Any:
        specs = [
            (Builder.StateTensorSpec if name in self.states else Builder.TensorSpec)(
                data.shape, dtype=_TYPES[str(data.dtype)]
            )
            for name, data in self.inputs.items()
        ]
        names = ", ".join(self.inputs)
        # the names of a program's inputs are those of a function's arguments
        scope: dict[str, Any] = {"build": self.build}
        exec(f"def program({names}):\n    return build({names})", scope)
        program = Builder.program(input_specs=specs, opset_version=self.target)(scope["program"])
        return ct.convert(
            program,
            convert_to="mlprogram",
            compute_precision=ct.precision.FLOAT32,
            minimum_deployment_target=self.target,
            pass_pipeline=ct.PassPipeline.EMPTY if self.compress is None else None,
        )

    def save(self, folder: Path) -> str:
        model = self.model() if self.compress is None else self.compress(self.model())
        model.save(str(folder / "model.mlpackage"))
        return "model.mlpackage"


class Cases:
    """The cases of a family. Inputs are called x, y, z …"""

    def __init__(self, family: str) -> None:
        self._cases: list[ProgramCase] = []
        self.source = Source(family)

    def __iter__(self) -> Iterator[ProgramCase]:
        return iter(self._cases)

    def case(self, name: str, inputs: Sequence[Array], build: Callable[..., Any], *expected: Any, **more: Any) -> None:
        named = dict(zip("xyzuvw", inputs, strict=False))
        results = [np.asarray(e) for e in expected]
        given = [e.astype(np.float32) if e.dtype == bool else e for e in results]  # coremltools casts results of bool
        self._cases.append(ProgramCase(f"program_{name}", named, build, given, **more))

    def operation(
        self,
        name: str,
        inputs: Sequence[Array],
        *expected: Any,
        arguments: Sequence[str] = "xyzuvw",
        label: str = "",
        **parameters: Any,
    ) -> None:
        """A case of one operation, whose arguments of these names are the inputs."""

        def build(*values: Any) -> Any:
            return getattr(Builder, name)(**dict(zip(arguments, values, strict=False)), **parameters)

        self.case(label or name, inputs, build, *expected)
