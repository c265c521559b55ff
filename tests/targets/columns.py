"""The targets of the tables, each with the place where its code runs: a new target is a value."""

from __future__ import annotations

import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from cases import NAME, Program
from emulator import AARCH64, EmulatedMachine, EmulationError, Emulator, pack_arrays, unpack_arrays
from text_devices import TRAPS, open_text_device

from sateen.runtime import (
    Device,
    DeviceError,
    LocalSession,
    Model,
    SessionError,
    Target,
    load,
    load_module,
    open_device,
    read_artifact,
)
from sateen.runtime.devices import OpenDevice, as_functions
from sateen.runtime.launched_network import LaunchedNetwork
from sateen.tensor_ir import CompiledModule
from sateen.tensor_ir.targets import with_features

Array = np.ndarray[Any, Any]
SECONDS = 120
WARNINGS = ("-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic")


@dataclass(frozen=True)
class Place(ABC):
    """A target by its text, and where its code runs."""

    text: str

    @property
    def target(self) -> Target:
        return Target.of(self.text)

    @abstractmethod
    def why_not(self) -> str:
        """Why nothing runs there, '' where it does."""

    @abstractmethod
    def run(self, program: Program, arrays: Sequence[Array]) -> None:
        """Call the function of a program, which may write to each array. Raises SateenError, EmulationError, OSError,
        RuntimeError or SubprocessError where that fails."""


class Here(Place):
    """A child process of this machine."""

    def why_not(self) -> str:
        missing = Target.host().missing_features(with_features(self.target))
        return f"this machine lacks {', '.join(missing)}" if missing else ""

    def run(self, program: Program, arrays: Sequence[Array]) -> None:
        self.call(program.library, arrays)

    def call(self, library: bytes, arrays: Sequence[Array]) -> None:
        try:
            module = self._session.load(library)
            module[NAME](*arrays)
            module.unload()
        except SessionError:
            self.__dict__.pop("_session").close()  # what crashed ends no other call
            raise

    @cached_property
    def _session(self) -> LocalSession:
        return LocalSession(seconds=SECONDS)


class InC(Here):
    """The same, after a C compiler of this machine has compiled the source, with short indices in the narrowest type
    that C allows for them."""

    def why_not(self) -> str:
        return "" if shutil.which("cc") else "cc is not installed"

    def run(self, program: Program, arrays: Sequence[Array]) -> None:
        with TemporaryDirectory() as folder:
            source, library = Path(folder, "source.c"), Path(folder, "source.so")
            source.write_text(program.module.source.replace("int_fast32_t", "int32_t"), encoding="utf-8")
            command = ["cc", *WARNINGS, "-shared", "-fPIC", source, "-o", library, "-lm"]
            subprocess.run(command, check=True, timeout=SECONDS)
            self.call(library.read_bytes(), arrays)


@dataclass(frozen=True)
class Emulated(Place):
    """A machine with Linux that qemu emulates."""

    machine: EmulatedMachine

    def why_not(self) -> str:
        return self.machine.why_not()

    def run(self, program: Program, arrays: Sequence[Array]) -> None:
        with TemporaryDirectory() as folder:
            Emulator(Path(folder), self.machine).call(program.library, NAME, arrays)


class InNode(Place):
    """Node, which runs WebAssembly."""

    def why_not(self) -> str:
        return "" if shutil.which("node") else "node is not installed"

    def run(self, program: Program, arrays: Sequence[Array]) -> None:
        with TemporaryDirectory() as folder:
            place, data = Path(folder, "module.wasm"), Path(folder, "arrays")
            place.write_bytes(program.library)
            data.write_bytes(pack_arrays(arrays))
            script = Path(__file__).with_name("node.mjs")
            command = ["node", str(script), str(place), NAME, str(data)]
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
            if done.returncode:
                raise EmulationError(f"{NAME} ended with {done.returncode}: {done.stderr}")
            unpack_arrays(data.read_bytes(), arrays)


class OnDevice(Place):
    """The first device of a kind, which may be this processor: PoCL for OpenCL, lavapipe for WebGPU."""

    def why_not(self) -> str:
        try:
            open_device(Device(Target.parse(self.text).device_kind))
        except DeviceError as error:
            return str(error)
        return ""

    def run(self, program: Program, arrays: Sequence[Array]) -> None:
        if isinstance(program.code, CompiledModule):
            program.code[NAME](*arrays)
            return
        self.run_model(load(program.code), arrays)

    def run_model(self, model: Model, arrays: Sequence[Array]) -> None:
        """Run a network on inputs, into outputs."""
        names = [[p.name for p in parameters] for parameters in (model.inputs, model.outputs)]
        given, results = arrays[: len(names[0])], arrays[len(names[0]) :]
        model.run(dict(zip(names[0], given, strict=True)), out=dict(zip(names[1], results, strict=True)))


class OnText(OnDevice):
    """Threads of this process, after a C++ compiler of this machine has compiled the text of kernels."""

    @cached_property
    def _device(self) -> OpenDevice:
        return open_text_device(self.text, TRAPS)

    def why_not(self) -> str:
        try:
            self._device  # noqa: B018
        except DeviceError as error:
            return str(error)
        return ""

    def run(self, program: Program, arrays: Sequence[Array]) -> None:
        device = self._device
        if not isinstance(program.code, CompiledModule):
            artifact = read_artifact(program.code)
            functions = load_module(artifact.library).functions if artifact.library else {}
            network = LaunchedNetwork(artifact, lambda _: device, functions)
            self.run_model(Model(artifact, network, device.description.device), arrays)
            return
        kernels = device.load(program.code.source.encode())
        module = program.code.host.module.with_devices([as_functions(device, kernels)])
        module[NAME](*arrays)  # which are on the host (cases.py) and copied by the code


COLUMNS: Mapping[str, Place] = {
    "host": Here("llvm"),
    "x86-64-v2": Here("x86-64-v2"),
    "x86-64-v3": Here("x86-64-v3"),
    "x86-64-v4": Here("x86-64-v4"),
    "aarch64": Emulated("aarch64", AARCH64),
    "armv7": Emulated("armv7", EmulatedMachine("arm", "arm-linux-gnueabihf", ("-cpu", "cortex-a9"))),
    "riscv64": Emulated(
        "riscv64", EmulatedMachine("riscv64", "riscv64-linux-gnu", ("-cpu", "rv64,zba=false,zbb=false"))
    ),
    "riscv64 with RVV": Emulated(
        "llvm -mtriple=riscv64-linux-gnu -mattr=+v,+zvl256b",
        EmulatedMachine(
            "riscv64", "riscv64-linux-gnu", ("-cpu", "rv64,zba=false,zbb=false,v=true,vext_spec=v1.0,vlen=256")
        ),
    ),
    "wasm32": InNode("wasm32"),
    "c": InC("c"),
    "opencl": OnDevice("opencl"),
    "opencl on a processor": OnDevice("opencl -mcpu=processor"),
    "webgpu": OnDevice("webgpu"),
    "cuda-c": OnText("cuda-c"),
    "metal": OnText("metal"),
}
"""The targets by the head of their column."""
