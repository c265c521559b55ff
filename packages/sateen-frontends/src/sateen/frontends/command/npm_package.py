"""A network as a package of npm: a folder that Node and bundlers import, with artifacts and sateen-web inside.

`javascript` is a link to the sources of sateen-web, which a wheel holds as files.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path

from sateen.frontends.command.files import new_folder
from sateen.runtime import ArgumentError, Artifact, ArtifactError, DeviceKind, Target

_NETWORK_ONLY = shutil.ignore_patterns("device")
"""Leaves out the modules of sessions, which no network needs."""
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,213}")
_INDEX = """\
/** The network {name}: `const model = await load(options)`, then `await model.run(inputs)`. */

import {{ load as loadArtifact }} from "./sateen/index.js";

export * from "./sateen/index.js";

/** The network, ready to run. */
export function load(options) {{
  return loadArtifact({source}, options);
}}
"""
_URL = 'new URL("./{file}", import.meta.url)'
_TYPES = """\
import type {{ LoadOptions, Model }} from "./sateen/index.js";

export * from "./sateen/index.js";

/** The network {name}, ready to run{where}: from {inputs} to {outputs}. */
export function load(options?: LoadOptions): Promise<Model>;
"""


def write_npm_package(artifact: Artifact, folder: Path, name: str, webgpu: Artifact | None = None) -> None:
    """Write the package `name` to a new folder; nothing is left of one that can't be written. It runs `webgpu`, the
    same network, where it finds a device of WebGPU.

    Raises ArtifactError for an artifact that is for neither WebAssembly nor WebGPU, and for a place that exists or
    can't be written; ArgumentError for a name that npm refuses.
    """
    target = Target.parse(artifact.target)
    if target.architecture != "wasm32" and target.device_kind is not DeviceKind.WEBGPU:
        raise ArtifactError(
            f"expected a network for WebAssembly or WebGPU, found one for {artifact.target}; "
            "compile the model with --target wasm32 or webgpu"
        )
    if not _NAME.fullmatch(name):
        raise ArgumentError(
            f"expected the name of a package of npm: small letters, digits, '.', '_' and '-', found {name!r}"
        )
    artifacts = {f"{name}.sateen": artifact}
    if webgpu is not None:
        artifacts[f"{name}.webgpu.sateen"] = webgpu
    with new_folder(folder, "the package") as made:
        _fill(made, artifacts, name)


def _fill(folder: Path, artifacts: Mapping[str, Artifact], name: str) -> None:
    with as_file(files("sateen.frontends.command").joinpath("javascript")) as sources:
        shutil.copytree(sources, folder / "sateen", ignore=_NETWORK_ONLY, copy_function=shutil.copyfile)
    for file, artifact in artifacts.items():
        artifact.save(folder / file)
    package = {
        "name": name,
        "version": "1.0.0",
        "type": "module",
        "exports": {".": {"types": "./index.d.ts", "default": "./index.js"}},
        "types": "./index.d.ts",
        "files": ["index.js", "index.d.ts", "sateen", *artifacts],
    }
    first, *second = (_URL.format(file=file) for file in artifacts)
    source = f"{{ wasm: {first}, webgpu: {second[0]} }}" if second else first
    where = " by WebGPU where it is, otherwise by WebAssembly" if second else ""
    artifact = next(iter(artifacts.values()))
    inputs, outputs = (", ".join(f"{p.name} ({p.type})" for p in all_) for all_ in (artifact.inputs, artifact.outputs))
    texts = {
        "package.json": json.dumps(package, indent=2) + "\n",
        "index.js": _INDEX.format(name=name, source=source),
        "index.d.ts": _TYPES.format(name=name, where=where, inputs=_in_comment(inputs), outputs=_in_comment(outputs)),
    }
    for path, text in texts.items():
        (folder / path).write_text(text, encoding="utf-8")


def _in_comment(text: str) -> str:
    """A text that does not end the comment that it is in."""
    return text.replace("*/", "* /")
