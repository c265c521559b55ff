"""Runs ONNX models in other engines: opponents in a comparison, judges in a verification.

They compute in float32 where the model does. By default OpenVINO and ncnn would use 16 bits if a processor has them.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from sateen.frontends.core.packages import imported
from sateen.frontends.core.peers import Call, Run
from sateen.frontends.onnx.peers import NCNN, ONNXRUNTIME, OPENVINO
from sateen.graph_ir.ir import Array
from sateen.runtime import ArgumentError

LARGEST_MESSAGE = 2**31 - 2**20
"""The most bytes of data in a file of one protobuf message; more go to a file beside it."""


def write_for_peers(
    model: Path, path: Path, shapes: Mapping[str, Sequence[int]], constants: Mapping[str, Array]
) -> None:
    """Write a model so that every peer knows as much of it as our compiler: inputs have shapes, constants are weights.

    Weights are no inputs: onnxruntime folds no batch normalisation into weights that are, OpenVINO folds nothing.
    """
    proto = onnx.load(model)
    graph = proto.graph
    for tensor in [t for t in graph.initializer if t.name in constants]:
        graph.initializer.remove(tensor)
    graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in constants.items())
    weights = {t.name for t in graph.initializer} | {t.values.name for t in graph.sparse_initializer}
    for given in [v for v in graph.input if v.name in weights]:
        graph.input.remove(given)
    for given in graph.input:
        if given.name in shapes:
            dims = onnx.TensorShapeProto(dim=[{"dim_value": extent} for extent in shapes[given.name]])
            given.type.tensor_type.shape.CopyFrom(dims)
    proto.ir_version = max(proto.ir_version, 4)  # the first that allows weights which are no inputs
    beside = sum(len(t.raw_data) for t in graph.initializer) > LARGEST_MESSAGE
    onnx.save(proto, path, save_as_external_data=beside)


def onnxruntime(path: Path, keep: Sequence[str] = (), threads: int = 0) -> Run:
    """The model in onnxruntime on processors, with all its optimisations; `keep` adds inner values to the outputs.

    Raises ArgumentError if it is not installed or refuses the model.
    """
    runtime = imported("onnxruntime", ONNXRUNTIME.missing)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4  # none but fatal ones: errors are raised
    source = _with_outputs(path, keep).SerializeToString() if keep else str(path)
    try:
        session = runtime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its classes have no base but this one
        raise ArgumentError(f"onnxruntime refuses {path}: {error}") from error
    outputs = [o.name for o in session.get_outputs()]

    def run(inputs: Mapping[str, Array]) -> dict[str, Array]:
        return dict(zip(outputs, session.run(outputs, dict(inputs)), strict=True))

    return run


def _with_outputs(path: Path, names: Sequence[str]) -> onnx.ModelProto:
    model = onnx.load(path)
    present = {o.name for o in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in present)
    return model


def open_onnxruntime(path: Path, threads: int, inputs: Mapping[str, Array]) -> Call:
    run = onnxruntime(path, threads=threads)
    return lambda: list(run(inputs).values())


def open_openvino(path: Path, threads: int, inputs: Mapping[str, Array]) -> Call:
    """OpenVINO's processor plugin in float32, one request at a time, inputs in place."""
    return _open_openvino(path, threads, inputs, {"INFERENCE_PRECISION_HINT": "f32"})


def open_openvino_default(path: Path, threads: int, inputs: Mapping[str, Array]) -> Call:
    """The same in the precision that it chooses: bfloat16 or float16 where the processor has fast instructions for
    it."""
    return _open_openvino(path, threads, inputs, {})


def _open_openvino(path: Path, threads: int, inputs: Mapping[str, Array], precision: Mapping[str, str]) -> Call:
    engine = imported("openvino", OPENVINO.missing)
    settings = {**precision, "INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
    request = engine.Core().compile_model(str(path), "CPU", settings).create_infer_request()
    for name, array in inputs.items():
        request.set_tensor(name, engine.Tensor(array, shared_memory=True))

    def call() -> Sequence[Array]:
        request.infer()
        return [tensor.data for tensor in request.output_tensors]

    return call


def open_ncnn(path: Path, threads: int, inputs: Mapping[str, Array]) -> Call:
    """The network that pnnx makes of the model, with all of ncnn's methods except those of less than 32 bits. ncnn has
    no batches: the program that pnnx writes says which axis of an input or output that is, 233 for none.
    """
    engine = imported("ncnn", NCNN.missing)
    parameters, weights, program = _converted(path)
    net = engine.Net()
    net.opt.num_threads = threads
    net.opt.use_packing_layout = net.opt.use_winograd_convolution = net.opt.use_sgemm_convolution = True
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    net.opt.use_bf16_packed = net.opt.use_bf16_storage = net.opt.use_vulkan_compute = False
    if net.load_param(str(parameters)) or net.load_model(str(weights)):
        raise ArgumentError(f"ncnn can't load what pnnx makes of {path.name}")
    taken = [int(axis) for axis in re.findall(r"ncnn\.Mat\(.*batch_index=(\d+)", program)]
    given = [int(axis) for axis in re.findall(r"out\d+\.numpy\(batch_index=(\d+)", program)]
    narrow = [a.astype(np.int32) if a.dtype == np.int64 else a for a in inputs.values()]
    mats = [engine.Mat(a, batch_index=axis).clone() for a, axis in zip(narrow, taken, strict=True)]

    def call() -> Sequence[Array]:
        with net.create_extractor() as extractor:
            for index, mat in enumerate(mats):
                extractor.input(f"in{index}", mat)
            return [output(extractor, index, axis) for index, axis in enumerate(given)]

    def output(extractor: Any, index: int, axis: int) -> Array:
        status, mat = extractor.extract(f"out{index}")
        if status != 0:
            raise ArgumentError(f"ncnn can't compute output {index} of {path.name}: status {status}")
        result: Array = mat.numpy(batch_index=axis)
        return result

    return call


def _converted(path: Path) -> tuple[Path, Path, str]:
    """The files that pnnx makes of a model, next to it, unless they exist: ncnn's two files, and a program that runs
    them."""
    parameters, weights, program = (path.with_name(f"{path.stem}_ncnn.{kind}") for kind in ("param", "bin", "py"))
    if not program.exists():
        package = find_spec("pnnx")  # its module imports torch; the converter is a program beside it
        assert package is not None
        assert package.origin is not None
        rest = [f"{key}={path.with_name(f'pnnx.{key}')}" for key in ("pnnxparam", "pnnxbin", "pnnxpy", "pnnxonnx")]
        ours = [f"ncnnparam={parameters}", f"ncnnbin={weights}", f"ncnnpy={program}"]
        command = [str(Path(package.origin).with_name("pnnx")), str(path), *rest, *ours, "fp16=0"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0 or not program.exists():
            last = (done.stderr or done.stdout).strip().rpartition("\n")[2]
            raise ArgumentError(f"pnnx can't convert {path.name}: {last or f'status {done.returncode}'}")
    return parameters, weights, program.read_text(encoding="utf-8")
