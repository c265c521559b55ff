"""The code of a lowered network: a library or a static archive, C text, or kernels of devices."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sateen.graph_ir.compile.device_network import DeviceNetwork
from sateen.graph_ir.compile.lowered_network import LoweredNetwork
from sateen.graph_ir.kernels import GroupCompiler
from sateen.graph_ir.version import __version__
from sateen.runtime import CodegenError, Target
from sateen.runtime.signature import ENTRY, Metadata
from sateen.runtime.static_archive import PARAMETER_DATA
from sateen.tensor_ir.codegen import (
    PARAMETER_SYMBOLS,
    PARAMETERS_TEXT,
    STATIC_PARAMETERS_TEXT,
    c_network,
    companion_codes,
    compile_functions,
    freestanding_text,
    signature_of,
)
from sateen.tensor_ir.host import pool_symbols
from sateen.tensor_ir.link import UndefinedSymbolError, link, link_static, stack_depth
from sateen.tensor_ir.targets import features_of, with_features

PRODUCER = f"sateen-graph-ir {__version__}"
"""What artifacts say about who made them."""

STATIC_EXPORTS = (
    ENTRY,
    "sateen_abi_version",
    "sateen_default_host",
    "sateen_status_message",
    "sateen_metadata",
    "sateen_parameters",
)
EXPORTS = tuple(dict.fromkeys((*STATIC_EXPORTS, *PARAMETER_SYMBOLS)))
LONGEST_SONAME = 128
"""The most characters in the name of a library, without its suffix."""

MOST_OPTIMISED_STEPS = 1000
"""The most steps of an entry that LLVM optimises, which takes it 0.1 ms for each. It gains a nanosecond for each."""


@dataclass(frozen=True, slots=True, eq=False)
class NetworkCode:
    """What an artifact holds of a network's code, and the text of the target that it is for."""

    library: bytes
    target: str
    stack_bytes: int | None = None
    """As in an artifact."""
    device: DeviceNetwork | None = None
    """The parts for devices, of a network that runs there."""


def object_code(
    network: LoweredNetwork, target: Target, kernels: GroupCompiler, name: str, *, static: bool
) -> NetworkCode:
    """A library of this name with the kernels and the entry, or a static archive of them. Raises CodegenError with the
    nodes of a kernel, and LinkError."""
    assert network.entry is not None
    public = [network.entry, *([] if network.packing is None else [network.packing.entry])]
    entry = compile_functions(public, target, optimised=len(network.calls) <= MOST_OPTIMISED_STEPS)
    codes = [*kernels.finish(network.names), entry.code]
    told = str(with_features(target))
    metadata = Metadata(PRODUCER, told, tuple(map(signature_of, public)))
    try:
        if static:
            library, stack_bytes = _archive(codes, metadata, target)
        else:
            library, stack_bytes = _library(codes, metadata, target, name), None
    except UndefinedSymbolError as error:
        refused = CodegenError(str(error))
        if error.number < len(network.names):
            kernels.note(refused, network.names[error.number])
        raise refused from None
    return NetworkCode(library, told, stack_bytes)


def c_text(network: LoweredNetwork, target: Target) -> NetworkCode:
    """C99 text of the kernels and the entry."""
    assert network.entry is not None
    told = str(replace(target, cpu="", features=()))
    return NetworkCode(c_network(network.kernels, network.entry, told, PRODUCER).encode(), told)


def soname(name: str) -> str:
    """The name of the library of a graph, whose own name may have any length and any characters."""
    return f"{re.sub(r'[^A-Za-z0-9._+-]', '_', name)[:LONGEST_SONAME]}.so"


def _library(codes: Sequence[bytes], metadata: Metadata, target: Target, name: str) -> bytes:
    objects = [*codes, *companion_codes(target, metadata, PARAMETERS_TEXT)]
    own = [function.name for function in metadata.functions]
    exports = (*dict.fromkeys((*own, *EXPORTS)), *pool_symbols(target.triple, features_of(target)))
    return link(objects, target.triple, exports, name)


def _archive(codes: Sequence[bytes], metadata: Metadata, target: Target) -> tuple[bytes, int | None]:
    """A static archive, and the depth of its stack where that is known."""
    objects = [*codes, *companion_codes(target, metadata, STATIC_PARAMETERS_TEXT + freestanding_text(target))]
    archive = link_static(objects, target.triple, STATIC_EXPORTS, given=[PARAMETER_DATA])
    return archive, stack_depth(objects, target.triple, ENTRY)
