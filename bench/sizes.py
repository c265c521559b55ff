"""What runs ResNet-18, in bytes, for each kind of machine, and its parameters: `nox -s bench -- sizes`.

A library holds all that the network needs but its parameters: kernels, entry, host, metadata. Of an archive the bytes
are those that a program gets of it. Parameters are larger than the model's where methods take them in another form.
"""

from __future__ import annotations

import re

from page import table

from sateen.graph_ir import build, workloads
from sateen.runtime import Artifact
from sateen.runtime.artifact import CodeForm

TARGETS = ("x86-64-v3", "x86-64-v4", "aarch64", "armv7", "riscv64", "wasm32", "cortex-m4", "cortex-m7", "c")
GOAL = 300 << 10
_LIBRARY = re.compile(rb"\0(lib\w+\.so\.\d+)\0")


def code_bytes(artifact: Artifact) -> int:
    """The bytes of a library or of a text, or those of an archive in a program."""
    if artifact.form is not CodeForm.ARCHIVE:
        return len(artifact.library)
    footprint = artifact.footprint
    return footprint.code + footprint.data


def needs(artifact: Artifact) -> str:
    """The libraries of the system that the code names; what an archive or a text needs."""
    match artifact.form:
        case CodeForm.ARCHIVE:
            return "memcpy, memset"
        case CodeForm.SOURCE:
            return "a C compiler and its library"
    found = {match[1].decode() for match in _LIBRARY.finditer(artifact.library.replace(b"\0", b"\0\0"))}
    return ", ".join(sorted(found)) or "a page or Node"


def read_bytes(artifact: Artifact) -> int:
    """The bytes of parameters that runs read, packed when they are loaded or before."""
    packing = artifact.packing
    return len(artifact.parameters) if packing is None else packing.kept + packing.packed


def main() -> None:
    rows, parameters, largest = [], [], 0
    for target in TARGETS:
        artifact = build(workloads.resnet(), target)
        strict = build(workloads.resnet(), target, numerics="strict")
        parameters.append([f"`{target}`", *(f"{read_bytes(a) / 1e6:.1f} MB" for a in (artifact, strict))])
        largest = max(largest, code_bytes(artifact))
        rows.append([f"`{target}`", artifact.form.value, f"{code_bytes(artifact):,}", needs(artifact)])
    print("\n".join(table(["target", "code is", "bytes", "needs"], rows)))
    print(f"\nthe largest has {largest:,} bytes, of {GOAL:,} allowed\n")
    print("\n".join(table(["target", "parameters", "with `--numerics strict`"], parameters)))


if __name__ == "__main__":
    main()
