"""From the bytes of a TensorFlow Lite file to networks whose tensors, operators and names are checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from sateen.frontends.core.inputs import require_few_arguments
from sateen.frontends.core.order import in_order
from sateen.frontends.core.source import Limits, Source
from sateen.frontends.tflite.flatbuffer import Reader, Table, defaults_of
from sateen.frontends.tflite.list_writes import with_list_writes
from sateen.frontends.tflite.model import DTYPES, Network, Operation, Tensor, data_of
from sateen.frontends.tflite.operators import BUILTINS, CUSTOM, OPTIONS_OF, PLACEHOLDER
from sateen.frontends.tflite.schema import MODEL
from sateen.frontends.tflite.tensors import read_tensor
from sateen.frontends.tflite.variables import with_first_values
from sateen.runtime.errors import FrontendError, printable
from sateen.runtime.signature import LONGEST_NAME

MADE_BYTES = 1 << 29
"""The most bytes of variables and of constants that the file holds in another form."""
VERSION = 3
"""The version of the format."""


@dataclass(frozen=True, slots=True, eq=False)
class TfliteFile:
    """A file that is checked: the first of its networks is the model, the others are bodies of its operators."""

    name: str
    networks: Sequence[Network]
    limits: Limits

    @property
    def main(self) -> Network:
        return self.networks[0]


def load_tflite(source: Source, limits: Limits) -> TfliteFile:
    """The model in a file. Raises FrontendError if it is damaged, or exceeds the limits."""
    try:
        return TfliteFile(_name(source), _Loading(source.data, limits).networks(), limits)
    except FrontendError as error:
        error.args = (f"{source.place}: {error}",)  # the notes stay
        raise


def _name(source: Source) -> str:
    return "model.tflite" if source.path is None else printable(source.path.name)


class _Loading:
    def __init__(self, data: bytes, limits: Limits) -> None:
        self.reader = Reader(data)
        self.limits = limits
        self.remaining = limits.tensor_bytes
        self.made = MADE_BYTES
        self.whole = np.frombuffer(data, np.uint8)
        self.model = self.reader.root(MODEL)
        if self.model["version"] != VERSION:
            raise FrontendError(f"expected version {VERSION} of the format, found {self.model['version']}")
        self.buffers = [self._buffer(buffer, index) for index, buffer in enumerate(self.model["buffers"])]
        self.codes = [_operator_of(code) for code in self.model["operator_codes"]]

    def networks(self) -> list[Network]:
        tables = self.model["subgraphs"]
        if not tables:
            raise FrontendError("expected a model with a graph, found none")
        if sum(len(table["operators"]) for table in tables) > self.limits.nodes:
            raise FrontendError(f"expected at most {self.limits.nodes} nodes, found more")
        networks = [self._network(table, index) for index, table in enumerate(tables)]
        _check_arguments(networks[0])
        _check_bodies(networks, self.limits)
        return [with_first_values(networks[0], networks), *networks[1:]]

    def _buffer(self, table: Table, index: int) -> memoryview | None:
        """The data of a buffer, within the tables or behind them; None if it has none."""
        if table["data"] is not None and len(table["data"]):
            data: memoryview = table["data"]
            return data
        return self._behind(table["offset"], table["size"], f"buffer {index}")

    def _behind(self, offset: int, size: int, what: str) -> memoryview | None:
        """Data behind the tables, where files of more than 2 GB have it; an offset of 0 or 1 stands for none."""
        if offset <= 1:
            return None
        if offset + size > len(self.reader.data):
            raise FrontendError(
                f"{what} takes {size} bytes at byte {offset}, but the file has {len(self.reader.data)}; copy it again"
            )
        return self.reader.view[offset : offset + size]

    def _network(self, table: Table, index: int) -> Network:
        where = f"graph {printable(table['name']) or index}"
        names = _names(table)
        tensors = [self._tensor(tensor, name, where) for tensor, name in zip(table["tensors"], names, strict=True)]
        inputs = _chosen(tensors, table["inputs"] or (), f"{where}: the inputs")
        outputs = _chosen(tensors, table["outputs"] or (), f"{where}: the outputs")
        operations = [self._operation(o, tensors, f"{where}, node {i}") for i, o in enumerate(table["operators"])]
        _check_values(inputs, outputs, operations, where)
        ordered = in_order(
            operations, Operation.reads, Operation.gives, lambda o: f"{where}: node {next(iter(o.gives()), '')!r}"
        )
        written = with_list_writes(ordered, outputs)
        return Network(table["name"], tensors, inputs, outputs, written, data_of(tensors, inputs, written))

    def _tensor(self, table: Table, name: str, where: str) -> Tensor:
        try:
            if not 0 <= table["buffer"] < max(len(self.buffers), 1):
                raise FrontendError(f"expected one of {len(self.buffers)} buffers, found {table['buffer']}")
            data = self.buffers[table["buffer"]] if table["buffer"] else None
            tensor = read_tensor(table, name, data, self.remaining)
            self._count(tensor)
        except FrontendError as error:
            error.add_note(f"in tensor {name!r} of {where}")
            raise
        return tensor

    def _count(self, tensor: Tensor) -> None:
        """Raises FrontendError if constants are too large in all, or those that are no part of the file: unpacked ones,
        and variables."""
        size = 0
        if tensor.data is not None:
            size = tensor.data.nbytes
            self.remaining -= size
            size *= not np.may_share_memory(tensor.data, self.whole)
        elif tensor.is_variable and not tensor.gap and tensor.shape is not None:
            size = prod(tensor.shape) * DTYPES[tensor.type].numpy.itemsize
        self.made -= max(size, 0)
        if self.made < 0:
            raise FrontendError(f"expected at most {MADE_BYTES} bytes of variables and unpacked constants, found more")

    def _operation(self, table: Table, tensors: Sequence[Tensor], where: str) -> Operation:
        if not 0 <= table["opcode_index"] < len(self.codes):
            raise FrontendError(f"{where}: expected one of {len(self.codes)} operators, found {table['opcode_index']}")
        operator, is_custom = self.codes[table["opcode_index"]]
        inputs = _chosen(tensors, table["inputs"] or (), f"{where}, inputs of {operator}", optional=True)
        outputs = _chosen(tensors, table["outputs"] or (), f"{where}, outputs of {operator}")
        if is_custom:
            return Operation(operator, inputs, outputs, {}, self._custom(table, where))
        return Operation(operator, inputs, outputs, _options(table, operator, where))

    def _custom(self, table: Table, where: str) -> memoryview:
        data = table["custom_options"]
        if data is None:
            large = table["large_custom_options_offset"], table["large_custom_options_size"]
            data = self._behind(*large, f"{where}: the data of the custom operator")
        return self.reader.view[:0] if data is None else data


def _operator_of(table: Table) -> tuple[str, bool]:
    """The operator of a code, and whether it is a custom one.

    Codes above 127 came later: they are in a field of their own, which older files lack (schema.fbs, OperatorCode).
    """
    code = max(table["builtin_code"], table["deprecated_builtin_code"])
    if code == CUSTOM:
        return table["custom_code"], True
    if not 0 <= code < len(BUILTINS) or code == PLACEHOLDER:
        return f"operator {code}", False
    return BUILTINS[code], False


def _options(table: Table, operator: str, where: str) -> Mapping[str, Any]:
    """The options of an operator; defaults where the file has none."""
    kind = OPTIONS_OF.get(operator)
    found = table["builtin_options"] or table["builtin_options_2"]
    if kind is None:
        return {}
    if found is None:
        return defaults_of(kind)
    if found[0] is not kind:
        raise FrontendError(f"{where}: expected {kind.name} of {operator}, found {found[0].name}")
    options: Mapping[str, Any] = found[1]
    return options


def _names(table: Table) -> list[str]:
    """A name for each tensor of a graph, its own if possible: where several have one name, the first of inputs and
    outputs keeps it, then the first of all, and others get their number behind it."""
    tensors = table["tensors"]
    own = [printable(tensor["name"]) for tensor in tensors]
    arguments = [index for index in (*(table["inputs"] or ()), *(table["outputs"] or ())) if 0 <= index < len(tensors)]
    names: dict[str, int] = {}
    for index in (*arguments, *range(len(tensors))):
        if own[index]:
            names.setdefault(own[index], index)
    result = []
    for index, name in enumerate(own):
        numbered = name
        while names.setdefault(numbered, index) != index or not numbered:
            numbered = f"{numbered or 'tensor'}.{index}"
        result.append(numbered)
    return result


def _chosen(tensors: Sequence[Tensor], indices: Sequence[int], what: str, *, optional: bool = False) -> tuple[Any, ...]:
    """The tensors at indices; -1 is an absent one, if there may be one."""
    least = -1 if optional else 0
    if any(not least <= index < len(tensors) for index in indices):
        raise FrontendError(f"{what} name tensors of {least} to {len(tensors) - 1}, found {list(indices)[:8]}")
    return tuple(None if index < 0 else tensors[index] for index in indices)


def _check_values(
    inputs: Sequence[Tensor], outputs: Sequence[Tensor], operations: Sequence[Operation], where: str
) -> None:
    """Raises FrontendError unless each value is defined once, and each that is read is defined."""
    defined: set[Tensor] = set()
    for tensor in (*dict.fromkeys(inputs), *(tensor for operation in operations for tensor in operation.outputs)):
        if tensor in defined or tensor.data is not None:
            raise FrontendError(f"{where}: expected one definition of tensor {tensor.name!r}, found several")
        defined.add(tensor)
    read = (tensor for operation in operations for tensor in operation.inputs if tensor is not None)
    for tensor in (*read, *outputs):
        known = tensor in defined or tensor.data is not None or tensor.is_variable or tensor.shape == (0,)
        if not known and not tensor.gap:
            raise FrontendError(f"{where}: nothing defines tensor {tensor.name!r}, which is read")


def _check_bodies(networks: Sequence[Network], limits: Limits) -> None:
    """Raises FrontendError for networks that contain themselves, too many of them in all, or networks too deep."""
    used = [
        sorted({number for o in network.operations for number in o.bodies if 0 <= number < len(networks)})
        for network in networks
    ]
    order = in_order(
        range(len(networks)),
        lambda index: map(str, used[index]),
        lambda index: [str(index)],
        lambda index: f"graph {networks[index].name or index}",
    )
    sizes, depths = [0] * len(networks), [0] * len(networks)
    for index in order:
        inner = [n for o in networks[index].operations for n in o.bodies if 0 <= n < len(networks)]
        inside = sum(sizes[n] for n in inner)
        sizes[index] = len(networks[index].operations) + len(networks[index].tensors) + inside
        depths[index] = 1 + max((depths[n] for n in inner), default=0)
        if depths[index] > limits.nesting:
            raise FrontendError(f"expected graphs nested at most {limits.nesting} deep, found deeper ones")
        if inside > limits.expanded:
            raise FrontendError(
                f"expected at most {limits.expanded} nodes and tensors of branches and bodies, found {inside}"
            )


def _check_arguments(network: Network) -> None:
    """Raises FrontendError for inputs and outputs of the model that can't be told apart or printed."""
    if not network.outputs:
        raise FrontendError("expected a model with outputs, found none: it has nothing to compute")
    arguments = (*network.inputs, *network.outputs)
    require_few_arguments(len(network.inputs), len(network.outputs))
    for tensor in arguments:
        if len(tensor.name) > LONGEST_NAME:
            raise FrontendError(
                f"expected names of inputs and outputs of at most {LONGEST_NAME} characters, "
                f"found {tensor.name[:LONGEST_NAME]!r}"
            )
