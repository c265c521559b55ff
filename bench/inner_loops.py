"""The instructions of inner loops on machines that aren't here: `nox -s bench -- inner_loops [--target TARGET]`.

Of each convolution and product of sateen.graph_ir.workloads the kernel of the method that the estimate chooses is
compiled, and the innermost loop with the most multiply-adds is counted in its assembly. Emulators say nothing about
speed, but what a loop does besides multiply-adds and loads takes time on every processor. Loads of values that had to
leave their registers count as loads; the stores of them don't.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from page import table

from sateen.graph_ir import workloads
from sateen.graph_ir.ir import Problem
from sateen.graph_ir.kernels import problem_kernel, solved
from sateen.graph_ir.passes import preparation, run_pipeline
from sateen.runtime import Target
from sateen.tensor_ir import Machine, build_functions
from sateen.topi.methods import Method

NETWORKS = (workloads.mobilenet, workloads.resnet, workloads.squeezenet)
OPERATORS = ("conv", "mat_mul")
GOAL = 0.8

_LABEL = re.compile(r"^(\.?LBB\w+):")  # without the point in files for macOS
_INSTRUCTION = re.compile(r"^\t([a-z][\w.]*)(?:\t(.*))?$")
_CONDITIONS = "eq|ne|hs|lo|mi|pl|hi|ls|ge|lt|gt|le"
_BRANCH = re.compile(rf"^(b|b\.\w+|b({_CONDITIONS})|cbn?z|tbn?z|j|b(eq|ne|[lg][te]u?)z?)$")
_MULTIPLY_ADD = re.compile(
    r"^((fmla|fmls|fmadd|[us]dot|usdot|[us]mlal2?)(\.\w+)?|v(mla|mls|fma|fms|mlal)\.\w+"  # ARM
    r"|fn?m(add|sub)\.[hsd]|v(fw?n?|w|n)?m(acc|sac|add|sub)(u|su|us)?\.v[vfx])$"  # RISC-V
)
_LOAD = re.compile(
    r"^(ld\w*(\.\w+)?|prfm|pld|vld\w*(\.\w+)?"  # ARM
    r"|l[bhwd]u?|fl[hwd]|vl[suo]?x?e(i?\d+)?\.v|vlse\d+\.v|vl\d+re?\d*\.v)$"  # RISC-V
)


@dataclass(frozen=True)
class Loop:
    """The instructions of an innermost loop, by kind."""

    multiply_adds: int
    loads: int
    others: Counter[str]

    @property
    def useful(self) -> float:
        """The fraction of multiply-adds and loads."""
        counted = self.multiply_adds + self.loads
        return counted / (counted + self.others.total())


def innermost_loops(assembly: str) -> Iterator[Loop]:
    """The loops of AArch64, ARM or RISC-V code that contain no other label: from a label to a branch back to it."""
    label, body = "", list[str]()
    for line in assembly.splitlines():
        if found := _LABEL.match(line):
            label, body = found[1], []
        elif found := _INSTRUCTION.match(line):
            body.append(found[1])
            if label and _BRANCH.match(found[1]) and (found[2] or "").split()[-1:] == [label]:
                yield _counted(body)


def _counted(body: list[str]) -> Loop:
    multiply_adds = sum(bool(_MULTIPLY_ADD.match(name)) for name in body)
    loads = sum(bool(_LOAD.match(name)) for name in body)
    others = Counter(name for name in body if not (_MULTIPLY_ADD.match(name) or _LOAD.match(name)))
    return Loop(multiply_adds, loads, others)


def problems() -> list[Problem]:
    """The convolutions, depthwise ones included, and products of the networks, each once."""
    graphs = (run_pipeline(network(), preparation(Machine.of())) for network in NETWORKS)
    nodes = (node for graph in graphs for node in graph.nodes if type(node.op).op_name() in OPERATORS)
    return list(dict.fromkeys(map(Problem.of, nodes)))


def inner_loop(problem: Problem, target: Target) -> tuple[str, Loop | None]:
    """The method that the estimate chooses, and the innermost loop with the most multiply-adds; None without one."""
    method = next((candidate.method for candidate in problem.candidates(Machine.of(target))), None)
    return "by shape" if method is None else str(method), inner_loop_of(problem, method, target)


def inner_loop_of(problem: Problem, method: Method | None, target: Target) -> Loop | None:
    """The innermost loop of a method with the most multiply-adds; None without one."""
    machine = Machine.of(target)
    function = problem_kernel(solved(problem, method, machine), machine)
    loops = [loop for loop in innermost_loops(build_functions([function], target).assembly()) if loop.multiply_adds]
    return max(loops, key=lambda loop: loop.multiply_adds, default=None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="aarch64", help="the target, of AArch64, ARM or RISC-V")
    target = Target.of(parser.parse_args().target)
    rows, met = [], 0
    for problem in problems():
        method, loop = inner_loop(problem, target)
        if loop is None:
            rows.append([str(problem), method, "", "", "no such loop", ""])
            continue
        met += loop.useful >= GOAL
        others = ", ".join(f"{count} {name}" for name, count in loop.others.most_common(4))
        rows.append([str(problem), method, str(loop.multiply_adds), str(loop.loads), others, f"{loop.useful:.0%}"])
    print("\n".join(table(["problem", "method", "multiply-adds", "loads", "others", "useful"], rows)))
    print(f"\n{met} of {len(rows)} loops are at least {GOAL:.0%} multiply-adds and loads")


if __name__ == "__main__":
    main()
