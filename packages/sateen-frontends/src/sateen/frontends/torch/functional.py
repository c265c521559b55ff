"""Replaces writing into tensors by new values.

Where a node writes into a tensor, its result takes the tensor's place from there on. If the tensor is a view of
another, the other becomes a copy with the view's part replaced (`select_scatter` and the like), and other views of it
are taken anew where they are read again. Programs that run_decompositions gave write into nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from sateen.frontends.torch.program import Argument, ProgramGraph, ProgramNode, Reference
from sateen.runtime.errors import FrontendError, printable

MOST_WORK, MOST_VIEWS = 1_000_000, 64
"""The most views to follow for all writing together, and of views within views."""
Arguments = tuple[tuple[str, Argument], ...]


def _shaped_back(node: ProgramNode, before: str, part: str) -> tuple[str, Arguments]:
    del node  # the shape before says all
    return "aten.reshape_as.default", (("self", Reference(part)), ("other", Reference(before)))


def _permuted_back(node: ProgramNode, before: str, part: str) -> tuple[str, Arguments]:
    del before  # which has nothing that the view lacks
    given = dict(node.arguments).get("dims")
    order = [axis for axis in given if isinstance(axis, int)] if isinstance(given, tuple) else []
    normal = [axis % len(order) for axis in order]
    inverse = tuple(normal.index(axis) for axis in range(len(order)))
    return "aten.permute.default", (("self", Reference(part)), ("dims", inverse))


def _repeated(node: ProgramNode, before: str, part: str) -> tuple[str, Arguments]:
    """A view that is its own inverse."""
    del before
    return node.target, (("self", Reference(part)), *node.arguments[1:])


def _scattered(target: str) -> Callable[[ProgramNode, str, str], tuple[str, Arguments]]:
    def put(node: ProgramNode, before: str, part: str) -> tuple[str, Arguments]:
        return target, (("self", Reference(before)), ("src", Reference(part)), *node.arguments[1:])

    return put


_PUT_BACK: dict[str, Callable[[ProgramNode, str, str], tuple[str, Arguments]]] = {
    "alias": _shaped_back,
    "detach": _shaped_back,
    "diagonal": _scattered("aten.diagonal_scatter.default"),
    "permute": _permuted_back,
    "select": _scattered("aten.select_scatter.default"),
    "slice": _scattered("aten.slice_scatter.default"),
    "squeeze": _shaped_back,
    "swapaxes": _repeated,
    "swapdims": _repeated,
    "t": _repeated,
    "transpose": _repeated,
    "unflatten": _shaped_back,
    "unsqueeze": _shaped_back,
    "view": _shaped_back,
    "view_as": _shaped_back,
}
"""What puts a view's new content into the tensor that it is a view of: an operator of its previous value and of the
content."""
_MAY_BE_VIEWS = frozenset({
    "alpha_dropout", "as_strided", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_tensors", "broadcast_to",
    "chunk", "contiguous", "dropout", "expand", "expand_as", "feature_dropout", "flatten", "lift_fresh", "mT",
    "matrix_H", "meshgrid", "moveaxis", "movedim", "narrow", "numpy_T", "positive", "ravel", "real", "reshape",
    "reshape_as", "split_with_sizes", "tensor_split", "to", "type_as", "unbind", "unfold", "split",
})  # fmt: skip
"""Operators whose results may share memory with their first argument, depending on types, strides or settings."""


_UPDATES = ("running_mean", "running_var")
_UPDATING = {
    "_native_batch_norm_legit": "training",
    "batch_norm": "training",
    "instance_norm": "use_input_stats",
    "native_batch_norm": "training",
}
"""Operators that write into their running statistics if a flag is set. Their new values become further results."""


def functional(graph: ProgramGraph) -> tuple[ProgramGraph, dict[str, str]]:
    """The graph without writing into tensors, in graphs within its nodes, too; and the last values of its inputs that
    are written into.

    Raises FrontendError if a tensor is read of which it is not clear whether it was written into.
    """
    rewriter = _Rewriter(graph)
    result = rewriter.run()
    written = [name for name in graph.inputs if name in rewriter.current or name in rewriter.stale]
    values = {name: rewriter.value(name) for name in written}
    return replace(result, nodes=rewriter.nodes), values


def operator_of(target: str) -> str:
    """The name of an operator of ATen, without its overload; '' for others."""
    return target.split(".")[1] if target.startswith("aten.") else ""


def _writes(node: ProgramNode) -> bool:
    operator = operator_of(node.target)
    return operator.endswith("_") and not operator.startswith("__")


def _updated(node: ProgramNode) -> dict[str, str]:
    """The running statistics that a node writes into, by the names of its arguments."""
    flag = _UPDATING.get(operator_of(node.target), "")
    given = dict(node.arguments)
    if given.get(flag) is not True:
        return {}
    return {name: found.name for name in _UPDATES if isinstance(found := given.get(name), Reference)}


@dataclass(slots=True)
class _Rewriter:
    """One pass over the nodes of a graph.

    `current` has the values of tensors that were written into, by their first names, of which `first` knows those of
    results of writing. `views` are the nodes that made views, `family` lists all names that may share memory, `stale`
    those that were written into by another name.
    """

    graph: ProgramGraph
    nodes: list[ProgramNode] = field(default_factory=list)
    current: dict[str, str] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)
    views: dict[str, tuple[str, ProgramNode]] = field(default_factory=dict)
    family: dict[str, set[str]] = field(default_factory=dict)
    stale: dict[str, str] = field(default_factory=dict)
    work: int = 0

    def run(self) -> ProgramGraph:
        for node in self.graph.nodes:
            self.add(node)
        outputs = tuple(None if name is None else self.value(name) for name in self.graph.outputs)
        return replace(self.graph, nodes=self.nodes, outputs=outputs)

    def add(self, node: ProgramNode) -> None:
        operator, arguments = operator_of(node.target), node.arguments
        source = arguments[0][1] if arguments else None
        updated = _updated(node)
        results = tuple(f"{node.name}.{name}" for name in updated)
        given = tuple((name, self.argument(argument)) for name, argument in arguments)
        self.nodes.append(replace(node, arguments=given, outputs=(*node.outputs, *results)))
        for name, result in zip(updated.values(), results, strict=True):
            self.write(node, self.first.get(name, name), result)
        if not isinstance(source, Reference):
            return
        if _writes(node):
            if not node.outputs or not node.outputs[0]:
                raise FrontendError(f"node {printable(node.name)!r} writes into a tensor, but gives no result")
            self.write(node, self.first.get(source.name, source.name), node.outputs[0])
        elif operator in _PUT_BACK or operator in _MAY_BE_VIEWS:
            name = self.first.get(source.name, source.name)
            members = self.family.setdefault(name, {name})
            members.update(filter(None, node.outputs))
            self.family.update(dict.fromkeys(filter(None, node.outputs), members))
            if operator in _PUT_BACK and node.outputs:
                self.views[node.outputs[0]] = (name, node)

    def argument(self, given: Argument) -> Argument:
        match given:
            case Reference():
                return replace(given, name=self.value(given.name))
            case tuple():
                return tuple(map(self.argument, given))
            case ProgramGraph():
                return functional(given)[0]
        return given

    def value(self, given: str) -> str:
        """The value that a name stands for now."""
        name = self.first.get(given, given)
        if name in self.stale:
            writer = self.stale[name]
            if name not in self.views:
                raise FrontendError(
                    f"{printable(name)!r} may share memory with a tensor into which node {printable(writer)!r} writes; "
                    "save what program.run_decompositions() gives"
                )
            del self.stale[name]
            parent, view = self.views[name]
            arguments = (
                ("self", Reference(self.value(parent))),
                *((n, self.argument(a)) for n, a in view.arguments[1:]),
            )
            self.current[name] = self.emit(view, view.target, arguments)
        return self.current.get(name, name)

    def write(self, node: ProgramNode, name: str, result: str) -> None:
        """Let a result of a node be the value of a tensor that it writes into, and of those it is a view of."""
        before = {}
        holder = name
        while holder in self.views:
            holder = self.views[holder][0]
            before[holder] = self.value(holder)
            if len(before) > MOST_VIEWS:
                raise FrontendError(f"expected at most {MOST_VIEWS} views within views, found more")
        members = self.family.get(name, ())
        self.work += len(members) + len(before)
        if self.work > MOST_WORK:
            raise FrontendError(f"expected at most {MOST_WORK} views of tensors that are written into, found more")
        for member in members:
            self.stale[member] = node.name
        self.stale.pop(name, None)
        self.first[result] = name
        self.current[name] = part = result
        while name in self.views:
            name, view = self.views[name]
            part = self.emit(node, *_PUT_BACK[operator_of(view.target)](view, before[name], part))
            self.current[name] = part
            self.stale.pop(name, None)

    def emit(self, node: ProgramNode, target: str, arguments: Sequence[tuple[str, Argument]]) -> str:
        """Add a node under the name of one of the program's; the name of its result."""
        result = f"{node.name}.{len(self.nodes)}"
        self.nodes.append(ProgramNode(target, node.name, tuple(arguments), (result,)))
        return result
