"""Devices of WebGPU, by the wheel wgpu: over Vulkan, Metal or Direct3D 12.

WebGPU has one queue, in which work is done in order, so that all queues are that one. Launches are collected in a pass
of commands, which is given to the device when something has to follow it.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any, cast

from sateen.runtime.device import Device, DeviceKind
from sateen.runtime.devices.description import DeviceDescription
from sateen.runtime.devices.driver import DriverError, Fault, MemoryPart, MissingDriverError, no_such_device
from sateen.runtime.devices.webgpu_clock import Clock, Event, Mapping, Order, Read
from sateen.runtime.devices.wgsl_text import KernelText, Place, SharedBinding, kernels_of, span

_WORD = 4
_BACKENDS = ("Vulkan", "Metal", "D3D12")
_INT32 = range(-(1 << 31), 1 << 31)
_LAVAPIPE = "llvmpipe"
_LAVAPIPE_ITERATIONS = 65535
"""The iterations after which Mesa's driver for processors ends all loops of a thread (LP_MAX_TGSI_LOOP_ITERATIONS)."""
_WARP = 32
"""The threads that run in step, where the driver does not tell."""
_PASS = 64
"""The launches after which a pass is given to the device, which then begins."""
_REMEDY = "install a driver for Vulkan; that for processors is lavapipe (Debian: mesa-vulkan-drivers)"


class WebGPUDriver:
    """The adapters of all backends, in the order in which wgpu lists them."""

    kind = DeviceKind.WEBGPU

    def descriptions(self) -> tuple[DeviceDescription, ...]:
        return tuple(_describe(adapter, i) for i, adapter in enumerate(_adapters()))

    def connect(self, index: int) -> WebGPUConnection:
        adapters = _adapters()
        if index >= len(adapters):
            raise no_such_device("WebGPU", Device(self.kind, index), len(adapters))
        return WebGPUConnection(adapters[index], _describe(adapters[index], index))


@dataclass(frozen=True, slots=True, eq=False)
class _Prepared:
    """A pipeline with its memory, which wgpu keeps alive."""

    pipeline: Any
    group: Any
    grid: tuple[int, int, int]


class _Kernels:
    """The kernels of a text; a pipeline for each way of binding that was asked for."""

    def __init__(self, texts: dict[str, KernelText]) -> None:
        self.texts = texts
        self.pipelines: dict[tuple[str, tuple[SharedBinding, ...]], tuple[Any, Any]] = {}


