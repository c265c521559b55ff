"""Writes programs of torch.export, one per operator and sample, and per module, with what torch computes.

    python make.py FOLDER

Operators take torch's own samples of inputs (OpInfo); modules have seeded weights. `core` in a name: decomposed into
the core ATen operators.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from cases import write
from modules import MODULES
from operators import OPERATORS
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

SAMPLES = 3
"""The most samples of each operator."""
LARGEST = 4096
"""The most elements of an input of an operator."""


class Call(torch.nn.Module):
    """An operator on some arguments, of which the tensors are inputs."""

    def __init__(self, function: Callable[..., Any], leaves: Sequence[Any], spec: Any) -> None:
        super().__init__()
        self.function, self.leaves, self.spec = function, leaves, spec

    def forward(self, *tensors: torch.Tensor) -> Any:
        given = iter(tensors)
        leaves = [next(given) if isinstance(leaf, torch.Tensor) else leaf for leaf in self.leaves]
        args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        return self.function(*args, **kwargs)


def calls() -> Iterator[tuple[str, torch.nn.Module, tuple[torch.Tensor, ...]]]:
    """Samples of the operators, by a name for each."""
    for info in op_db:
        name = f"{info.name}.{info.variant_test_name}".strip(".")
        if name not in OPERATORS:
            continue
        torch.manual_seed(0)
        count = 0
        for sample in info.sample_inputs("cpu", torch.float32):
            leaves, spec = pytree.tree_flatten(((sample.input, *sample.args), sample.kwargs))
            tensors = tuple(leaf for leaf in leaves if isinstance(leaf, torch.Tensor))
            if count < SAMPLES and tensors and all(0 < tensor.numel() <= LARGEST for tensor in tensors):
                count += 1
                yield f"{name}.{count}", Call(info.op, leaves, spec), tensors


def main() -> None:
    warnings.simplefilter("ignore")
    root = Path(sys.argv[1])
    for name, call, tensors in calls():
        try:
            write(root / name, call, tensors, core=False)
        except Exception as error:  # noqa: BLE001  # what torch can't export is no case
            print(f"not exported: {name}: {str(error).splitlines()[0] if str(error) else error!r}")  # noqa: T201
    for name, (module, shapes) in MODULES.items():
        for core in (False, True):
            torch.manual_seed(0)
            made = module()
            inputs = tuple(s if isinstance(s, torch.Tensor) else torch.randn(s) for s in shapes)
            write(root / f"{name}{'.core' * core}", made, inputs, core)


if __name__ == "__main__":
    main()
