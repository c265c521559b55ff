"""What works here for a target: compiling, linking and running; and the command that enables what does not."""

from __future__ import annotations

import shutil
from dataclasses import dataclass

import numpy as np

from sateen.runtime import LinkError, SateenError, Target
from sateen.runtime.target_names import TargetName
from sateen.tensor_ir import CompiledModule, build, te
from sateen.tensor_ir.host import has_host
from sateen.tensor_ir.link import link_static, linker_remedy
from sateen.tensor_ir.targets import System, with_features


@dataclass(frozen=True, slots=True)
class Emulator:
    """A program that runs code of an architecture here, and the command that installs it on Debian and Ubuntu."""

    programs: tuple[str, ...]
    install: str

    def found(self) -> str:
        """The name of the program that is on the path; '' if none is."""
        return next((program for program in self.programs if shutil.which(program)), "")


_QEMU_USER = "apt-get install qemu-user-static"
EMULATORS = {
    "aarch64": Emulator(("qemu-aarch64-static", "qemu-aarch64"), _QEMU_USER),
    "arm": Emulator(("qemu-arm-static", "qemu-arm"), _QEMU_USER),
    "riscv64": Emulator(("qemu-riscv64-static", "qemu-riscv64"), _QEMU_USER),
    "wasm32": Emulator(("node",), "apt-get install nodejs"),
}
"""The emulators of libraries for Linux, and what runs modules of WebAssembly, by architecture."""


BOARD = Emulator(("qemu-system-arm",), "apt-get install qemu-system-arm")
"""The emulator of machines with Cortex-M, which have no system."""


@dataclass(frozen=True, slots=True)
class TargetSupport:
    """What works here for a target, each as a short phrase; a phrase is '' where the step before it fails.

    `remedy` enables the first step that fails; it is '' if nothing here would.
    """

    compiles: str
    links: str = ""
    runs: str = ""
    remedy: str = ""


def built_for(text: str) -> CompiledModule:
    """A small function, `twice`, for a target. Raises SateenError."""
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] * 2.0, name="B")
    return build(te.create_schedule(B), [A, B], text, name="twice")


def computes(module: CompiledModule) -> bool:
    """Whether `twice` gives right numbers in this process."""
    data, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    module(data, out)
    return np.array_equal(out, data * 2)


def support_of(name: TargetName) -> TargetSupport:
    """What works here for a named target: a function is compiled and linked, and run if its code is for this machine.

    Emulators and Node are looked for, not tried: emulators need the C library of their machine, too.
    """
    try:
        module = built_for(name.text)
    except SateenError as error:
        return TargetSupport(f"no: {error}")
    if not has_host(module.target.triple):
        return TargetSupport("yes", "no")
    if System.of(module.target.triple) is System.NONE:
        return _as_archive(module)
    try:
        module.library()
    except LinkError:
        remedy = linker_remedy(module.target.triple)
        return TargetSupport("yes", "no linker found" if remedy else "no", "", remedy)
    target, host = with_features(module.target), Target.host()
    system = System.of(target.triple)
    if system not in (System.of(host.triple), System.WEBASSEMBLY):
        return TargetSupport("yes", "yes", "no")
    if target.architecture == host.architecture:
        if missing := host.missing_features(target):
            return TargetSupport("yes", "yes", f"no: this processor lacks {', '.join(missing)}")
        return TargetSupport("yes", "yes", "natively" if computes(module) else "computes wrong numbers")
    if target.architecture not in EMULATORS:
        return TargetSupport("yes", "yes", "no")
    emulator = EMULATORS[target.architecture]
    if program := emulator.found():
        return TargetSupport("yes", "yes", f"by {program}")
    return TargetSupport("yes", "yes", "no emulator found", emulator.install)


def _as_archive(module: CompiledModule) -> TargetSupport:
    """What works for a machine without a system, whose programs link the code."""
    try:
        link_static([module.object_code], module.target.triple, ["twice"], given=["sateen_default_host"])
    except LinkError as error:
        return TargetSupport("yes", f"no: {error}")
    if program := BOARD.found():
        return TargetSupport("yes", "as an archive", f"by {program}")
    return TargetSupport("yes", "as an archive", "no emulator found", BOARD.install)
