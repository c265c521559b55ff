"""Runs compiled code: arrays, targets, native modules, sessions and timing. Pure Python on NumPy."""

from sateen.runtime.artifact import ARTIFACT_MAGIC, Artifact, CodeForm
from sateen.runtime.artifact_reader import read_artifact
from sateen.runtime.device import Device, DeviceKind, cpu, cuda, metal, opencl, rocm, vulkan, webgpu
from sateen.runtime.device_functions import DeviceFunctions, DevicePlace, KernelLaunch
from sateen.runtime.devices import DeviceDescription, DeviceMemory, Event, OpenDevice, open_device
from sateen.runtime.dtype import DType, TypeCode
from sateen.runtime.errors import (
    ArgumentError,
    ArtifactError,
    CodegenError,
    DeviceError,
    DeviceLostError,
    ExecutionError,
    ExpressionError,
    FrontendError,
    InferenceError,
    LinkError,
    LoweringError,
    OutOfMemoryError,
    SateenError,
    ScheduleError,
    SessionCrashedError,
    SessionError,
    SessionLostError,
    SessionOutOfMemoryError,
    SessionProtocolError,
    SessionRefusedError,
    SessionTimeoutError,
    SessionVersionError,
    TargetError,
)
from sateen.runtime.host import PROCESS_POOL, Hosting, HostPool
from sateen.runtime.host_function import HostFunction
from sateen.runtime.model import Model, load
from sateen.runtime.module import Argument, CompiledFunction, Module, load_module
from sateen.runtime.ndarray import NDArray, array, empty, from_dlpack
from sateen.runtime.outputs import Outputs
from sateen.runtime.packing import Packing
from sateen.runtime.sessions import (
    ConnectedSession,
    Connection,
    LocalSession,
    Session,
    SessionArray,
    SessionFiles,
    SessionFunction,
    SessionModel,
    SessionModule,
    SessionRun,
    SessionService,
)
from sateen.runtime.signature import Metadata, Parameter, Signature
from sateen.runtime.step_timing import time_networks, time_steps
from sateen.runtime.steps import Step
from sateen.runtime.target import Target
from sateen.runtime.timing import TimeResult, time_evaluator, time_in_turns
from sateen.runtime.verified import VerifiedFiles
from sateen.runtime.version import __version__

__all__ = [
    "ARTIFACT_MAGIC",
    "PROCESS_POOL",
    "Argument",
    "ArgumentError",
    "Artifact",
    "ArtifactError",
    "CodeForm",
    "CodegenError",
    "CompiledFunction",
    "ConnectedSession",
    "Connection",
    "DType",
    "Device",
    "DeviceDescription",
    "DeviceError",
    "DeviceFunctions",
    "DeviceKind",
    "DeviceLostError",
    "DeviceMemory",
    "DevicePlace",
    "Event",
    "ExecutionError",
    "ExpressionError",
    "FrontendError",
    "HostFunction",
    "HostPool",
    "Hosting",
    "InferenceError",
    "KernelLaunch",
    "LinkError",
    "LocalSession",
    "LoweringError",
    "Metadata",
    "Model",
    "Module",
    "NDArray",
    "OpenDevice",
    "OutOfMemoryError",
    "Outputs",
    "Packing",
    "Parameter",
    "SateenError",
    "ScheduleError",
    "Session",
    "SessionArray",
    "SessionCrashedError",
    "SessionError",
    "SessionFiles",
    "SessionFunction",
    "SessionLostError",
    "SessionModel",
    "SessionModule",
    "SessionOutOfMemoryError",
    "SessionProtocolError",
    "SessionRefusedError",
    "SessionRun",
    "SessionService",
    "SessionTimeoutError",
    "SessionVersionError",
    "Signature",
    "Step",
    "Target",
    "TargetError",
    "TimeResult",
    "TypeCode",
    "VerifiedFiles",
    "__version__",
    "array",
    "cpu",
    "cuda",
    "empty",
    "from_dlpack",
    "load",
    "load_module",
    "metal",
    "open_device",
    "opencl",
    "read_artifact",
    "rocm",
    "time_evaluator",
    "time_in_turns",
    "time_networks",
    "time_steps",
    "vulkan",
    "webgpu",
]
