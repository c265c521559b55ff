"""Groups as text: what keys their kernels in a cache, what a worker is asked, and what it answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from sateen.graph_ir.ir import Graph, Node, parse_graph
from sateen.graph_ir.kernels.facts import KernelFacts
from sateen.graph_ir.kernels.groups import group_key, lower_kernel
from sateen.graph_ir.ops import OPS, Fused
from sateen.runtime import Target
from sateen.tensor_ir import Machine
from sateen.tensor_ir.codegen import answer_of, answer_with, source_digest

_SOURCES = ("sateen.runtime", "sateen.tensor_ir", "sateen.topi", "sateen.graph_ir")
"""The packages that make kernels of groups."""


def group_text(body: Graph) -> str:
    """The text that determines the kernel of a group on a machine; '' if none does, since functions of users or
    operators of other packages are in it."""
    text, of_users = group_key(body)
    return "" if of_users else text.replace("graph", "graph group", 1)


def facts_key(text: str, machine: Machine, target: Target) -> str:
    """SHA-256, in hexadecimal, of what the facts of a group's kernel depend on: its text, the machine, the target, and
    the sources of the packages that make kernels, with NumPy, which computes their constants."""
    parts = [text, repr(machine), str(target), np.__version__, *map(source_digest, _SOURCES)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def facts_of(fields: Mapping[str, Any]) -> KernelFacts:
    """The facts in an answer or in a cache."""
    return KernelFacts(fields["digest"], tuple(fields["scratch"]), tuple(fields["overwritable"]))


def group_request(text: str, name: str, target: Target) -> dict[str, Any]:
    """The request for the kernel of a group's text, under a name, on the machine of a target."""
    return {"names": [name], "group": text, "target": str(target)}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The facts and the object code of a group's kernel, no facts if it can't be lowered, or the error of compiling it;
    of other requests what `answer_of` gives."""
    if "group" not in request:
        return answer_of(request)
    (name,), target = request["names"], Target.parse(request["target"])
    body = parse_graph(request["group"], OPS)
    try:
        kernel = lower_kernel(Node(Fused(body), body.inputs, body.outputs), name, Machine.of(target))
    except Exception:  # noqa: BLE001  # who asks lowers it, too, and so tells the error with the nodes of the model
        return {"facts": None}
    return {"facts": asdict(kernel.facts), **answer_with([kernel.function], target, internal=True)}
