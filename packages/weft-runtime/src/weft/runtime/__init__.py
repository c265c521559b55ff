"""What runs compiled code: arrays, targets, native modules, sessions and timing. Pure Python on NumPy."""

from weft.runtime.artifact import Artifact
from weft.runtime.artifact_reader import read_artifact
from weft.runtime.device import Device, DeviceKind, cpu, cuda, metal, opencl, rocm, vulkan
from weft.runtime.dtype import DType, TypeCode
from weft.runtime.errors import (
    ArgumentError,
    ArtifactError,
    CodegenError,
    ExecutionError,
    ExpressionError,
    FrontendError,
    InferenceError,
    LinkError,
    LoweringError,
    OutOfMemoryError,
    ScheduleError,
    SessionCrashedError,
    SessionError,
    SessionOutOfMemoryError,
    SessionTimeoutError,
    TargetError,
    WeftError,
)
from weft.runtime.host import PROCESS_POOL, HostPool
from weft.runtime.local_session import LocalSession
from weft.runtime.model import Model, load
from weft.runtime.module import Function, Module, load_module
from weft.runtime.ndarray import NDArray, array, empty, from_dlpack
from weft.runtime.session import Session, SessionFunction, SessionModule
from weft.runtime.signature import Metadata, Parameter, Signature
from weft.runtime.step_timing import time_steps
from weft.runtime.steps import Step
from weft.runtime.target import Target
from weft.runtime.timing import TimeResult, time_evaluator
from weft.runtime.verified import VerifiedFiles

__all__ = [
    "PROCESS_POOL",
    "ArgumentError",
    "Artifact",
    "ArtifactError",
    "CodegenError",
    "DType",
    "Device",
    "DeviceKind",
    "ExecutionError",
    "ExpressionError",
    "FrontendError",
    "Function",
    "HostPool",
    "InferenceError",
    "LinkError",
    "LocalSession",
    "LoweringError",
    "Metadata",
    "Model",
    "Module",
    "NDArray",
    "OutOfMemoryError",
    "Parameter",
    "ScheduleError",
    "Session",
    "SessionCrashedError",
    "SessionError",
    "SessionFunction",
    "SessionModule",
    "SessionOutOfMemoryError",
    "SessionTimeoutError",
    "Signature",
    "Step",
    "Target",
    "TargetError",
    "TimeResult",
    "TypeCode",
    "VerifiedFiles",
    "WeftError",
    "array",
    "cpu",
    "cuda",
    "empty",
    "from_dlpack",
    "load",
    "load_module",
    "metal",
    "opencl",
    "read_artifact",
    "rocm",
    "time_evaluator",
    "time_steps",
    "vulkan",
]
