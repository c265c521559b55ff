"""Networks for machines without threads: no loop is parallel, and the caller gives all memory."""

import pytest

from sateen.graph_ir import build, workloads
from sateen.graph_ir.compile import lowered, network_target
from sateen.tensor_ir.ir import Allocate, For, LoopKind, walk
from sateen.tensor_ir.lowering import is_on_stack

WASM = "wasm32"


@pytest.mark.parametrize("name", ["resnet", "lstm"])
def test_loops_are_serial_and_storage_is_in_the_workspace(name: str) -> None:
    graph = {"resnet": lambda: workloads.resnet(image=64), "lstm": workloads.lstm}[name]()
    here, there = (lowered(graph, network_target(target)) for target in ("llvm", WASM))
    nodes = [node for kernel in there.kernels for node in walk(kernel.body)]
    assert not [node for node in nodes if isinstance(node, For) and node.kind is LoopKind.PARALLEL]
    assert all(is_on_stack(node.buffer) for node in nodes if isinstance(node, Allocate))
    for network in (here, lowered(graph, network_target("wasm32-threads"))):
        with_threads = [node for kernel in network.kernels for node in walk(kernel.body)]
        assert [node for node in with_threads if isinstance(node, For) and node.kind is LoopKind.PARALLEL]


def test_the_library_of_an_artifact_is_a_module_with_a_serial_host() -> None:
    artifact = build(workloads.lstm(), WASM)
    assert artifact.library.startswith(b"\0asm\1\0\0\0")
    assert artifact.target == "llvm -mtriple=wasm32-unknown-unknown -mattr=+simd128"
    exported = (("run", 0), ("sateen_abi_version", 0), ("sateen_default_host", 0), ("__heap_base", 3))
    for name, kind in exported:
        assert bytes([len(name), *name.encode(), kind]) in artifact.library
