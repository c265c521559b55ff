"""Functions compiled for one target, to run or to write as a library or a source."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from sateen.runtime import Argument, CompiledFunction, Module, open_device
from sateen.runtime.device import Device, DeviceKind
from sateen.runtime.devices import DeviceDescription, OpenDevice, as_functions
from sateen.runtime.display import named
from sateen.runtime.errors import ArtifactError, CodegenError, DeviceError, LoweringError, TargetError
from sateen.runtime.files import replacing
from sateen.runtime.library_files import write_library
from sateen.runtime.signature import Metadata, Signature
from sateen.runtime.target import Target
from sateen.tensor_ir.codegen.companion import companion_codes
from sateen.tensor_ir.codegen.declarations import c_header
from sateen.tensor_ir.codegen.externals import Externals
from sateen.tensor_ir.codegen.kernel_limits import check_limits
from sateen.tensor_ir.codegen.kinds import PRODUCER, KernelCode, SourceCode, kind_of
from sateen.tensor_ir.codegen.llvm import CodeReport, LoadedObject, ModuleText, once
from sateen.tensor_ir.codegen.object_code import ObjectCode, compile_for, generate, parsed
from sateen.tensor_ir.codegen.signature import signature_of
from sateen.tensor_ir.host import host_text, pool_symbols
from sateen.tensor_ir.ir.stmt import Function
from sateen.tensor_ir.link import link
from sateen.tensor_ir.lowering.expand_calls import IntrinsicRules
from sateen.tensor_ir.lowering.expand_instructions import expand_instructions
from sateen.tensor_ir.lowering.split_host_device import DeviceProgram
from sateen.tensor_ir.targets import Gpu, System, features_of, with_features


class CompiledModule:
    """Functions compiled for one target.

    For kind llvm it is object code: on the machine that it was compiled for, call it (`module(a, b, c)`, or
    `module["name"](…)` if it has several functions); for any, `export_library` writes a self-contained library and
    `c_header` declares its functions. For other kinds it is `source`, which `export_source` writes. Functions of a
    device are called with arrays on it, and `host` is the code that launches their kernels. A method that does not
    apply to the kind raises TargetError.
    """

    def __init__(
        self,
        functions: Sequence[Function],
        target: Target,
        rules: IntrinsicRules,
        code: ObjectCode | SourceCode | KernelCode,
        target_host: Target | None = None,
        externals: Mapping[str, Callable[..., object]] | None = None,
    ) -> None:
        self.functions = tuple(functions)
        self.target = target
        self._rules = rules
        self._made = code
        self._target_host = target_host or Target.host()
        self._externals = Externals([self._with_bodies(f) for f in functions], externals or {})

    def _with_bodies(self, function: Function) -> Function:
        """The function with the statements of the instructions that the target does not spell."""
        features = features_of(self.target) if kind_of(self.target).has_libraries else frozenset()
        return expand_instructions(function, lambda instruction: instruction.code_for(features) is not None)

    @property
    def _code(self) -> ObjectCode:
        """The object code of a processor. Raises TargetError if the target's kind gives something else."""
        if not isinstance(self._made, ObjectCode):
            raise self._no_object_code()
        return self._made

    def _no_object_code(self) -> TargetError:
        gives, ways = f"{kind_of(self.target).gives}, not object code", "source and export_source"
        if isinstance(self._made, KernelCode):
            gives, ways = f"{kind_of(self.target).gives}, not that of a processor", "object_code"
        launching = ", and host, which launches its kernels" if self._program is not None else ""
        return TargetError(f"compiled for {self.target}, which gives {gives}: see {ways}{launching}")

    @property
    def source(self) -> str:
        """The text for another compiler: C99, which defines what a library does, a language of kernels, or PTX."""
        return self._source.text

    @property
    def program(self) -> DeviceProgram:
        """The kernels of a device's source, and what its host does. TargetError where a host runs it all."""
        if self._program is None:
            raise TargetError(f"compiled for {self.target}, which launches no kernels")
        return self._program

    @property
    def _program(self) -> DeviceProgram | None:
        return None if isinstance(self._made, ObjectCode) else self._made.program

    @cached_property
    def host(self) -> CompiledModule:
        """The functions of a device's host, for `target_host`: they take memory of the device, and launch its kernels.

        `module.with_devices` gives them the devices that do the work (docs/design/abi.md).
        """
        functions, target = [self.program.host], self._target_host
        return CompiledModule(
            functions, target, self._rules, kind_of(target).make(functions, target, self._rules, None)
        )

    @property
    def _source(self) -> SourceCode:
        if not isinstance(self._made, SourceCode):
            ways = "object_code, library and llvm_text" if self._program is None else "object_code and host"
            raise TargetError(
                f"compiled for {self.target}, which gives {kind_of(self.target).gives}, not a source: see {ways}"
            )
        return self._made

    def export_source(self, path: str | Path) -> None:
        """Write the source to `path`, and of C its header beside it (the same name, ending in .h).

        Raises ArtifactError if they can't be written.
        """
        place, text = _place(path, "source"), self.source.encode()
        if self._source.program is None:
            write_library(place, text, self.c_header())
            return
        try:
            with replacing(place) as file:
                file.write(text)
        except OSError as error:
            raise ArtifactError(f"{place}: expected a place to write the source to: {error.strerror}") from None

    @property
    def signatures(self) -> tuple[Signature, ...]:
        """The signature of each function."""
        return tuple(signature_of(f) for f in self.functions)

    @property
    def object_code(self) -> bytes:
        """The relocatable object, without pool and metadata; of a device that of its kernels."""
        return self._made.code if isinstance(self._made, KernelCode) else self._code.code

    @property
    def report(self) -> CodeReport:
        """The counts of code generation: gathers, masked and scalarised operations."""
        return self._code.report

    @property
    def module(self) -> Module:
        """The functions, loaded into this process; those of a device launch their kernels on the first of its kind, to
        which they are brought again if it was lost or closed.

        Raises TargetError if this machine can't run them, and for text that no driver takes; DeviceError without the
        device.
        """
        if self._program is None:
            return self._loaded_here
        if not self._loaded_there[0].is_usable:
            del self._loaded_there
        return self._loaded_there[1]

    @cached_property
    def _loaded_there(self) -> tuple[OpenDevice, Module]:
        """The device that the functions launch their kernels on, and these."""
        if compiler := self.target.kernel_compiler:
            raise TargetError(
                f"compiled for {self.target}, which gives {kind_of(self.target).gives}, text for {compiler} and no "
                "driver: see source, export_source and host, or build for cuda"
            )
        device = open_device(Device(self.target.device_kind))
        self._require_fit(device.description)
        kernels = self.object_code if isinstance(self._made, KernelCode) else self.source.encode()
        return device, self.host.module.with_devices([as_functions(device, device.load(kernels))])

    def _require_fit(self, limits: DeviceDescription) -> None:
        """Raises DeviceError for kernels whose blocks the device has no room for."""
        gpu = Gpu.of(self.target)
        assert gpu is not None
        there = replace(gpu, block_threads=limits.block_threads, shared_bytes=limits.shared_bytes)
        for kernel in self.program.kernels:
            try:
                check_limits(kernel, there)
            except LoweringError as error:
                raise DeviceError(f"{limits}: {error}") from None

    @cached_property
    def _loaded_here(self) -> Module:
        code, host = self._code, Target.host()
        missing = host.missing_features(with_features(self.target))
        if self.target.architecture != host.architecture or System.of(self.target.triple) is not System.of(host.triple):
            raise TargetError(f"compiled for {self.target}, but this machine is {host.triple}; use export_library")
        if missing:
            raise TargetError(f"compiled for {self.target}, but this machine lacks {', '.join(missing)}")
        self._externals.require_all()
        pool = process_pool()
        loaded = LoadedObject(code.code, code.symbols, {**pool.addresses, **self._externals.addresses})
        default_host = pool.addresses["sateen_default_host"]
        called = self._externals.in_python
        owner = loaded, self._externals
        return Module(self.signatures, loaded.addresses, owner=owner, default_host=default_host, called=called)

    def __call__(self, *arguments: Argument) -> None:
        """Run the only function. Raises ArgumentError for arguments that do not fit."""
        self.module(*arguments)

    def __getitem__(self, name: str) -> CompiledFunction:
        """A function by name, loaded into this process. Raises ArgumentError for a name that it does not have."""
        return self.module[name]

    def __repr__(self) -> str:
        return f"CompiledModule({named([signature.summary for signature in self.signatures])})"

    def llvm_text(self) -> str:
        """The LLVM text that was generated."""
        return self._text.text

    @property
    def _text(self) -> ModuleText:
        """The LLVM text of the object code. Raises TargetError if the target's kind gives something else."""
        if not isinstance(self._made, ObjectCode):
            raise self._no_object_code()
        return generate(self.functions, self.target, self._rules)

    def assembly(self) -> str:
        """The machine code as assembly text."""
        return parsed(self._text, self.target).assembly()

    def c_header(self) -> str:
        """Declarations of the functions for C, to be used with `sateen.h` of sateen-runtime."""
        if self.target.device_kind is not DeviceKind.CPU:
            raise TargetError(f"compiled for {self.target}, whose kernels C does not call")
        return c_header(self.signatures)

    def library(self, soname: str = "libsateen.so") -> bytes:
        """A self-contained shared library: the functions, a thread pool, metadata.

        Raises LinkError if it can't be linked, CodegenError for a system without a thread pool, and for names that
        metadata can't hold.
        """
        code = self._code
        metadata = Metadata(PRODUCER, str(with_features(self.target)), self.signatures)
        try:
            metadata.check()
        except ArtifactError as error:
            raise CodegenError(f"{error}; give it another name") from None
        exports = [
            *code.symbols,
            "sateen_abi_version", "sateen_default_host", "sateen_status_message", "sateen_metadata",
            *pool_symbols(self.target.triple, features_of(self.target)),
        ]  # fmt: skip
        return link([code.code, *companion_codes(self.target, metadata)], self.target.triple, exports, soname)

    def export_library(self, path: str | Path) -> None:
        """Write the library to `path`, and its C header beside it (the same name, ending in .h).

        Existing files are replaced, both or neither. Raises ArtifactError if they can't be written.
        """
        place = _place(path, "library")
        write_library(place, self.library(place.name), self.c_header())


def _place(path: str | Path, what: str) -> Path:
    """A path in a folder that exists. Raises ArtifactError for another one."""
    place = Path(path)
    if not place.parent.is_dir():
        raise ArtifactError(f"{place}: expected a folder to write the {what} to, found no {place.parent}")
    return place


@once
def process_pool() -> LoadedObject:
    """The thread pool for code compiled into this process. It is never unloaded, since its threads may be running."""
    host = Target.host()
    return LoadedObject(compile_for(host_text(host.triple), host), ["sateen_default_host"])
