"""Real ONNX models become graphs whose names and types are the models' own.

The light models come with the onnx package; those of ../shared are read where that folder stands beside the repository.
"""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from sateen.frontends import check_onnx, from_onnx
from sateen.frontends.onnx.tensors import ELEMENT_TYPES
from sateen.graph_ir import build
from sateen.graph_ir.ir import Graph
from sateen.runtime import load
from sateen.runtime.errors import FrontendError

SHARED = Path(__file__).parents[2] / "shared"
LIGHT = sorted((Path(onnx.__file__).parent / "backend/test/data/light").glob("*.onnx"))
SKELETONS = [
    "convnext_tiny", "densenet121", "efficientnet_b0", "gpt2_64", "inceptionv3", "lstm_2x512_64", "mobilenet1.0",
    "mobilenetv2_1.0",
    "resnet18_v1", "resnet50_v1", "squeezenet1.1", "swin_tiny", "vgg16", "vit_b16", "bert_base_128",
]  # fmt: skip
MODELS: dict[str, dict[str, Any]] = {
    "mnist-8": {},
    "squeezenet_fp16": {},
    "super_resolution": {"dims": {"batch_size": 1}},
    "yolox_nano": {},
    "yunet_n_320": {},
    "yunet_n_dynamic": {"dims": {"batch": 1, "height": 128, "width": 160}},
    "mobilefacenet": {},
    "vitTracker": {},
    "text_detection_ch_ppocrv3": {"shapes": {"x": (1, 3, 160, 160)}},
    "ort_TFBertForQuestionAnswering": {"dims": {"batch_size": 1}},
}


def shared(path: str) -> Path:
    found = SHARED / path
    if not found.exists():
        pytest.skip(f"{found} is absent")
    return found


def with_zeros(skeleton: onnx.ModelProto) -> onnx.ModelProto:
    """A model whose large weights are given as shapes only, filled with zeros."""
    model = onnx.ModelProto()
    model.CopyFrom(skeleton)
    for tensor in model.graph.initializer:
        if tensor.doc_string.startswith("draw:"):
            tensor.raw_data = bytes(int(np.prod(tensor.dims)) * 4)
            tensor.data_type = TensorProto.FLOAT
    return model


def assert_types_agree(graph: Graph, params: dict[str, Any], model: onnx.ModelProto) -> None:
    """Every value that both know, ONNX's own inference and ours, has one type; so have inputs and outputs."""
    for declared in model.graph.input:
        extents = {v.name: v.type.static_shape for v in graph.inputs}.get(declared.name)
        for dim, extent in zip(declared.type.tensor_type.shape.dim, extents or (), strict=False):
            dim.dim_value = extent
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
    known = {value.name: value for value in (*inferred.graph.value_info, *inferred.graph.output)}
    assert [v.name for v in graph.outputs] == [v.name for v in model.graph.output]
    compared = 0
    for value in (*graph.outputs, *(v for node in graph.nodes for v in node.outputs)):
        expected = known[value.name].type.tensor_type if value.name in known else None
        if expected is None or not expected.HasField("shape"):
            continue
        if not all(dim.HasField("dim_value") for dim in expected.shape.dim):
            continue
        found = (ELEMENT_TYPES[value.type.dtype], value.type.static_shape)
        assert found == (expected.elem_type, tuple(dim.dim_value for dim in expected.shape.dim)), value.name
        compared += 1
    assert compared
    assert set(params) == {value.name for value in graph.parameters}
    assert all(value.type.static_shape == params[value.name].shape for value in graph.parameters)


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
def test_light_models(path: Path) -> None:
    model = onnx.load(path)
    assert_types_agree(*from_onnx(model), model)


@pytest.mark.parametrize("name", SKELETONS)
def test_networks_of_the_benchmarks(name: str) -> None:
    skeleton = onnx.load(shared(f"bench/skeletons/{name}.onnx"))
    assert_types_agree(*from_onnx(with_zeros(skeleton)), skeleton)


@pytest.mark.parametrize("name", MODELS)
def test_models_of_others(name: str) -> None:
    path = shared(f"models/onnx/{name}.onnx")
    assert_types_agree(*from_onnx(path, **MODELS[name]), onnx.load(path))


@pytest.mark.parametrize("name", ["silero_vad", "silero_vad_op18_ifless"])
def test_branches_and_recurrent_layers_with_a_bound_condition(name: str) -> None:
    graph, _ = from_onnx(
        shared(f"models/onnx/{name}.onnx"),
        shapes={"input": (1, 512), "state": (2, 1, 128)},
        constants={"sr": np.array(16000, np.int64)},
    )
    assert [(v.name, str(v.type)) for v in graph.inputs] == [
        ("input", "float32[1, 512]"),
        ("state", "float32[2, 1, 128]"),
    ]
    assert [str(v.type) for v in graph.outputs] == ["float32[1, 1]", "float32[2, 1, 128]"]


@pytest.mark.parametrize("name", ["silero_vad", "silero_vad_op18_ifless"])
def test_branches_of_a_condition_that_is_known_at_run_time_only(name: str) -> None:
    path = shared(f"models/onnx/{name}.onnx")
    peer = pytest.importorskip("onnxruntime").InferenceSession(path)
    graph, _ = from_onnx(path, shapes={"input": (1, 256), "state": (2, 1, 128)})
    assert "if" in [node.op.op_name() for node in graph.nodes]
    network = load(build(graph))
    random = np.random.default_rng(0)
    data = {n: random.standard_normal(s).astype(np.float32) for n, s in (("input", (1, 256)), ("state", (2, 1, 128)))}
    for rate in (16000, 8000):
        inputs = {**data, "sr": np.array(rate)}
        for value, expected in zip(graph.outputs, peer.run(None, inputs), strict=True):
            found = network.run(inputs)[value.name].numpy()
            assert np.abs(found - expected).max() <= 1e-4 * np.abs(expected).max()


def test_a_branch_that_the_shapes_do_not_fit_says_which_condition_to_bind() -> None:
    report = check_onnx(shared("models/onnx/silero_vad.onnx"), shapes={"input": (1, 512), "state": (2, 1, 128)})
    (gap,) = report.gaps
    assert "(LSTM): lstm: expects x [time, batch, in]" in gap.reason
    assert gap.help.endswith("if the values are always the same: constants={'sr': ...}, or --bind sr=...")


def test_experimental_operators_of_old_models_are_read() -> None:
    graph, _ = from_onnx(shared("models/onnx/fns_candy.onnx"), shapes={"inputImage": (1, 3, 720, 720)})
    assert str(graph.outputs[0].type) == "float32[1, 3, 720, 720]"
    assert {"Affine", "Crop", "ImageScaler"} <= {node.spans[0].operator for node in graph.nodes}


def test_a_network_with_unknown_extents_says_which_to_bind() -> None:
    report = check_onnx(shared("models/onnx/yunet_n_dynamic.onnx"))
    assert not report.is_supported
    remedy = "bind them: dims={'batch': ..., 'height': ..., 'width': ...}"
    assert any(gap.help.startswith(remedy) for gap in report.gaps)


def test_a_model_that_defines_a_name_twice_is_refused() -> None:
    with pytest.raises(FrontendError, match="defines '284', which is defined already"):
        from_onnx(shared("models/onnx/ort_gpt2_past.onnx"))


def test_classic_learning_is_read() -> None:
    report = check_onnx(shared("models/onnx/skl_treecl.onnx"))
    assert report.is_supported
    assert report.operators == {"ai.onnx.ml.TreeEnsembleClassifier": 1}
