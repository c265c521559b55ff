"""The targets of code: architectures, their processors, and the machine for schedules."""

from sateen.tensor_ir.targets.abi_layout import AbiLayout
from sateen.tensor_ir.targets.architecture import CPU, Architecture, HostServices, Vectors
from sateen.tensor_ir.targets.float_mode import FloatMode
from sateen.tensor_ir.targets.gpu import Gpu
from sateen.tensor_ir.targets.gpu_architectures import AMDGPU, NVPTX
from sateen.tensor_ir.targets.machine import Machine
from sateen.tensor_ir.targets.machine_file import machine_digest, machine_json, parse_machine, read_machine
from sateen.tensor_ir.targets.rates import LINE_BYTES, Rates
from sateen.tensor_ir.targets.relocation import Linking
from sateen.tensor_ir.targets.system import System
from sateen.tensor_ir.targets.table import (
    ARCHITECTURES,
    SERIAL_ELEMENTS,
    WIDEST_VECTOR,
    architecture_named,
    architecture_of,
    assumed_features,
    cpu_of,
    features_of,
    least_registers,
    with_features,
)

__all__ = [
    "AMDGPU",
    "ARCHITECTURES",
    "CPU",
    "LINE_BYTES",
    "NVPTX",
    "SERIAL_ELEMENTS",
    "WIDEST_VECTOR",
    "AbiLayout",
    "Architecture",
    "FloatMode",
    "Gpu",
    "HostServices",
    "Linking",
    "Machine",
    "Rates",
    "System",
    "Vectors",
    "architecture_named",
    "architecture_of",
    "assumed_features",
    "cpu_of",
    "features_of",
    "least_registers",
    "machine_digest",
    "machine_json",
    "parse_machine",
    "read_machine",
    "with_features",
]
