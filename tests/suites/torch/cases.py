"""Writes a case: a program of torch.export, and what torch computes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
from torch.utils import _pytree as pytree


def write(
    folder: Path, module: torch.nn.Module, inputs: tuple[torch.Tensor, ...], core: bool, tolerance: float = 1e-4
) -> None:
    """A case: the program, its inputs and its outputs, and how far from these others may be."""
    inputs = tuple(tensor.detach().clone() for tensor in inputs)
    program = torch.export.export(module.eval(), inputs)
    if core:
        program = program.run_decompositions()
    signature = program.graph_signature
    before = {name: buffer.clone() for name, buffer in module.named_buffers()}
    outputs = pytree.tree_leaves(module(*(tensor.clone() for tensor in inputs)))
    names = dict(zip(signature.user_outputs, outputs, strict=True))
    results = [value for value in names.values() if isinstance(value, torch.Tensor)]
    given = {f"in/{name}": value for name, value in zip(signature.user_inputs, inputs, strict=True)}
    after = dict(module.named_buffers())
    for name, buffer in signature.inputs_to_buffers.items():
        if not torch.equal(before[buffer], after[buffer]):  # state, which is an input and an output
            given[f"in/{name}"] = before[buffer]
            results.append(after[buffer])
    found = {f"out/{i}": value for i, value in enumerate(results)}
    if not found or any(value.is_complex() or not value.numel() for value in found.values()):
        return
    folder.mkdir(parents=True)
    torch.export.save(program, folder / "program.pt2")
    arrays = {name: value.detach().numpy() for name, value in (given | found).items()}
    np.savez(folder / "io.npz", **arrays)
    (folder / "case.json").write_text(json.dumps({"model": "program.pt2", "tolerance": tolerance}), encoding="utf-8")
