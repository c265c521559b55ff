"""What is of a machine stands in sateen.tensor_ir.targets: other sources have no numbers that are fitted to one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGES = Path(__file__).parent.parent / "packages"
SOURCES = (
    "sateen-topi/src/sateen/topi",
    "sateen-graph-ir/src/sateen/graph_ir",
    "sateen-tensor-ir/src/sateen/tensor_ir",
)
OUTSIDE = ("tensor_ir/targets/", "tensor_ir/machine_meter.py", "tensor_ir/probes.py", "tensor_ir/peak.py")
"""Where numbers of machines are, and what measures them."""

NAMES = re.compile(
    r"CACHE|CYCLE|LATENCY|BANDWIDTH|BYTES_PER|REGISTERS|L[123]_|UNROLLED|CHAIN|ITERATIONS|PANEL|SLOWDOWN|WORTH|STREAM|AHEAD"
)
WORDS = re.compile(
    r"\bcaches?\b|cycles?\b|latenc|bandwidth|\bregisters?\b|memory|processors?\b|\bcores?\b|machine|faster|slower|\bhides?\b",
    re.IGNORECASE,
)
"""What the name of a constant of a machine has, or the words about it."""

CODE = "a bound of the size of code, which takes a compiler's time on any machine"
ORDER = "an order of ways that differ by far more than machines do"
ALLOWED = {
    "LONGEST_CHAIN": "bounds the error of a sum, not its time",
    "PANELS": "bounds the number of methods",
    "HEIGHTS": "bounds the number of methods",
    "PANEL_ROWS": "uses of each element that pay for a copy of it",
    "WORTHWHILE": "the rounding errors of Strassen's sums weigh beside their cycles",
    "UNROLLED_TERMS": CODE,
    "UNROLLED_ROUNDS": CODE,
    "UNROLLED_LOOK_UPS": CODE,
    "UNROLLED_TAPS": CODE,
    "UNROLLED_VECTORS": CODE,
    "MOST_UNROLLED": CODE,
    "MOST_ITERATIONS": CODE,
    "MOST_LINES": CODE,
    "OF_THIRD_CACHE": "a multiple of the third cache of the machine, for measurements",
    "MOST_VECTORS": "bounds the number of methods",
    "VECTORS": "an order of ways, of which the first that the registers of the machine hold is taken",
    "LEAST_ROWS": "loads of a tile for its multiply-adds, by its shape",
    "COLUMNS": "chains in flight on any machine, as positions of one tile",
    "SPILLED": "vectors of sums for each register of the machine",
    "ALONE_TERMS": "terms for each thread of a device, as an order of loops",
    "MOST_SUMS": "registers that the layout of an instruction takes",
    "STEPS": "multiples of an instruction's terms",
    "LOSS_ELEMENTS": "of the compiler's own work, not of the network's",
    "WORTH": "gain in measured times that is worth a comparison",
    "CHAINS": "of a kernel that measures a device",
    "ELEMENT_BY_ELEMENT_SLOWDOWN": ORDER,
    "UNPACKED_SLOWDOWN": ORDER,
    "ROW_MAJOR_SLOWDOWN": ORDER,
}
"""Constants that look like those of machines and are not, with the reason."""


def sources() -> Iterator[tuple[str, ast.Module, list[str]]]:
    for folder in SOURCES:
        root = PACKAGES / folder
        for path in sorted(root.rglob("*.py")):
            place = f"{root.name}/{path.relative_to(root)}"
            if not place.startswith(OUTSIDE):
                text = path.read_text(encoding="utf-8")
                yield place, ast.parse(text), text.splitlines()


def is_number(value: ast.expr) -> bool:
    """Whether an expression consists of numbers alone."""
    parts = [n for n in ast.walk(value) if isinstance(n, ast.expr)]
    constants = [n.value for n in parts if isinstance(n, ast.Constant)]
    made_of = ast.Constant | ast.BinOp | ast.UnaryOp | ast.Tuple
    return (
        bool(constants)
        and all(isinstance(n, made_of) for n in parts)
        and all(isinstance(c, int | float) and not isinstance(c, bool) for c in constants)
    )


def numbers(module: ast.Module) -> Iterator[tuple[str, str]]:
    """The constants of a module that are numbers, and what is said about each."""
    for statement, after in zip(module.body, [*module.body[1:], None], strict=True):
        said = ""
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str):
            said = after.value.value
        if isinstance(statement, ast.Assign) and is_number(statement.value):
            for target in statement.targets:
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                for name in names:
                    if isinstance(name, ast.Name) and name.id.lstrip("_").isupper():
                        yield name.id, said


def suspects() -> dict[str, str]:
    """The constants of schedules and estimates that may be those of a machine, with their places and what they say."""
    found = {}
    for place, module, _ in sources():
        for name, said in numbers(module):
            if NAMES.search(name) or (place.startswith("topi/") and WORDS.search(said)):
                found[f"{place}: {name}"] = said
    return found


def test_no_constant_of_a_machine_stands_outside_its_description() -> None:
    unknown = [f"{place}: {said}" for place, said in suspects().items() if place.split(": ")[1] not in ALLOWED]
    assert not unknown, "move to Machine or Rates, or add it with the reason why it is none of a machine"


def test_no_reason_is_given_for_what_is_not_there() -> None:
    assert {place.split(": ")[1] for place in suspects()} == set(ALLOWED)


def test_estimates_have_no_rates_of_their_own() -> None:
    """Numbers in expressions with rates: small whole ones count things and bytes; others would be fitted."""
    for place, module, lines in sources():
        if place != "topi/cost.py":
            continue
        for node in ast.walk(module):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, int | float)
                and not isinstance(node.value, bool)
            ):
                assert node.value in (*range(9), 0.5), f"{place}:{node.lineno}: {lines[node.lineno - 1].strip()}"
