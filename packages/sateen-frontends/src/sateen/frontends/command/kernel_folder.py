"""A network for a device as files for a program of one's own: kernels, what to launch, parameters."""

from __future__ import annotations

import json
from pathlib import Path

from sateen.frontends.command.files import new_folder
from sateen.runtime import ArgumentError, Artifact, ArtifactError, CodeForm, Target
from sateen.runtime.actions import action_to_json

_NO_PREFIX = "network"


def write_kernels(artifact: Artifact, folder: Path, name: str) -> None:
    """Write `kernels` with the suffix of their language, `network.json` and `parameters.bin` to a new folder.

    The description has the types of inputs and outputs, the sizes of all blocks of memory by their numbers, and what a
    run does in order, whose places are block, offset and size in bytes (docs/command.md).

    Raises ArtifactError for an artifact that is for no device, and for a place that exists or can't be written;
    ArgumentError for a name, which nothing here has.
    """
    if artifact.form is not CodeForm.KERNELS:
        raise ArtifactError(
            f"expected a network for a device, found one for {artifact.target}; compile the model with --target "
            "opencl, or another kind of device"
        )
    if name != _NO_PREFIX:
        raise ArgumentError(f"expected no name for kernels, which have those of the network's nodes, found {name!r}")
    if artifact.library:
        raise ArtifactError(
            "expected a network whose kernels are all those of devices, found one with functions of the host; compile "
            "it without --place"
        )
    places = [f" on {memory.device}" for memory in artifact.placed] or [""]
    owned = [f"{block}{place}" for place in places for block in ("parameters", "workspace")]
    names = [*(p.name for p in (*artifact.inputs, *artifact.outputs)), *owned]
    described: dict[str, object] = {
        "target": artifact.target,
        "inputs": [p.to_json() for p in artifact.inputs],
        "outputs": [p.to_json() for p in artifact.outputs],
        "blocks": [{"name": name, "bytes": b.size} for name, b in zip(names, artifact.blocks, strict=True)],
        "launches": list(map(action_to_json, artifact.actions)),
    }
    with new_folder(folder, "the kernels") as made:
        (made / f"kernels{Target.parse(artifact.target).kernel_suffix}").write_bytes(artifact.kernels)
        (made / "network.json").write_text(_text(described), encoding="utf-8")
        (made / "parameters.bin").write_bytes(bytes(artifact.parameters))


def _text(described: dict[str, object]) -> str:
    """JSON with a line for each field, and for each element of one that is a list."""
    fields = []
    for name, value in described.items():
        lines = [json.dumps(element) for element in value] if isinstance(value, list) else []
        text = "[\n  " + ",\n  ".join(lines) + "\n ]" if lines else json.dumps(value)
        fields.append(f" {json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(fields) + "\n}\n"
