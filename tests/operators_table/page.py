"""Writes docs/operators-table.md from the code: `python tests/operators_table/page.py docs/operators-table.md`."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from derivation import converter_tables, operators_of

from sateen.graph_ir import OPS, Operator, TensorType, sym
from sateen.runtime import DType, InferenceError
from sateen.tensor_ir import Machine
from sateen.topi.operators import types_of
from sateen.topi.types import Layout

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "packages" / "sateen-graph-ir" / "tests" / "ops" / "test_every_operator.py"
MACHINE = Machine.of("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v3")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
SINCE: Mapping[str, str] = {}
"""The version of sateen-graph-ir that brought an operator, if it is not the first one."""

HEAD = """# Operators

Every operator of graphs, and its names elsewhere. This page is written from the code by
`python tests/operators_table/page.py docs/operators-table.md`, and a test compares it.

*Layouts*: with `any` an operator takes its data in blocks of channels and in any order of axes, with `blocks` or
`orders` in one of these; otherwise row-major. *Types* are those of the first input. No operator has a *gradient* yet.
What an operator computes stands at its class in `sateen.graph_ir.ops`; what becomes of special values, in
[semantics](semantics.md).

| operator | since | layouts | types | gradient |
|---|---|---|---|---|
"""
TERMS = """
## In the formats

The terms that become an operator, alone or with others: those whose converter names it in its file, or in files that it
calls where its own names none. What surrounds a layer in many terms, such as transposes of channels and activations, is
not listed. An operator that no format names is made by passes, or from bodies and functions of a model.

"""
NNVM = """
## The operators of NNVM

Each of them is a function of [`sateen.graph_ir.sym`](migration.md) of the same name, which gives these operators, or
some of them. What was internal to NNVM is something else here.

| NNVM | here |
|---|---|
"""
INTERNAL = {
    "_contrib_conv2d_NCHWc": "`conv` in the layout that `choose_layouts` gives it",
    "_contrib_conv2d_winograd_weight_transform": "the preparation of the weight of `winograd_conv`, at compile time",
    "_contrib_conv2d_winograd_without_weight_transform": "`winograd_conv`, by which `choose_methods` computes `conv`",
    "_contrib_conv2d_winograd_nnpack_weight_transform": "as above; no library is called",
    "_contrib_conv2d_winograd_nnpack_without_weight_transform": "as above; no library is called",
    "__layout_transform__": "`convert_layout`",
    "__undef__": "an output that nothing reads",
    "_assign": "an alias of an output and an input: `Graph.aliases`",
    "_conv2d_grad": "none yet: gradients are to come",
    "_max_pool2d_grad": "none yet: gradients are to come",
    "_max_mask": "none yet: gradients are to come",
    "_min_mask": "none yet: gradients are to come",
    "tvm_op": "`fused`: a kernel",
}


def page() -> str:
    return HEAD + "".join(_facts()) + TERMS + "".join(_terms()) + NNVM + "".join(_of_nnvm())


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |\n"


def _facts() -> Iterable[str]:
    examples: dict[str, tuple[Operator, Sequence[Any]]] = {}
    for op, arrays in _examples():
        examples.setdefault(op.op_name(), (op, arrays))
    for name in sorted(OPS.ops):
        op, arrays = examples[name]
        inputs = [TensorType.of(str(a.dtype), a.shape) for a in arrays]
        gradient = "yes" if hasattr(op, "gradient") else "no"
        yield _row(f"`{name}`", SINCE.get(name, "0.1.0"), _layouts(op, inputs), _types(op, inputs), gradient)


def _examples() -> Sequence[tuple[Operator, Sequence[Any]]]:
    """The case of each operator of the test that walks all of them."""
    spec = importlib.util.spec_from_file_location("every_operator", EXAMPLES)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    cases: Sequence[tuple[Operator, Sequence[Any]]] = module.CASES
    return cases


def _layouts(op: Operator, inputs: Sequence[TensorType]) -> str:
    """Whether an operator takes its first input in blocks of channels, or channels last."""
    if op.minds_layouts:
        return "of its bodies"
    if not inputs or inputs[0].rank < 3:
        return "row-major"
    rank = inputs[0].rank
    taken = {
        "blocks": _takes(op, inputs, Layout.blocked(rank, 1, 4)),
        "orders": _takes(op, inputs, Layout((0, *range(2, rank), 1))),
    }
    return "any" if all(taken.values()) else next((name for name, takes in taken.items() if takes), "row-major")


def _takes(op: Operator, inputs: Sequence[TensorType], layout: Layout) -> bool:
    wanted = [replace(t, layout=layout) if t.shape == inputs[0].shape else t for t in inputs]
    choices = op.layouts(wanted, types_of(op, inputs), MACHINE)
    return any(choice.inputs[0] == layout for choice in choices)


def _types(op: Operator, inputs: Sequence[TensorType]) -> str:
    if not inputs:
        return "gives " + ", ".join(str(t.dtype) for t in types_of(op, inputs))
    taken = [name for name in ("bool", *INTEGERS, *FLOATS) if _takes_type(op, inputs, name)]
    parts = ["bool"] if "bool" in taken else []
    for text, group in (("integers", INTEGERS), ("floats", FLOATS)):
        own = [name for name in group if name in taken]
        parts += [text] if len(own) == len(group) else own
    return ", ".join(parts)


def _takes_type(op: Operator, inputs: Sequence[TensorType], name: str) -> bool:
    changed = [replace(t, dtype=DType.of(name)) if t.dtype == inputs[0].dtype else t for t in inputs]
    try:
        types_of(op, changed)
    except InferenceError:
        return False
    return True


def _terms() -> Iterable[str]:
    tables = converter_tables()
    formats = sorted(tables)
    terms: dict[str, dict[str, list[str]]] = {name: {form: [] for form in formats} for name in OPS.ops}
    for form in formats:
        for term, converter in tables[form].items():
            for name in operators_of(converter, term):
                terms[name][form].append(_term(term))
    yield _row("operator", *formats)
    yield _row(*["---"] * (len(formats) + 1))
    for name in sorted(OPS.ops):
        if any(terms[name].values()):
            yield _row(f"`{name}`", *(", ".join(sorted(terms[name][form])) for form in formats))


def _term(term: object) -> str:
    """A term of a format; one of several words has its last one."""
    text = term[-1] if isinstance(term, tuple) and term else getattr(term, "name", term)
    return str(text).replace("|", "\\|")


def _of_nnvm() -> Iterable[str]:
    given = {name: ", ".join(f"`{op}`" for op in sorted(operators_of(f))) for name, f in sym.FUNCTIONS.items()}
    rows = {name: given[name] for name in given if not _is_ours_alone(name)} | INTERNAL
    for name in sorted(rows):
        yield _row(f"`{name}`", rows[name])


def _is_ours_alone(name: str) -> bool:
    """Comparisons with numbers, which NNVM had not."""
    return name.endswith("_scalar__") and any(word in name for word in ("greater", "less", "equal"))


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
