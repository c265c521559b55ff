"""A loaded network: arrays by name in, arrays by name out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import Self

import numpy as np

from sateen.runtime.artifact import Artifact, CodeForm, parameter_rows
from sateen.runtime.artifact_reader import read_artifact
from sateen.runtime.content import whole
from sateen.runtime.device import Device, DeviceKind, cpu
from sateen.runtime.devices import OpenDevice, open_device
from sateen.runtime.diagnosis import wrong_argument
from sateen.runtime.display import html_table, size
from sateen.runtime.errors import ArgumentError, ArtifactError, TargetError
from sateen.runtime.fork_safe import ForkSafeLock
from sateen.runtime.launched_network import LaunchedNetwork
from sateen.runtime.module import CompiledFunction, Module, load_module
from sateen.runtime.named_arrays import require_mapping, unknown, wrong_inputs
from sateen.runtime.ndarray import ALIGNMENT, AnyArray, NDArray, allocator, array, compact, empty
from sateen.runtime.outputs import Outputs
from sateen.runtime.packing import LEAST_BLOCK_BYTES, PROCESS_BLOCKS, PackedBlock, Packing, drop_pages
from sateen.runtime.signature import Parameter, Signature
from sateen.runtime.target import Target, generation_of
from sateen.runtime.verified import VerifiedFiles


class Model:
    """A network ready to run. Its parameters are shared with the file, read-only; its workspace is its own.

        model = load("squeezenet.sateen", threads=2)
        outputs = model.run({"data": x})

    or, in the style of 2017, `set_input`, `run()`, `get_output`. Threads that run one model wait for each other; to
    avoid that, load a model for each thread.
    """

    def __init__(self, artifact: Artifact, network: Module | LaunchedNetwork, device: Device) -> None:
        """A network in a module, or on devices, of which `device` is the first.

        Raises ArtifactError if a module does not fit the artifact's manifest, OutOfMemoryError if there is no memory
        for the workspace.
        """
        self.artifact = artifact
        self.device = device
        self._function: CompiledFunction | LaunchedNetwork | None
        self.clock: NDArray | None = None
        """For a network with timed steps: ticks of the processor at the beginning of the last run and after each of its
        steps."""
        self._blocks: tuple[NDArray, ...] = ()
        self._packed_block: PackedBlock | None = None
        if isinstance(network, Module):
            self._function = _function(artifact.signature, network)
            self._give_blocks(network)
        else:
            self._function = network
        self._inputs = tuple(p.name for p in artifact.inputs)
        self._input_names = frozenset(self._inputs)
        self._outputs = {p.name: allocator(_shape(p), p.dtype) for p in artifact.outputs}
        self._on_device = {
            p.name: partial(empty, _shape(p), p.dtype, self._device_of(i))
            for i, p in enumerate(artifact.outputs, len(artifact.inputs))
        }
        self._given: dict[str, AnyArray] = {}
        self._results: Outputs | None = None
        self._lock = ForkSafeLock()

    @property
    def launched(self) -> LaunchedNetwork | None:
        """What runs on devices, None on a processor and of a closed model."""
        return self._function if isinstance(self._function, LaunchedNetwork) else None

    def _device_of(self, position: int) -> Device:
        """Where an input or output is computed or read."""
        return self.device if self.launched is None else self.launched.device_of(position)

    def _give_blocks(self, module: Module) -> None:
        """The memory that a function of the host gets besides inputs and outputs."""
        artifact = self.artifact
        block = NDArray.of(np.frombuffer(whole(artifact.parameters) or bytes(64), np.uint8))
        parameters = block if block.data % ALIGNMENT == 0 else array(block)  # a file's lie at a page
        packed = () if artifact.packing is None else (self._packed(artifact.packing, module, parameters),)
        workspace = empty((max(artifact.workspace_bytes, 64),), "uint8")
        self.clock = empty((len(artifact.steps) + 1,), "int64") if artifact.has_clock else None
        clock = () if self.clock is None else (self.clock,)
        self._blocks = (*clock, parameters, *packed, workspace)

    def _packed(self, packing: Packing, module: Module, parameters: NDArray) -> NDArray:
        """The packed parameters, which models of one artifact share; the first one of them packs."""
        artifact, signature = self.artifact, self.artifact.pack_signature
        assert signature is not None
        pack = _function(signature, module)

        def fill(block: NDArray) -> None:
            pack(parameters, block, empty((int(signature.parameters[-1].shape[0]),), "uint8"))
            if isinstance(artifact.parameters, memoryview):
                drop_pages(artifact.parameters, packing.kept)

        key = artifact.digest or (id(artifact.parameters), id(artifact.library))
        self._packed_block = PROCESS_BLOCKS.of(key, (artifact.parameters, artifact.library))
        return self._packed_block.filled(max(packing.packed, LEAST_BLOCK_BYTES), fill)

    @property
    def inputs(self) -> tuple[Parameter, ...]:
        return self.artifact.inputs

    @property
    def outputs(self) -> tuple[Parameter, ...]:
        return self.artifact.outputs

    def run(
        self,
        inputs: Mapping[str, AnyArray] | None = None,
        *,
        out: Mapping[str, AnyArray] | None = None,
        copy: bool = True,
        keep: bool = False,
    ) -> Outputs:
        """The outputs by name: new arrays, or those in `out`. Without `inputs` the arrays of `set_input` are used.

        New arrays are in the host's memory, with `keep` where the network computes them. Those on a device are complete
        when its queued work is done.

        An input is read in place if it is compact, aligned to its elements and in the byte order of this machine. Any
        other input is copied first, or refused without `copy`. An array of `out` may be an input if `artifact.aliases`
        says so, and must have separate memory otherwise. Raises ArgumentError for arguments that are no mapping, for an
        input that is missing, unknown or of another type, shape or device, and for a closed model.
        """
        given = self._given if inputs is None else inputs
        require_mapping(given, "inputs", self.artifact.inputs)
        if given.keys() != self._input_names:
            raise wrong_inputs(given, self.inputs)
        taken = self._compact(given) if copy else [given[n] for n in self._inputs]
        makers = self._on_device if keep else self._outputs
        if out is not None:
            require_mapping(out, "outputs", self.outputs)
            for name in out:
                if name not in self._outputs:
                    raise unknown("outputs", name, self.outputs)
            results = Outputs({n: NDArray.of(out[n]) if n in out else make() for n, make in makers.items()})
            self._check_shared(dict(zip(self._inputs, taken, strict=True)), out, results)
        else:
            results = Outputs({n: make() for n, make in makers.items()})
        with self._lock.current:
            if self._function is None:
                raise ArgumentError("run: expected a model that is open, found one that was closed")
            if (out is None and copy) or isinstance(self._function, LaunchedNetwork):
                self._function.call_arrays([*map(NDArray.of, taken), *results.values(), *self._blocks])
            else:
                self._function(*taken, *results.values(), *self._blocks)
        self._results = results
        return results

    def set_input(self, name: str, value: AnyArray) -> None:
        """Keep an input for `run()`. The array itself is kept, so a run reads its values at that time.

        Raises ArgumentError for an unknown name.
        """
        if name not in self._input_names:
            raise unknown("inputs", name, self.inputs)
        self._given[name] = value

    def get_output(self, index: int | str) -> NDArray:
        """An output of the last run, by position or name.

        Raises ArgumentError before the first run, and for an unknown output.
        """
        if self._results is None:
            raise ArgumentError("get_output: the model has not run yet")
        return self._results[index]

    def close(self) -> None:
        """Release workspace and code; the parameters live as long as the artifact. Waits for a run in progress."""
        with self._lock.current:
            self._function = None
            self._blocks = ()
            self._packed_block = None
            self._given.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = f"on {self.device}, workspace {size(self.artifact.workspace_bytes)}" if self._function else "closed"
        return f"Model({self.artifact.types}; {state})"

    def _repr_html_(self) -> str:
        facts = {
            "compiled for": self.artifact.target,
            "on": str(self.device) if self._function else "closed",
            "parameters": self.artifact.parameter_text,
            "workspace": size(self.artifact.workspace_bytes),
        }
        return html_table("model", facts, *parameter_rows(self.inputs, self.outputs))

    def _compact(self, given: Mapping[str, AnyArray]) -> list[NDArray]:
        """The inputs in order, as the code reads them."""
        arrays = []
        for position, p in enumerate(self.artifact.inputs):
            try:
                arrays.append(compact(given[p.name], p.alignment))
            except ArgumentError as error:
                raise wrong_argument(self.artifact.signature, position, str(error)) from None
        return arrays

    def _check_shared(
        self, given: Mapping[str, AnyArray], out: Mapping[str, AnyArray], results: Mapping[str, NDArray]
    ) -> None:
        """Raise ArgumentError if an output shares memory with another input than its own. The code itself lets all
        arguments in `artifact.aliases` overlap."""
        aliases = self.artifact.aliases
        for name in aliases.keys() & out.keys():
            others = {f"output {n!r}": results[n] for n in aliases if n != name}
            others |= {f"input {n!r}": NDArray.of(given[n]) for n in aliases.values()}
            for other, memory in others.items():
                same = (memory.data, memory.byte_offset) == (results[name].data, results[name].byte_offset)
                is_own = other == f"input {aliases[name]!r}" and same
                if not is_own and results[name].overlaps(memory):
                    raise ArgumentError(
                        f"output {name!r} expects memory of its own, or all of that of input {aliases[name]!r}; found "
                        f"memory of {other}"
                    )


def load(
    source: Artifact | bytes | str | os.PathLike[str],
    device: Device | str | None = None,
    *,
    threads: int = 0,
    verified: VerifiedFiles | None = None,
) -> Model:
    """Load an artifact: a file, its bytes, or the compiler's result.

    `device` says which of several devices of the kind that the artifact is for, by default the first.
    `threads` caps the threads of a run, 0 for all; `verified` skips hashing known parameters. A file is mapped, so
    while a model is in use it may be replaced (as `Artifact.save` does) but not written to. Raises ArtifactError for an
    artifact that is damaged, of another version, or compiled for another processor or device, ArgumentError for a
    source of another kind and for an invalid number of `threads`.
    """
    artifact = source if isinstance(source, Artifact) else read_artifact(source, verified=verified)
    name = "artifact" if isinstance(source, (Artifact, bytes)) else str(source)
    try:
        target = _target(artifact.target)
        kind = target.device_kind
        place = Device(kind) if device is None else Device.of(device)
        if place.kind is not kind or (kind is DeviceKind.CPU and place != cpu()):
            raise ArtifactError(
                f"compiled for {target.kind}, which runs on {Device(kind)}; found device {place}, for which to compile "
                "the model again"
            )
        if artifact.form is CodeForm.KERNELS and kind is not DeviceKind.CPU:
            if compiler := target.kernel_compiler:
                raise ArtifactError(
                    f"compiled for {artifact.target}, whose kernels are text for {compiler} and no driver; compile "
                    f"the model for {kind}"
                )
            return Model(artifact, _launched(artifact, place, threads), place)
        _check_target(artifact.target)
        if not artifact.form.is_loaded:
            raise ArtifactError(
                f"expected a library to load, found {artifact.form.value}, which programs are built with; see sateen "
                "export"
            )
        return Model(artifact, load_module(artifact.library, threads=threads), place)
    except ArtifactError as error:
        raise ArtifactError(f"{name}: {error}") from None


def _launched(artifact: Artifact, first: Device, threads: int) -> LaunchedNetwork:
    """A network on devices: `first` stands for the first of their kind, and those after it for the others."""

    def opened(device: Device) -> OpenDevice:
        if device.kind is not first.kind:
            raise ArtifactError(f"expected parts on {first.kind} and the host, found one on {device}")
        found = open_device(Device(device.kind, first.index + device.index))
        _check_generation(_target(artifact.target), found)
        return found

    functions = load_module(artifact.library, threads=threads).functions if artifact.library else {}
    return LaunchedNetwork(artifact, opened, functions)


def _target(text: str) -> Target:
    """The target that a manifest names. Raises ArtifactError for one that this version does not know."""
    try:
        return Target.parse(text)
    except TargetError as error:
        raise ArtifactError(f"{error}; renew sateen-runtime, or compile the model again") from None


def _check_target(text: str) -> None:
    """Raises ArtifactError unless this machine runs code for the target that the manifest names."""
    target = _target(text)
    host = Target.host()
    if missing := host.missing_features(target):
        raise ArtifactError(
            f"expected code for this machine, found some that needs {', '.join(missing)}; compile the model again, "
            f"here or with --target '{host}'"
        )


def _check_generation(target: Target, device: OpenDevice) -> None:
    """Raises ArtifactError for kernels of a newer generation than the device: a driver makes code of those up to it."""
    found = device.description.architecture
    if generation_of(target.cpu) > generation_of(found) > 0:
        raise ArtifactError(
            f"compiled for {target.cpu}, found {device.description}, which is {found}; compile the model with --target "
            f"'{target.kind} -mcpu={found}'"
        )


def _function(expected: Signature, module: Module) -> CompiledFunction:
    """A function of a network's library. The code generator chooses the names of parameters, so they may differ."""
    function = module.functions.get(expected.name)
    if function is None or _forms(function.signature) != _forms(expected):
        found = "no such function" if function is None else str(function.signature)
        raise ArtifactError(
            f"expected a library of {expected}, as the manifest says, found {found}: it belongs to another artifact; "
            "compile the model again"
        )
    return function


def _forms(signature: Signature) -> list[tuple[object, ...]]:
    return [(p.dtype, p.shape, p.strides, p.alignment, p.device, p.is_output) for p in signature.parameters]


def _shape(p: Parameter) -> tuple[int, ...]:
    return tuple(extent for extent in p.shape if isinstance(extent, int))
