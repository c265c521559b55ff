"""Compiles one network and compares its outputs with those of its judge; prints what was measured as JSON.

    python examine.py NAME FOLDER [TARGET]

FOLDER holds the networks of the benchmarks. TARGET is a kind of devices, this machine's processor without one.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from catalogue import Case, light_models, models_of_formats, models_of_others, networks_of_benchmarks, read_golden
from process_memory import PeakMemory

from sateen import runtime
from sateen.frontends import load as read_model
from sateen.frontends.command.arrays import random_inputs
from sateen.frontends.command.comparison import AS_FAR, TOLERANCE, tolerance_of
from sateen.frontends.onnx.double import outputs_in_double
from sateen.frontends.onnx.engines import onnxruntime
from sateen.graph_ir.compile import build, lower_network
from sateen.graph_ir.ir import Array, Graph
from sateen.graph_ir.judge import difference
from sateen.graph_ir.kernels import KernelPool
from sateen.graph_ir.passes import default_pipeline
from sateen.runtime import Artifact, CodeForm, CodegenError, DeviceError, DType, SateenError, Target, TargetError

WORKERS = 2
HOST = "llvm"


@dataclass(slots=True)
class Record:
    """A row of the table. Times are from the start of reading; peak memory is that of this process and its workers,
    as far as it was sampled."""

    name: str
    model: str
    format: str
    nodes: int = 0
    seconds: float = 0.0
    library_bytes: int = 0
    launches: int = 0
    """Kernels that a run on a device launches."""
    run_seconds: float = float("nan")
    """Of the second run on a device, copies included."""
    workspace_bytes: int = 0
    least_bytes: int = 0
    peak_bytes: int = 0
    error: float = float("nan")
    local_error: float = float("nan")
    is_right: bool = False
    refused: bool = False
    note: str = ""


def examine(case: Case, target: str = HOST) -> Record:
    """Compile for a target and verify. An error of ours becomes the note of the record."""
    record = Record(case.name, case.model.name, case.format)
    golden = read_golden(case.golden, case.inputs) if case.golden is not None else ({}, {})
    inputs, expected = case.arranged(*golden)
    try:
        artifact = _compiled(case, inputs, record, target)
        if not case.refusal:
            inputs = {p.name: inputs[p.name] for p in artifact.inputs} if inputs else _random_inputs(case, artifact)
            found = _run(artifact, inputs, record)
    except SateenError as error:
        return _refused(case, error, record, target)
    if case.refusal:
        record.note = f"expected to be refused: {case.refusal}"
        return record
    if not expected and case.model.suffix != ".onnx":  # nobody else runs it here: what it sees decides
        assert case.finding is not None, case.name
        record.note = case.finding(next(iter(found.values())))
        record.is_right = not record.note
        return record
    if expected.keys() == {"0"}:
        expected = {next(iter(found)): expected["0"]}
    judge = "golden file" if expected else "onnxruntime"
    _compare(case, case.shown(found), expected or onnxruntime(case.model, threads=WORKERS)(inputs), record)
    is_onnx = case.model.suffix == ".onnx"
    if is_onnx and not record.is_right and record.error > TOLERANCE and case.finding is None:
        note = f"float64 is the judge; {judge} is {record.error:.1e} from us"
        exact = {name: array.astype(found[name].dtype) for name, array in outputs_in_double(case.model, inputs).items()}
        _compare(case, found, exact, record)
        record.note = note if record.is_right else f"{record.note}; {note}"
    if is_onnx and target != HOST and not record.is_right:
        _compare_roundings(case, inputs, found, record)
    return record


def _compare_roundings(case: Case, inputs: dict[str, Array], found: dict[str, Array], record: Record) -> None:
    """What a device found is right if it is about as far from float64 as what the processor finds with the same
    network, whose layers round to the same types, each sum in another order."""
    scratch = Record(case.name, case.model.name, case.format)
    here = _run(_compiled(case, inputs, scratch, HOST, "strict"), inputs, scratch)
    exact = {name: array.astype(np.float64) for name, array in outputs_in_double(case.model, inputs).items()}
    theirs, ours = (
        {name: difference(array.astype(np.float64), exact[name]) for name, array in arrays.items()}
        for arrays in (found, here)
    )
    finding = case.finding(next(iter(found.values()))) if case.finding is not None else ""
    if finding or not all(theirs[name].is_within(ours[name], AS_FAR) for name in found):
        return
    record.is_right = True
    record.error, record.local_error = (max(d.overall for d in theirs.values()), max(d.local for d in theirs.values()))
    least = max(d.overall for d in ours.values())
    record.note = f"as near to float64 as on the processor, by {record.error:.1e} and {least:.1e}"


def _refused(case: Case, error: SateenError, record: Record, target: str) -> Record:
    """The record of a case with an error: right where it is the expected one, or says what a device lacks."""
    text = "".join(traceback.format_exception_only(error)).strip()
    record.refused = True
    is_expected = bool(case.refusal) and case.refusal in text
    is_lack = target != HOST and isinstance(error, (CodegenError, DeviceError, TargetError))
    record.is_right = is_expected or is_lack
    record.note = f"refused: {text.splitlines()[0]}" if record.is_right else text
    return record


def _run(artifact: Artifact, inputs: dict[str, Array], record: Record) -> dict[str, Array]:
    """The outputs of a run; on a device of the second one, which is timed."""
    if artifact.form is not CodeForm.KERNELS:
        return {name: array.numpy() for name, array in runtime.load(artifact, threads=WORKERS).run(inputs).items()}
    model = runtime.load(artifact)
    model.run(inputs)
    start = time.perf_counter()
    found = {name: array.numpy() for name, array in model.run(inputs).items()}
    record.run_seconds = time.perf_counter() - start
    return found


def _random_inputs(case: Case, artifact: Artifact) -> dict[str, Array]:
    inputs = random_inputs(artifact.inputs, seed=0)
    if not case.takes_pixels:
        return inputs
    generator = np.random.default_rng(0)
    return {name: generator.integers(0, 256, array.shape).astype(array.dtype) for name, array in inputs.items()}


def _compiled(case: Case, inputs: dict[str, Array], record: Record, target: str, numerics: str = "default") -> Artifact:
    constants = {name: inputs[name] for name in case.constants}
    shapes = {name: array.shape for name, array in inputs.items() if name not in constants} or case.shapes
    optimised: list[Graph] = []

    def keep(graph: Graph) -> Graph:
        optimised.append(graph)
        return graph

    start = time.perf_counter()
    with PeakMemory() as memory, KernelPool(WORKERS) as workers:
        graph, params = read_model(case.model, shapes=shapes, constants=constants, inputs=case.inputs)
        pipeline = (*default_pipeline(Target.of(target), numerics), keep)
        artifact = build(graph, target, params=params, pipeline=pipeline, workers=workers)
    record.seconds = time.perf_counter() - start
    record.peak_bytes = memory.peak_bytes
    record.nodes = len(graph.nodes)
    record.library_bytes, record.launches = len(artifact.library) or len(artifact.kernels), len(artifact.launches)
    record.workspace_bytes = artifact.workspace_bytes
    if target == HOST:
        record.least_bytes = lower_network(optimised[0], Target.of(target)).plan.least_bytes
    return artifact


def _compare(case: Case, found: dict[str, Array], expected: dict[str, Array], record: Record) -> None:
    """The largest error in proportion to what the output's element type allows."""
    errors = {name: difference(array, expected[name]) for name, array in found.items()}
    allowed = {name: tolerance_of(DType.of(array.dtype)) for name, array in found.items()}
    worst = max(errors, key=lambda name: errors[name].overall / allowed[name])
    record.error = errors[worst].overall
    record.local_error = max(apart.local for apart in errors.values())
    record.is_right = errors[worst].overall <= allowed[worst]
    if case.is_quantised:
        steps = max(int(np.abs(array.astype(int) - expected[name]).max()) for name, array in found.items())
        record.is_right = steps <= 1
    record.note = ""
    if not record.is_right:
        record.note = f"output {worst} is wrong"
    elif case.finding is not None:
        record.note = case.finding(next(iter(found.values())))
        record.is_right = not record.note


def find_case(name: str, folder: Path) -> Case:
    """The case of a name. Raises FileNotFoundError where it needs ../shared, which is absent."""
    by_name = {case.name: case for case in light_models()}
    if name not in by_name:
        by_name |= {
            case.name: case for case in (*networks_of_benchmarks(folder), *models_of_others(), *models_of_formats())
        }
    return by_name[name]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asdict(examine(find_case(sys.argv[1], Path(sys.argv[2])), *sys.argv[3:]))) + "\n")
