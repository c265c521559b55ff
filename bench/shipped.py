"""Records that come with sateen, for this machine: `nox -s bench -- shipped --models FOLDER --log LOG --time 20m`.

Measures the problems of all networks of a folder of ONNX files within one time, each network alike, and goes on from
its log when it is run again. With --write it then compares what is fastest with the estimate's choice, each in
processes of its own, and each whole network by records with that by the estimate, takes choices back that make one
slower, and writes the file to sateen-graph-ir. --search and --trials are those of `sateen tune`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from sateen.frontends.command.arguments import duration
from sateen.frontends.command.compilation import Compilation
from sateen.frontends.command.compilers import compilers
from sateen.frontends.command.problem_list import problems_in
from sateen.frontends.command.tune import SEARCHES, measure, search_of, verify_choices
from sateen.frontends.command.tuned_network import WholeNetwork, tell_whole_network
from sateen.graph_ir.ir import Problem
from sateen.graph_ir.tune import Records, SessionMeasurer, Tuning, TuningLog, pack, tunings_of
from sateen.runtime import Target
from sateen.tensor_ir import Machine

PLAIN = Compilation("llvm", {}, {}, {}, None, (), (), True, "default", "keep")
MILLION = 1e6


def networks_in(models: list[Path], target: Target) -> dict[Path, dict[Problem, int]]:
    """The problems of each network, and the number of its nodes with each."""
    return {model: dict(problems_in(model, PLAIN, target, None)) for model in models}


def weights_of(networks: dict[Path, dict[Problem, int]], machine: Machine) -> dict[Problem, float]:
    """How much each problem counts: the nodes of all networks, each of which has the same estimate in all."""
    found: dict[Problem, float] = {}
    for problems in networks.values():
        cycles = sum(count * problem.candidates(machine)[0].cycles for problem, count in problems.items())
        for problem, count in problems.items():
            found[problem] = found.get(problem, 0.0) + MILLION * count / cycles
    return found


def main() -> None:
    """Measure for a while, and write the file if it is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, required=True, metavar="FOLDER", help="ONNX files with static inputs")
    parser.add_argument("--log", type=Path, required=True, metavar="LOG", help="a file of records, which may exist")
    parser.add_argument("--time", type=duration, metavar="20m", help="most time for all candidates")
    parser.add_argument("--trials", type=int, default=40, metavar="N", help="most candidates of a problem; default 40")
    parser.add_argument("--search", choices=SEARCHES, default=SEARCHES[0])
    parser.add_argument("--write", action="store_true", help="verify, and write the file")
    options = parser.parse_args()
    target = Target.host()
    networks = networks_in(sorted(options.models.glob("*.onnx")), target)
    weights = weights_of(networks, Machine.of(target))
    with compilers(None) as given, TuningLog(options.log) as log:

        def measurer() -> SessionMeasurer:
            return SessionMeasurer(target, compilers=given)

        search = search_of(options.search, log.known, target, None)
        tunings = tunings_of(list(weights), target, options.trials, log.known, search=search)
        measure(tunings, list(weights.values()), [measurer()], log, options.time)
        left, measured = sum(t.remaining for t in tunings), sum(len(t.records) for t in tunings)
        print(f"{len(tunings)} problems, {measured} candidates measured, {left} left")
        if not options.write:
            return
        verify_choices(tunings, measurer, log)
        by_problem = {t.problem: t for t in tunings}
        for model, problems in networks.items():
            own: list[Tuning] = [by_problem[problem] for problem in problems]
            print(model.stem)
            whole = WholeNetwork(model, PLAIN, target, None, None)
            tell_whole_network(whole, own, list(problems.values()), options.log, log, tells=True)
    path = pack(Records.read(options.log), target)
    print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