class WebGPUConnection:
    """A device with its one queue."""

    _numbers = count(1)
    """The numbers of memory: no two devices of a process have one in common."""

    def __init__(self, adapter: Any, description: DeviceDescription) -> None:
        self.description = description
        self._wgpu = _wgpu()
        self._limits = dict(adapter.limits)
        self._most_iterations = _LAVAPIPE_ITERATIONS if _LAVAPIPE in adapter.info["device"] else None
        features = [name for name in ("timestamp-query",) if name in adapter.features]
        with self._told(Fault.OTHER):
            self._device = adapter.request_device_sync(required_features=features, required_limits=self._limits)
        self._buffers: dict[int, Any] = {}
        self._commands: Any = None
        self._pass: Any = None
        self._launched = 0
        self._order = Order()
        self._clock = Clock(self._wgpu, self._device, measures=bool(features))

    @contextmanager
    def _told(self, fault: Fault) -> Iterator[None]:
        """Errors of wgpu as those of a driver."""
        try:
            yield
        except self._wgpu.GPUOutOfMemoryError as error:
            raise DriverError(Fault.MEMORY, str(error)) from None
        except (self._wgpu.GPUError, RuntimeError) as error:
            lost = "device is lost" in str(error).lower()
            raise DriverError(Fault.LOST if lost else fault, str(error)) from None

    # Memory.

    def allocate(self, size: int) -> int:
        flags = self._wgpu.BufferUsage
        usage = flags.STORAGE | flags.COPY_SRC | flags.COPY_DST
        with self._told(Fault.MEMORY):
            buffer = self._device.create_buffer(size=_words(size) * _WORD, usage=usage)
        handle = next(self._numbers)
        self._buffers[handle] = buffer
        return handle

    def free(self, handle: int) -> None:
        del self._buffers[handle]

    def write(self, queue: int, to: MemoryPart, address: int) -> object | None:
        assert to.size is not None
        self._flush()
        given = (ctypes.c_char * to.size).from_address(address)
        begin, end = _aligned(to)
        with self._told(Fault.OTHER):
            buffer = self._buffers[to.handle]
            if (begin, end) == (to.offset, to.offset + to.size):
                self._device.queue.write_buffer(buffer, begin, given)
                return None
            words = bytearray(self._device.queue.read_buffer(buffer, begin, end - begin))
            words[to.offset - begin : to.offset - begin + to.size] = bytes(given)
            self._device.queue.write_buffer(buffer, begin, words)
        return None

    def read(self, queue: int, address: int, start: MemoryPart) -> object:
        assert start.size is not None
        begin, end = _aligned(start)
        commands = self._open_commands()
        flags = self._wgpu.BufferUsage
        with self._told(Fault.OTHER):
            between = self._device.create_buffer(size=end - begin, usage=flags.COPY_DST | flags.MAP_READ)
            commands.copy_buffer_to_buffer(self._buffers[start.handle], begin, between, 0, end - begin)
        self._flush()
        with self._told(Fault.OTHER):
            failures = self._wgpu.GPUError, RuntimeError
            return self._ordered(Read(between, start.offset - begin, start.size, address, failures))

    def copy(self, queue: int, to: MemoryPart, start: MemoryPart) -> None:
        assert start.size is not None
        whole = start.size == self._buffers[to.handle].size == self._buffers[start.handle].size
        if (start.offset % _WORD or to.offset % _WORD or start.size % _WORD) and not whole:
            self._copy_by_host(to, start)
            return
        size = _words(start.size) * _WORD
        commands = self._open_commands()
        with self._told(Fault.OTHER):
            source, begin = self._buffers[start.handle], start.offset
            if start.handle == to.handle:  # which WebGPU refuses
                flags = self._wgpu.BufferUsage
                between = self._device.create_buffer(size=size, usage=flags.COPY_SRC | flags.COPY_DST)
                commands.copy_buffer_to_buffer(source, begin, between, 0, size)
                source, begin = between, 0
            commands.copy_buffer_to_buffer(source, begin, self._buffers[to.handle], to.offset, size)

    def _copy_by_host(self, to: MemoryPart, start: MemoryPart) -> None:
        """Copy parts of words, which commands of WebGPU don't."""
        assert start.size is not None
        begin, end = _aligned(start)
        self._flush()
        with self._told(Fault.OTHER):
            words = self._device.queue.read_buffer(self._buffers[start.handle], begin, end - begin)
        wanted = ctypes.create_string_buffer(bytes(words[start.offset - begin :][: start.size]), start.size)
        self.write(0, to, ctypes.addressof(wanted))

    # Kernels.

    def load(self, code: bytes) -> object:
        try:
            kernels = _Kernels(kernels_of(code.decode()))
        except UnicodeDecodeError as error:
            raise DriverError(Fault.CODE, f"expected text in WGSL, found {error}") from None
        for name, kernel in kernels.texts.items():
            self._module(name, kernel.text)
        return kernels

    def _module(self, name: str, text: str) -> Any:
        try:
            with self._told(Fault.CODE):
                return self._device.create_shader_module(label=name, code=text)
        except DriverError as error:
            raise DriverError(error.fault, f"kernel {name}: {error}") from None

    def unload(self, kernels: object) -> None:
        pass  # wgpu ends what nobody holds

    def prepare(
        self,
        kernels: object,
        name: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        parts: Sequence[MemoryPart],
        scalars: Sequence[int],
    ) -> object:
        loaded = cast(_Kernels, kernels)
        if name not in loaded.texts:
            raise DriverError(Fault.OTHER, f"the code has no kernel {name!r}")
        if 0 in grid:
            return _Prepared(None, None, grid)  # which is never launched, and may have empty places
        kernel = self._short(loaded.texts[name])
        places = self._places(parts)
        shared = kernel.partition(places, self._limits["max-storage-buffers-per-shader-stage"], self._window)
        bound, begins = self._bound(name, parts, places, shared)
        layout, pipeline = self._pipeline(loaded, kernel, shared)
        numbers = self._numbers_of(name, [0, *begins, *scalars])
        entries = [{"binding": 0, "resource": {"buffer": numbers, "offset": 0, "size": numbers.size}}, *bound]
        with self._told(Fault.OTHER):
            group = self._device.create_bind_group(label=name, layout=layout, entries=entries)
        return _Prepared(pipeline, group, grid)

    def _places(self, parts: Sequence[MemoryPart]) -> list[Place]:
        """The bytes that a binding of each part has: words, from an offset that the device takes."""
        alignment = int(self._limits["min-storage-buffer-offset-alignment"])
        return [
            Place(p.handle, p.offset // alignment * alignment, max(_end(p, self._buffers[p.handle].size), _WORD))
            for p in parts
        ]

    def _bound(
        self, name: str, parts: Sequence[MemoryPart], places: Sequence[Place], shared: Sequence[SharedBinding]
    ) -> tuple[list[dict[str, Any]], list[int]]:
        """The entries of bindings, and the first word of each part in its binding."""
        self._require_few(name, sum(len(one.numbers) for one in shared))
        entries, begins = [], [0] * len(parts)
        for one in shared:
            begin, end = span([places[i] for i in one.positions])
            buffer = self._buffers[parts[one.positions[0]].handle]
            for number, start in zip(one.numbers, range(begin, end, self._window), strict=True):
                size = min(self._window, end - start)
                entries.append({"binding": number, "resource": {"buffer": buffer, "offset": start, "size": size}})
            for i in one.positions:
                begins[i] = (parts[i].offset - begin) // _WORD
        return entries, begins

    @property
    def _window(self) -> int:
        """The most bytes of a binding behind which another one begins."""
        alignment = int(self._limits["min-storage-buffer-offset-alignment"])
        return int(self._limits["max-storage-buffer-binding-size"]) // alignment * alignment

    def _short(self, kernel: KernelText) -> KernelText:
        """The kernel with its short loops unrolled if the driver would end its loops too early otherwise."""
        most = self._most_iterations
        if most is None or kernel.iterations <= most:
            return kernel
        if kernel.unrolled_iterations > most:
            found = f"up to {kernel.unrolled_iterations} iterations of loops in a thread"
            raise DriverError(Fault.OTHER, f"kernel {kernel.name} expects {found}, lavapipe ends them after {most}")
        return kernel.unrolled

    def _require_few(self, name: str, bindings: int) -> None:
        most = self._limits["max-storage-buffers-per-shader-stage"]
        if bindings > most:
            sizes = f"of {self._window} bytes at most"
            raise DriverError(
                Fault.OTHER, f"kernel {name} expects {bindings} storage buffers {sizes}, the device has {most}"
            )

    def _pipeline(self, kernels: _Kernels, kernel: KernelText, shared: tuple[SharedBinding, ...]) -> tuple[Any, Any]:
        """The layout and the pipeline of a kernel with these bindings."""
        key = (kernel.name, shared)
        if key not in kernels.pipelines:
            module = self._module(kernel.name, kernel.merged(shared, self._window))
            visible = self._wgpu.ShaderStage.COMPUTE
            entries: list[dict[str, Any]] = [{"binding": 0, "visibility": visible, "buffer": {"type": "uniform"}}]
            for one in shared:
                kind = "storage" if one.is_written else "read-only-storage"
                entries += [{"binding": n, "visibility": visible, "buffer": {"type": kind}} for n in one.numbers]
            with self._told(Fault.CODE):
                layout = self._device.create_bind_group_layout(entries=entries)
                whole = self._device.create_pipeline_layout(bind_group_layouts=[layout])
                stage = {"module": module, "entry_point": kernel.name}
                pipeline = self._device.create_compute_pipeline(label=kernel.name, layout=whole, compute=stage)
            kernels.pipelines[key] = layout, pipeline
        return kernels.pipelines[key]

    def _numbers_of(self, name: str, values: Sequence[int]) -> Any:
        """A buffer of the numbers of a launch."""
        if wide := [value for value in values if value not in _INT32]:
            raise DriverError(Fault.OTHER, f"kernel {name} expects numbers of 32 bits, found {wide[0]}")
        data = (ctypes.c_int32 * (-(-max(len(values), 1) // 4) * 4))(*values)
        with self._told(Fault.OTHER):
            return self._device.create_buffer_with_data(data=data, usage=self._wgpu.BufferUsage.UNIFORM)

    def launch(self, queue: int, prepared: object) -> None:
        ready = cast(_Prepared, prepared)
        if 0 in ready.grid:
            return
        with self._told(Fault.OTHER):
            if self._pass is None:
                self._pass = self._open_commands().begin_compute_pass()
            self._pass.set_pipeline(ready.pipeline)
            self._pass.set_bind_group(0, ready.group)
            self._pass.dispatch_workgroups(*ready.grid)
        self._launched += 1
        if self._launched >= _PASS:
            self._flush()

    def discard(self, prepared: object) -> None:
        pass

    # Commands and time.

    def _open_commands(self) -> Any:
        """The commands that are collected, with no pass open."""
        with self._told(Fault.OTHER):
            if self._commands is None:
                self._commands = self._device.create_command_encoder()
            if self._pass is not None:
                self._pass.end()
                self._pass = None
        return self._commands

    def _flush(self) -> None:
        """Give the collected commands to the device."""
        if self._commands is None:
            return
        commands = self._open_commands()
        self._commands, self._launched = None, 0
        with self._told(Fault.OTHER):
            self._device.queue.submit([commands.finish()])

    def wait(self, queue: int, event: object) -> None:
        pass  # all queues are one, in order

    def record(self, queue: int) -> object:
        self._flush()
        with self._told(Fault.OTHER):
            return self._ordered(self._clock.record())

    def _ordered(self, mapping: Mapping) -> Mapping:
        self._order.append(mapping)
        return mapping

    def is_reached(self, event: object) -> bool:
        with self._told(Fault.LOST):
            return self._order.is_reached(cast(Mapping, event))

    def seconds(self, first: object, second: object) -> float:
        with self._told(Fault.OTHER):
            return self._clock.seconds(cast(Event, first), cast(Event, second))

    def forget(self, event: object) -> None:
        with self._told(Fault.LOST):
            if isinstance(event, Event):
                self._clock.forget(event)

    def close(self) -> None:
        self._commands = self._pass = None
        self._buffers.clear()
        self._device.destroy()


def _words(size: int) -> int:
    return -(-size // _WORD)


def _aligned(part: MemoryPart) -> tuple[int, int]:
    """The bytes of all words that a part has some of."""
    assert part.size is not None
    return part.offset // _WORD * _WORD, _words(part.offset + part.size) * _WORD


def _end(part: MemoryPart, size: int) -> int:
    """Where the words of a part end."""
    return size if part.size is None else _words(part.offset + part.size) * _WORD


def _wgpu() -> Any:
    """The wheel. Raises MissingDriverError."""
    try:
        return importlib.import_module("wgpu")
    except (ImportError, OSError) as error:
        raise MissingDriverError(f"the wheel wgpu: {error}", "pip install wgpu") from None


def _adapters() -> list[Any]:
    """The adapters that run kernels. Raises MissingDriverError if there is none."""
    wgpu = _wgpu()
    found = [a for a in wgpu.gpu.enumerate_adapters_sync() if a.info["backend_type"] in _BACKENDS]
    if not found:
        raise MissingDriverError("expected a device of WebGPU, found none", _REMEDY)
    return found


def _describe(adapter: Any, index: int) -> DeviceDescription:
    info, limits = adapter.info, adapter.limits
    x, y, z = (int(limits[f"max-compute-workgroup-size-{axis}"]) for axis in "xyz")
    blocks = int(limits["max-compute-workgroups-per-dimension"])
    is_processor = info["adapter_type"] == "CPU"
    return DeviceDescription(
        device=Device(DeviceKind.WEBGPU, index),
        name=info["device"],
        driver=f"wgpu {_wgpu().__version__} over {info['backend_type']}, {info['description']}",
        units=1,
        warp=1 if is_processor else _WARP,
        block_threads=int(limits["max-compute-invocations-per-workgroup"]),
        block_axes=(x, y, z),
        grid_axes=(blocks, blocks, blocks),
        shared_bytes=int(limits["max-compute-workgroup-storage-size"]),
        memory_bytes=int(limits["max-buffer-size"]),
        allocation_bytes=int(limits["max-buffer-size"]),
        place_alignment=_WORD,
        shares_memory=is_processor,
        has_float64=False,
        has_float16="shader-f16" in adapter.features,
    )
