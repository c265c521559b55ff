"""What a problem on a processor is timed with."""

from dataclasses import replace

from sateen.graph_ir import TensorType
from sateen.graph_ir.ir import Problem
from sateen.graph_ir.ops import MatMul
from sateen.graph_ir.tune.function_bench import FunctionBench
from sateen.graph_ir.tune.problem_bench import ProblemData
from sateen.runtime import LocalSession, Target
from sateen.tensor_ir import Machine, build_functions


def test_copies_of_weights_are_more_than_a_third_cache_keeps():
    """It keeps part of data that exceed it little, of one method more than of the other."""
    target = Target.of("llvm")
    machine = replace(Machine.of(target), l3_bytes=64 << 10)
    problem = Problem(MatMul(), (TensorType.of("float32", (4, 64)), TensorType.of("float32", (64, 64))))
    with LocalSession() as session:
        bench = FunctionBench(
            problem, target, session, lambda f, t: build_functions([f], t).library(), ProblemData(problem), machine
        )
        prepared = bench.prepared(None, bench.data.inputs)
        weights = {id(weight) for _, weight, _ in prepared.arguments}
        assert len(weights) * problem.inputs[1].bytes >= 8 * machine.l3_bytes
        prepared.unload()
