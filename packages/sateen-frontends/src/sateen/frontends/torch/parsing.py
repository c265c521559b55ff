"""Makes a Program of its JSON, checking each part.

Source: torch/_export/serde/schema.py. Objects that stand for one of several kinds have a single key, which names it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf
from typing import Any

from sateen.frontends.core.source import Limits
from sateen.frontends.torch.arguments import ARGUMENTS, alternative, field, kind_of
from sateen.frontends.torch.expressions import dimension_of
from sateen.frontends.torch.functional import functional
from sateen.frontends.torch.program import (
    Argument,
    Foreign,
    Program,
    ProgramGraph,
    ProgramNode,
    Reference,
    ValueType,
    references_of,
)
from sateen.graph_ir.ir import Dim
from sateen.runtime.errors import FrontendError, printable
from sateen.topi.types import MOST_DIMENSIONS

SCHEMA = 8
"""The version of the schema that is read; versions with other second numbers are compatible."""
_NUMBER_TYPES = {"sym_int_values": 5, "sym_float_values": 8, "sym_bool_values": 12}
"""Where a graph lists the numbers that it computes, and their element types: int64, float64, bool."""


def parse_program(root: Any, place: str, limits: Limits) -> Program:
    """The program, without its data. Raises FrontendError if the JSON is not one of a program."""
    try:
        return _Parser(limits).program(root, place)
    except FrontendError as error:
        error.add_note(f"in program {place!r}")
        raise
    except RecursionError:
        raise FrontendError(
            f"{place}: expected graphs nested at most {limits.nesting} deep, found deeper ones"
        ) from None


class _Parser:
    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.nodes = 0
        self.depth = 0

    def program(self, root: Any, place: str) -> Program:
        version = root.get("schema_version") if isinstance(root, dict) else None
        if isinstance(version, int):  # as torch 2.1 writes it
            version = {"major": version, "minor": 0}
        major, minor = (field(version, key, int, "schema_version") for key in ("major", "minor"))
        if major != SCHEMA:
            raise FrontendError(
                f"expected a program of schema {SCHEMA}, found {major}.{minor}; export and save it with torch 2.9 or "
                "later, or 2.6 with its tensors as safetensors"
            )
        module = field(root, "graph_module", dict, "the program")
        graph = self.graph(field(module, "graph", dict, "the program"), "main")
        signature = field(module, "signature", dict, "the program")
        inputs: list[str] = []
        parameters: dict[str, str] = {}
        tokens: list[str] = []
        for spec in field(signature, "input_specs", list, "the signature"):
            self.input(spec, inputs, parameters, tokens)
        outputs: dict[str, None] = {}
        mutated: dict[str, str] = {}
        for spec in field(signature, "output_specs", list, "the signature"):
            self.output(spec, outputs, mutated)
        values, written = functional(graph)
        now = dict(zip(graph.outputs, values.outputs, strict=True))
        for name in mutated.keys() - parameters.values():
            raise FrontendError(f"each run changes {printable(name)!r}, which is no buffer of the program")
        state = {
            given: now.get(mutated[name]) or mutated[name] for given, name in parameters.items() if name in mutated
        }
        state |= {name: value for name, value in written.items() if name in parameters}
        for name in state:
            del parameters[name]
        inputs += state
        given = dict.fromkeys([*(now.get(name) or name for name in outputs), *state.values()])
        ranges = dict(_ranges(root.get("range_constraints", {})))
        return Program(place, values, tuple(inputs), tuple(given), parameters, state, tuple(tokens), ranges)

    def input(self, spec: Any, inputs: list[str], parameters: dict[str, str], tokens: list[str]) -> None:
        kind, given = alternative(spec, "an input of the signature")
        names = {
            "parameter": "parameter_name", "buffer": "buffer_name", "tensor_constant": "tensor_constant_name",
        }  # fmt: skip
        if kind == "user_input":
            inputs.extend(references_of(self.argument(field(given, "arg", dict, kind))))
        elif kind in names:
            argument = field(field(given, "arg", dict, kind), "name", str, kind)
            parameters[argument] = field(given, names[kind], str, kind)
        elif kind == "token":
            tokens.append(field(field(given, "arg", dict, kind), "name", str, kind))
        elif kind != "constant_input":
            raise FrontendError(f"expected inputs that are tensors and numbers, found a {kind}")

    def output(self, spec: Any, outputs: dict[str, None], mutated: dict[str, str]) -> None:
        """None and numbers that the program gives are left out; of a value that it gives twice there is one."""
        kind, given = alternative(spec, "an output of the signature")
        if kind == "user_output":
            outputs.update(dict.fromkeys(references_of(self.argument(field(given, "arg", dict, kind)))))
        elif kind in {"buffer_mutation", "parameter_mutation"}:
            name = field(given, "buffer_name" if kind == "buffer_mutation" else "parameter_name", str, kind)
            mutated[name] = field(field(given, "arg", dict, kind), "name", str, kind)
        elif kind not in {"user_input_mutation", "token"}:  # values that the caller gave are not changed
            raise FrontendError(f"expected outputs of inference, found a {kind}; export the network without its loss")

    def graph(self, graph: Any, name: str) -> ProgramGraph:
        self.depth += 1
        if self.depth > self.limits.nesting:
            raise FrontendError(f"expected graphs nested at most {self.limits.nesting} deep, found deeper ones")
        nodes = field(graph, "nodes", list, f"graph {name!r}")
        self.nodes += len(nodes)
        if self.nodes > self.limits.nodes:
            raise FrontendError(f"expected at most {self.limits.nodes} nodes, found more")
        inputs = [self.argument(given) for given in field(graph, "inputs", list, f"graph {name!r}")]
        outputs = [self.argument(given) for given in field(graph, "outputs", list, f"graph {name!r}")]
        declared = dict(self.declared(graph))
        found = ProgramGraph(
            name,
            tuple(reference for given in inputs for reference in references_of(given)),
            tuple(given.name if isinstance(given, Reference) else None for given in outputs),
            [self.node(node, index, declared) for index, node in enumerate(nodes)],
            declared,
        )
        self.depth -= 1
        return found

    def declared(self, graph: dict[str, Any]) -> list[tuple[str, ValueType]]:
        """The types of all tensors, and of the numbers that the program computes."""
        tensors = field(graph, "tensor_values", dict, "a graph")
        found = [(name, value_type(meta, f"tensor {name!r}")) for name, meta in tensors.items()]
        for key, number in _NUMBER_TYPES.items():
            values = graph.get(key, {})
            if not isinstance(values, dict):
                raise FrontendError(f"expected an object as {key}, found {kind_of(values)}")
            found += [(name, ValueType(number, ())) for name in values]
        return found

    def node(self, node: Any, index: int, declared: Mapping[str, ValueType]) -> ProgramNode:
        what = f"node {index}"
        target = field(node, "target", str, what)
        outputs = [self.argument(given) for given in field(node, "outputs", list, what)]
        given = field(node, "inputs", list, what)
        arguments = [(field(item, "name", str, what), self.argument(field(item, "arg", dict, what))) for item in given]
        names = [name for name, _ in arguments if name]
        if len(set(names)) < len(names):
            raise FrontendError(f"{what}: expected each argument of {printable(target)} once, found {names}")
        results: list[str] = []
        for output in outputs:
            if isinstance(output, tuple):
                results.extend(item.name if isinstance(item, Reference) else "" for item in output)
            else:
                results.append(output.name if isinstance(output, Reference) else "")
        name = node.get("name") or next(filter(None, results), what)
        if not isinstance(name, str):
            raise FrontendError(f"{what}: expected a name, found {kind_of(name)}")
        types = tuple(map(declared.get, results))
        return ProgramNode(target.removeprefix("torch.ops."), name, tuple(arguments), tuple(results), types)

    def argument(self, given: Any) -> Argument:
        kind, value = alternative(given, "an argument")
        read = ARGUMENTS.get(kind)
        if read is not None:
            return read(value)
        if kind == "as_graph":
            name = field(value, "name", str, "a graph")
            return self.graph(field(value, "graph", dict, f"graph {name!r}"), name)
        return Foreign(kind.removeprefix("as_").replace("_", " "))


def _ranges(constraints: Any) -> Iterator[tuple[str, tuple[int, float]]]:
    """The least and the largest number that each symbol stands for. A program that assumes 2 or more also runs with
    fewer (_check_input_constraints_for_graph in torch/_export/utils.py)."""
    if not isinstance(constraints, dict):
        raise FrontendError(f"expected an object as range_constraints, found {kind_of(constraints)}")
    for symbol, limits in constraints.items():
        least, most = (limits.get(key) if isinstance(limits, dict) else None for key in ("min_val", "max_val"))
        yield symbol, (least if type(least) is int and least > 2 else 0, most if type(most) is int else inf)


def value_type(meta: Any, what: str) -> ValueType:
    """The type in the description of a tensor."""
    sizes = field(meta, "sizes", list, what)
    if len(sizes) > MOST_DIMENSIONS:
        raise FrontendError(f"{what}: expected at most {MOST_DIMENSIONS} dimensions, found {len(sizes)}")
    layout = field(meta, "layout", int, what)
    return ValueType(field(meta, "dtype", int, what), tuple(dimension(size, what) for size in sizes), layout)


def dimension(given: Any, what: str) -> Dim | None:
    """An extent: a number, or an expression, which may have no meaning here."""
    kind, value = alternative(given, what)
    if kind == "as_int":
        if not isinstance(value, int) or not 0 <= value < 1 << 48:
            raise FrontendError(f"{what}: expected extents of zero or more, found {value!r}")
        return value
    text = field(value, "expr_str", str, what)
    found = dimension_of(text)
    return found if found is None or not isinstance(found, int) or 0 <= found < 1 << 48 else None
