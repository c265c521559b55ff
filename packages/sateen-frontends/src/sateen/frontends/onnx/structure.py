"""Checks that a model's graphs are well formed before they are used.

Every name is defined once, no node depends on itself, graphs within nodes see the names around them, and each operator
set that the model imports is one that the installed onnx package describes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import onnx
from onnx.defs import onnx_opset_version

from sateen.frontends.core.inputs import require_few_arguments
from sateen.frontends.core.order import in_order
from sateen.frontends.onnx.loading import OnnxFile, subgraphs, text
from sateen.runtime.errors import FrontendError, printable
from sateen.runtime.signature import LONGEST_NAME


def opsets_of(imports: Iterable[onnx.OperatorSetIdProto], what: str) -> dict[str, int]:
    """The version of each domain; the default domain is ''. Raises FrontendError for an unknown newer one."""
    result: dict[str, int] = {}
    for entry in imports:
        domain = plain_domain(text(entry.domain, "an operator set"))
        if result.setdefault(domain, entry.version) != entry.version:
            versions = f"{result[domain]} and {entry.version}"
            raise FrontendError(f"{what}: imports versions {versions} of one operator set {domain!r}")
        if not 1 <= entry.version < 1 << 31:
            raise FrontendError(f"{what}: expected a version of operator set {domain!r}, found {entry.version}")
    newest = onnx_opset_version()
    if not 1 <= result.get("", 1) <= newest:
        raise FrontendError(
            f"{what}: expected an operator set of version 1 to {newest}, which onnx {onnx.__version__} knows, found "
            f"{result['']}; a newer onnx package may know it"
        )
    return result


def plain_domain(domain: str) -> str:
    """'' for both ways of writing the default domain."""
    return "" if domain == "ai.onnx" else domain


def check_structure(model: OnnxFile) -> dict[str, int]:
    """The operator sets of a well-formed model. Raises FrontendError otherwise."""
    proto = model.proto
    if proto.ir_version > onnx.IR_VERSION:
        raise FrontendError(
            f"expected a model of IR version up to {onnx.IR_VERSION}, which onnx {onnx.__version__} knows, found "
            f"{proto.ir_version}"
        )
    opsets = opsets_of(proto.opset_import, "the model")
    if not opsets and proto.ir_version >= 3:
        raise FrontendError("expected the operator sets that the model imports, found none")
    _check_graph(proto.graph, (), model.name)
    constant = {tensor.name for tensor in proto.graph.initializer}
    inputs = {value.name for value in proto.graph.input if value.name not in constant}
    if not proto.graph.output:
        raise FrontendError("expected a model with outputs, found none: it has nothing to compute")
    require_few_arguments(len(inputs), len(proto.graph.output))
    for name in (*inputs, *(value.name for value in proto.graph.output)):
        if not (name.isprintable() and len(name) <= LONGEST_NAME):
            raise FrontendError(
                f"{model.name}: expected names of inputs and outputs as printable text of 1 to {LONGEST_NAME} "
                f"characters, found {name[:LONGEST_NAME]!r}"
            )
    for function in proto.functions:
        name = text(function.name, "a function")
        _check_nodes(function.node, list(function.input), list(function.output), (), f"function {name!r}")
    keys = [(function.domain, function.name, function.overload) for function in proto.functions]
    if len(set(keys)) < len(keys):
        raise FrontendError("expected functions of different names, found one twice")
    return opsets or {"": 1}


def _check_graph(graph: onnx.GraphProto, outer: tuple[set[str], ...], where: str) -> None:
    if graph.sparse_initializer:
        raise FrontendError(f"{where}: sparse initialisers are not supported")
    initializers = [tensor.name for tensor in graph.initializer]
    inputs = [value.name for value in graph.input]
    for names, what in ((initializers, "initialiser"), (inputs, "input")):
        _check_names(names, what, where)
    defined = [*inputs, *(set(initializers) - set(inputs))]
    _check_nodes(graph.node, defined, [value.name for value in graph.output], outer, where)


def _check_names(names: Sequence[str], what: str, where: str) -> None:
    seen = set()
    for name in names:
        if not text(name, f"an {what}"):
            raise FrontendError(f"{where}: an {what} has no name")
        if name in seen:
            raise FrontendError(f"{where}: the name {name!r} belongs to two {what}s")
        seen.add(name)


def _check_nodes(
    nodes: Sequence[onnx.NodeProto],
    given: Sequence[str],
    outputs: Sequence[str],
    outer: tuple[set[str], ...],
    where: str,
) -> None:
    """Every name is read after it was defined; the scope holds `given` and, around it, `outer`."""
    makers = dict.fromkeys(given, "as an input or initialiser")
    for index, node in enumerate(nodes):
        text(node.domain, "a domain")
        what = _described(node, index)
        for name in node.output:
            if text(name, "an output") in makers:
                raise FrontendError(f"{where}: {what} defines {name!r}, which is defined already, {makers[name]}")
            if name:
                makers[name] = f"by {what}"
    defined = set(given)
    scopes = (*outer, defined)
    for index, node in enumerate(nodes_in_order(nodes, where)):
        what = f"{where}: {_described(node, index)}"
        for name in node.input:
            _require_defined(text(name, "an input"), scopes, what)
        for graph in subgraphs(node):
            _check_graph(graph, scopes, what)
        defined.update(name for name in node.output if name)
    _check_names(list(outputs), "output", where)
    for name in outputs:
        _require_defined(name, scopes, f"{where}: the output")


def _described(node: onnx.NodeProto, index: int) -> str:
    return f"node {text(node.name, 'a node') or index!r} ({printable(text(node.op_type, 'an operator'))})"


def nodes_in_order(nodes: Sequence[onnx.NodeProto], where: str) -> Sequence[onnx.NodeProto]:
    """The nodes such that each comes after those whose results it reads. Raises FrontendError for a cycle."""
    return in_order(
        nodes, reads, lambda node: node.output, lambda node: f"{where}: node {node.name!r} ({printable(node.op_type)})"
    )


def inputs_of(graph: onnx.GraphProto) -> list[onnx.ValueInfoProto]:
    """The inputs of a graph that are not constants."""
    constant = {tensor.name for tensor in graph.initializer}
    return [value for value in graph.input if value.name not in constant]


def reads(node: onnx.NodeProto) -> Iterator[str]:
    """The names that a node and the graphs within it read, without those that these graphs define themselves."""
    pending: list[tuple[onnx.NodeProto, frozenset[str]]] = [(node, frozenset())]
    while pending:
        current, own = pending.pop()
        yield from (name for name in current.input if name not in own)
        for graph in subgraphs(current):
            inner = own | _defined(graph)
            yield from (output.name for output in graph.output if output.name not in inner)
            pending.extend((within, inner) for within in graph.node)


def _defined(graph: onnx.GraphProto) -> set[str]:
    return {value.name for value in (*graph.input, *graph.initializer)} | {o for n in graph.node for o in n.output}


def _require_defined(name: str, scopes: tuple[set[str], ...], what: str) -> None:
    if name and not any(name in scope for scope in scopes):
        raise FrontendError(f"{what} reads {name!r}, which nothing defines")


def check_function_calls(functions: Mapping[tuple[str, str, str], onnx.FunctionProto]) -> None:
    """Functions must not call themselves, directly or through others."""
    state: dict[tuple[str, str, str], bool] = {}  # False: being visited, True: done
    for start in functions:
        stack = [(start, iter(()) if start in state else _calls(functions, start))]
        state.setdefault(start, False)
        while stack:
            key, calls = stack[-1]
            callee = next(calls, None)
            if callee is None:
                state[key] = True
                stack.pop()
            elif state.get(callee) is False:
                raise FrontendError(f"function {callee[1]!r} calls itself")
            elif callee not in state:
                state[callee] = False
                stack.append((callee, _calls(functions, callee)))


def _calls(
    functions: Mapping[tuple[str, str, str], onnx.FunctionProto], key: tuple[str, str, str]
) -> Iterator[tuple[str, str, str]]:
    pending = list(functions[key].node)
    while pending:
        node = pending.pop()
        pending.extend(inner for graph in subgraphs(node) for inner in graph.node)
        called = (node.domain, node.op_type, node.overload)
        if called in functions:
            yield called
