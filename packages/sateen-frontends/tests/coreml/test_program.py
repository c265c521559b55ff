"""ML programs: functions, constants in files, names, and operations whose meaning is the format's own."""

import re
import struct
from pathlib import Path

import numpy as np
import pytest

from sateen.frontends import check, from_coreml, load
from sateen.frontends.core.refusals import BEGIN, BRING, END
from sateen.frontends.coreml.program.compression import COMPRESSION
from sateen.frontends.coreml.program.control_flow import CONTROL_FLOW
from sateen.frontends.coreml.program.converters import CONVERTERS
from sateen.frontends.coreml.schemas import coreml_pb2 as schema
from sateen.runtime.errors import FrontendError

BOOL, TEXT, HALF, FLOAT, INT, UINT8, UINT4 = 1, 2, 10, 11, 23, 31, 35
_X = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.fixture
def run(coreml):
    """run(kind, **arguments): what an operation gives for x of 3 x 4."""

    def run(kind: str, given=_X, dtype: int = FLOAT, **arguments):
        operations = [coreml.operation(kind, [coreml.tensor("y", dtype)], x="x", **arguments)]
        made = coreml.program(operations, [coreml.tensor("x", FLOAT, *given.shape)], ["y"])
        return coreml.results(made, {"x": given})["y"]

    return run


def test_a_program_keeps_its_names_and_the_operations_terms(coreml):
    named = coreml.operation("relu", [coreml.tensor("y", FLOAT, 2)], x="x")
    named.attributes["name"].CopyFrom(coreml.value("activation"))
    weight = coreml.operation("const", [coreml.tensor("w", FLOAT, 2)])
    weight.attributes["val"].CopyFrom(coreml.value([1.0, 2.0]))
    added = coreml.operation("add", [coreml.tensor("z", FLOAT, 2)], x="y", y="w")
    graph, parameters = from_coreml(
        coreml.program([weight, named, added], [coreml.tensor("x", FLOAT, 2)], ["z"]).SerializeToString()
    )
    assert [v.name for v in (*graph.inputs, *graph.outputs)] == ["x", "z"]
    assert list(parameters) == ["w"]
    assert [str(span) for node in graph.nodes for span in node.spans] == [
        "node 'activation' (relu) of model 'model'",
        "node 'z' (add) of model 'model'",
    ]


def test_settings_that_are_left_out_have_the_formats_defaults(run, coreml):
    assert run("reduce_sum").tolist() == 66
    assert run("reduce_argmax", dtype=INT).tolist() == [3, 3, 3]
    assert np.array_equal(run("cumsum"), np.cumsum(_X, 0))
    assert np.allclose(run("inverse", _X + 1), 1 / (_X + 1 + 1e-4))
    assert run("gather", indices=coreml.value([2, -1], INT)).tolist() == [_X[2].tolist()] * 2


def test_results_have_their_declared_types(run):
    assert run("reduce_argmin", dtype=INT).dtype == np.int32
    assert run("reduce_argmin", dtype=32).dtype == np.uint16


def test_a_reshape_keeps_extents_counted_from_the_last(run, coreml):
    assert run("reshape", shape=coreml.value([1, -1, 0], INT)).shape == (1, 3, 4)
    assert run("reshape", shape=coreml.value([0, 2, -1], INT), given=_X).shape == (1, 2, 6)


def test_a_layer_norm_may_take_inner_axes(run, coreml):
    gamma = np.array([1, 2, 3], np.float32)
    found = run("layer_norm", axes=coreml.value([0], INT), gamma=coreml.value(gamma))
    centred = _X - _X.mean(0)
    assert np.allclose(found, centred / np.sqrt((centred**2).mean(0) + 1e-5) * gamma[:, None], atol=1e-5)


def test_unknown_dimensions_are_open_and_shapes_follow_them(coreml):
    shape = coreml.operation("shape", [coreml.tensor("s", INT, 2)], x="x")
    first = coreml.operation("slice_by_index", [coreml.tensor("n", INT, 1)], x="s", begin=coreml.value([0], INT),
                             end=coreml.value([1], INT))  # fmt: skip
    whole = coreml.operation("concat", [coreml.tensor("t", INT, 3)], values=["n", coreml.value([2, 2], INT)],
                             axis=coreml.value(0, INT))  # fmt: skip
    made = coreml.operation("reshape", [coreml.tensor("y", FLOAT, -1, 2, 2)], x="x", shape="t")
    model = coreml.program([shape, first, whole, made], [coreml.tensor("x", FLOAT, -1, 4)], ["y"])
    graph, _ = from_coreml(model.SerializeToString())
    assert [str(v.type) for v in (*graph.inputs, *graph.outputs)] == ["float32[?x.0, 4]", "float32[?x.0, 2, 2]"]


def test_scalars_are_joined_as_a_vector(coreml):
    """Numbers of a run, and open dimensions, which are known while reading."""
    axis = coreml.value(0, INT)
    total = coreml.operation("reduce_sum", [coreml.tensor("s", FLOAT)], x="x")
    most = coreml.operation("reduce_max", [coreml.tensor("m", FLOAT)], x="x")
    joined = coreml.operation("concat", [coreml.tensor("y", FLOAT, 2)], values=["s", "m"], axis=axis)
    model = coreml.program([total, most, joined], [coreml.tensor("x", FLOAT, 3, 4)], ["y"])
    assert coreml.results(model, {"x": _X})["y"].tolist() == [66, 11]
    shape = coreml.operation("shape", [coreml.tensor("n", INT, 2)], x="x")
    first = coreml.operation("gather", [coreml.tensor("b", INT)], x="n", indices=coreml.value(0, INT), axis=axis)
    whole = coreml.operation("concat", [coreml.tensor("t", INT, 2)], values=["b", coreml.value(5, INT)], axis=axis)
    state = coreml.operation("fill", [coreml.tensor("y", FLOAT, -1, 5)], shape="t", value=coreml.value(0.0))
    model = coreml.program([shape, first, whole, state], [coreml.tensor("x", FLOAT, -1, 4)], ["y"])
    graph, _ = from_coreml(model.SerializeToString())
    assert [str(v.type) for v in graph.outputs] == ["float32[?x.0, 5]"]


def test_a_classifier_gives_probabilities(coreml):
    label, classes = coreml.tensor("label", TEXT), schema.NamedValueType(name="classes")
    classes.type.dictionaryType.SetInParent()
    listed = schema.Value()
    listed.type.listType.SetInParent()
    made = coreml.operation("classify", [label, classes], probabilities="x", classes=listed)
    model = coreml.program([made], [coreml.tensor("x", FLOAT, 2)], ["label", "classes"])
    assert {name: data.tolist() for name, data in coreml.results(model, {"x": [0.25, 0.75]}).items()} == {
        "classes": [0.25, 0.75]
    }


@pytest.mark.parametrize("axis", [1, -1])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_vectors_of_a_table_lie_along_their_axis(coreml, axis, is_sparse):
    """The example of constexpr_lut_to_dense (coremltools, iOS18/compression.py), and the same with a mask."""
    indices = np.array([[[0, 0], [1, 0]], [[1, 1], [0, 0]]], np.uint8)
    table = np.array([[2, 3, 4], [5, 6, 7]], np.float32)
    shape = (2, 6, 2) if axis == 1 else (2, 2, 6)
    if axis == 1:
        dense = np.stack([np.concatenate([table[row].T for row in part]) for part in indices])
    else:
        dense = table[indices].reshape(shape)
    given = {"lut": coreml.value(table.reshape(1, 1, 1, 2, 3)), "vector_axis": coreml.value(axis, INT)}
    if is_sparse:
        mask = np.array([[[1, 1], [0, 1]], [[1, 0], [1, 1]]], np.uint8)
        given["indices_mask"] = coreml.value(mask, UINT8)
        given["indices_nonzero_data"] = coreml.value(indices[mask != 0], UINT8)
        results = [coreml.tensor("mask", UINT8, *shape), coreml.tensor("held", FLOAT, 18)]
        whole = coreml.operation("constexpr_sparse_to_dense", [coreml.tensor("w", FLOAT, *shape)])
        for name in ("mask", "nonzero_data"):
            whole.inputs[name].arguments.add(name="mask" if name == "mask" else "held")
        made = [coreml.operation("constexpr_lut_to_sparse", results, **given), whole]
        dense = dense * np.repeat(mask, 3, axis)
    else:
        given["indices"] = coreml.value(indices, UINT8)
        made = [coreml.operation("constexpr_lut_to_dense", [coreml.tensor("w", FLOAT, *shape)], **given)]
    added = coreml.operation("add", [coreml.tensor("y", FLOAT, *shape)], x="x", y="w")
    model = coreml.program([*made, added], [coreml.tensor("x", FLOAT, *shape)], ["y"])
    assert coreml.results(model, {"x": np.zeros(shape)})["y"].tolist() == dense.tolist()


def test_compressed_weights_are_what_they_stand_for(coreml):
    packed = coreml.value(np.array([0b11_00_10_01, 0b11], np.uint8), UINT8)
    table = coreml.value([0.5, 1.0, -1.0, 4.0])
    weights = {"indices": packed, "lut": table, "shape": coreml.value(np.array([5], np.uint32), 33)}
    look_up = coreml.operation("constexpr_lut_to_dense", [coreml.tensor("w", FLOAT, 5)])
    for name, value in weights.items():
        look_up.attributes[name].CopyFrom(value)
    added = coreml.operation("add", [coreml.tensor("y", FLOAT, 5)], x="x", y="w")
    model = coreml.program([look_up, added], [coreml.tensor("x", FLOAT, 5)], ["y"])
    assert coreml.results(model, {"x": np.zeros(5)})["y"].tolist() == [1.0, -1.0, 0.5, 4.0, 4.0]


def test_weights_that_are_compressed_once_are_expanded_once(coreml):
    """However many operations expand them: a small file of many such is a small network."""
    table = coreml.operation("const", [coreml.tensor("table", FLOAT, 1, 2, 1)])
    table.attributes["val"].CopyFrom(coreml.value(np.float32([[[2], [3]]])))
    indices = coreml.operation("const", [coreml.tensor("indices", UINT8, 5000)])
    indices.attributes["val"].CopyFrom(coreml.value(np.arange(5000, dtype=np.uint8) % 2, UINT8))
    looked_up = [
        coreml.operation("constexpr_lut_to_dense", [coreml.tensor(name, FLOAT, 5000)], lut="table", indices="indices")
        for name in ("w", "v")
    ]
    product = coreml.operation("mul", [coreml.tensor("z", FLOAT, 5000)], x="x", y="w")
    added = coreml.operation("add", [coreml.tensor("y", FLOAT, 5000)], x="z", y="v")
    model = coreml.program([table, indices, *looked_up, product, added], [coreml.tensor("x", FLOAT, 5000)], ["y"])
    graph, params = from_coreml(model.SerializeToString())
    assert [data.tolist() for data in params.values()] == [[2.0, 3.0] * 2500]
    assert [node.inputs[1] for node in graph.nodes[:2]] == list(graph.parameters) * 2


def test_all_gaps_are_reported_with_remedies(coreml):
    operations = [
        coreml.operation("non_zero", [coreml.tensor("a", INT, -1, 1)], x="x"),
        coreml.operation("invented", [coreml.tensor("b", FLOAT, 2)], x="x"),
        coreml.operation("relu", [coreml.tensor("c", FLOAT, 2)], x="b"),
    ]
    report = check(coreml.program(operations, [coreml.tensor("x", FLOAT, 2)], ["a", "c"]).SerializeToString())
    unknown = f"{BRING}, or {END}; or {BEGIN}"
    assert [(gap.node, gap.operator, gap.reason, gap.help) for gap in report.gaps] == [
        ("a", "non_zero", "how much it gives is known only at run time", END),
        ("b", "invented", "sateen has no such operation; did you mean inverse or identity?", unknown),
    ]


def test_inner_values_have_types_at_which_a_program_may_begin(coreml):
    operations = [
        coreml.operation("invented", [coreml.tensor("b", FLOAT, 2)], x="x"),
        coreml.operation("relu", [coreml.tensor("c", FLOAT, 2)], x="b"),
    ]
    model = coreml.program(operations, [coreml.tensor("x", FLOAT, 2)], ["c"])
    graph, _ = from_coreml(model.SerializeToString(), inputs=["b"])
    assert [str(v.type) for v in graph.inputs] == ["float32[2]"]


@pytest.fixture
def package(tmp_path, coreml):
    """package(numbers, kind): a package whose constant is a record of a file of weights."""

    def write(numbers: np.ndarray, location: str = "@model_path/weights/weight.bin", kind: int = 2) -> Path:
        weight = coreml.operation("const", [coreml.tensor("w", FLOAT, 3)])
        value = weight.attributes["val"]
        value.type.CopyFrom(coreml.tensor("", FLOAT, 3).type)
        value.blobFileValue.fileName, value.blobFileValue.offset = location, 64
        added = coreml.operation("add", [coreml.tensor("y", FLOAT, 3)], x="x", y="w")
        model = coreml.program([weight, added], [coreml.tensor("x", FLOAT, 3)], ["y"])
        folder = tmp_path / "net.mlpackage"
        inner = folder / "Data/com.apple.CoreML"
        (inner / "weights").mkdir(parents=True)
        (folder / "Manifest.json").write_text(
            '{"rootModelIdentifier": "1", "itemInfoEntries": {"1": {"path": "com.apple.CoreML/model.mlmodel"}}}'
        )
        (inner / "model.mlmodel").write_bytes(model.SerializeToString())
        data = numbers.tobytes()
        record = struct.pack("<IIQQQ", 0xDEADBEEF, kind, len(data), 128, 0).ljust(64, b"\0")
        (inner / "weights/weight.bin").write_bytes(bytes(64) + record + data)
        return folder

    return write


_WEIGHTS = np.array([1, 2, 3], np.float32)


def test_weights_come_from_the_packages_file(package):
    _, parameters = load(package(_WEIGHTS))
    assert parameters["w"].tolist() == [1, 2, 3]


def test_constants_without_their_file_are_told_in_one_line(package):
    folder = package(_WEIGHTS)
    (folder / "Data/com.apple.CoreML/weights/weight.bin").unlink()
    missing = "the constant: can't open 'weights/weight.bin' in the model's folder: No such file or directory"
    missing += "; copy it there, it is a part of the model"
    assert [(gap.node, gap.reason) for gap in check(folder).gaps] == [("w", missing)]


def test_a_model_within_a_package_finds_its_weights(package):
    _, parameters = load(package(_WEIGHTS) / "Data/com.apple.CoreML/model.mlmodel")
    assert parameters["w"].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"location": "../weight.bin"}, "expected the plain relative path of a file beside the model"),
        ({"location": "/etc/passwd"}, "expected the plain relative path of a file beside the model"),
        ({"location": "weights/other.bin"}, "can't open 'weights/other.bin' in the model's folder"),
        (
            {"kind": 1},
            "expected a record of type 2 with 12 bytes at 64 of 'weights/weight.bin', found type 1 with 12 bytes",
        ),
    ],
)
def test_other_files_and_records_are_refused(package, settings, message):
    report = check(package(_WEIGHTS, **settings))
    assert message in report.gaps[0].reason


def test_a_record_of_another_length_is_refused(package):
    assert (
        "with 12 bytes at 64 of 'weights/weight.bin', found type 2 with 8 bytes"
        in check(package(_WEIGHTS[:2])).gaps[0].reason
    )


def test_bytes_of_a_model_with_weights_in_files_are_refused(package):
    data = (package(_WEIGHTS) / "Data/com.apple.CoreML/model.mlmodel").read_bytes()
    assert "give the path of the package, not its bytes" in check(data).gaps[0].reason


def test_links_in_a_package_are_not_followed(package, tmp_path):
    folder = package(_WEIGHTS)
    weights = folder / "Data/com.apple.CoreML/weights/weight.bin"
    (tmp_path / "other.bin").write_bytes(weights.read_bytes())
    weights.unlink()
    weights.symlink_to(tmp_path / "other.bin")
    assert "can't open 'weights/weight.bin' in the model's folder" in check(folder).gaps[0].reason


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ('{"rootModelIdentifier": "1"}', "expected a Manifest.json that names the path of its model, found none"),
        (
            '{"rootModelIdentifier": "1", "itemInfoEntries": {"1": {"path": "../../net"}}}',
            "expected the plain relative path of a file beside the model, found '../../net'",
        ),
    ],
)
def test_manifests_without_a_model_are_refused(package, manifest, message):
    folder = package(_WEIGHTS)
    (folder / "Manifest.json").write_text(manifest)
    with pytest.raises(FrontendError, match=re.escape(message)):
        from_coreml(folder)


@pytest.mark.parametrize("inner", ["Data", "Data/com.apple.CoreML"])
def test_a_folder_within_a_package_leads_to_the_package(package, inner):
    folder = package(_WEIGHTS)
    found = f"found a folder within a CoreML package; give the package, {folder}"
    with pytest.raises(FrontendError, match=re.escape(found)):
        load(folder / inner)


def test_a_folder_whose_manifest_is_no_json_is_no_package(package):
    folder = package(_WEIGHTS)
    (folder / "Manifest.json").write_text("[" * 100_000)
    with pytest.raises(FrontendError, match="expected a CoreML model, found a folder"):
        from_coreml(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda block: block.outputs.append("q"), "output 'q': expected an operation that gives it, found none"),
        (lambda block: block.operations.append(block.operations[0]), "expected a new name of its result, found 'y'"),
        (
            lambda block: block.operations[0].inputs["x"].arguments.add(),
            "expected a name or a value as 'x', found none",
        ),
        (
            lambda block: block.operations[0].inputs["x"].arguments.add(name="q"),
            "relu 'y': expected 'q', which nothing gives",
        ),
    ],
)
def test_malformed_programs_are_refused(coreml, change, message):
    operations = [coreml.operation("relu", [coreml.tensor("y", FLOAT, 2)], x="x")]
    model = coreml.program(operations, [coreml.tensor("x", FLOAT, 2)], ["y"])
    change(model.mlProgram.functions["main"].block_specializations["CoreML6"])
    with pytest.raises(FrontendError, match=re.escape(message)):
        from_coreml(model.SerializeToString())


_MANY = 2**31 - 1


@pytest.mark.parametrize(
    ("kind", "arguments", "reason"),
    [
        (
            "one_hot",
            {"one_hot_vector_size": _MANY},
            f"expected to make data of at most 16777216 elements, found [{_MANY}]",
        ),
        ("upsample_bilinear", {"scale_factor_height": np.nan}, "expected factors above 0 and below 65536, found [nan,"),
        (
            "crop",
            {"crop_height": [9], "crop_width": [1, 1]},
            "expected 2 numbers of 0 or more as crop_height, found [9]",
        ),
        ("space_to_batch", {"block_shape": [0, 1]}, "expected 2 numbers of 1 or more as block_shape, found [0, 1]"),
        ("conv", {"weight": [[[1.0]]], "pad_type": "same"}, "expected x of 3 dimensions, found float32[1, 2, 3, 4]"),
        ("range_1d", {"start": 0.0, "end": 3e38, "step": 1e-38}, "expected a range of 1 to 1048576 numbers, found 0.0"),
    ],
)
def test_settings_that_no_result_has_are_gaps(coreml, kind, arguments, reason):
    given = {"indices" if kind == "one_hot" else "x": "x"}
    for name, number in arguments.items():
        whole = isinstance(number, str) or np.asarray(number).dtype.kind == "i"
        given[name] = coreml.value(number, INT if whole else FLOAT)
    dtype = INT if kind == "one_hot" else FLOAT
    operation = coreml.operation(kind, [coreml.tensor("y", dtype)], **given)
    model = coreml.program([operation], [coreml.tensor("x", dtype, 1, 2, 3, 4)], ["y"])
    assert check(model.SerializeToString()).gaps[0].reason.startswith(reason)


def _state(coreml, *shape):
    state = schema.NamedValueType(name="cache")
    state.type.stateType.wrappedType.CopyFrom(coreml.tensor("", FLOAT, *shape).type)
    return state


def test_state_is_an_input_whose_next_value_is_an_output_in_the_same_memory(coreml):
    operations = [
        coreml.operation("read_state", [coreml.tensor("old", FLOAT, 2)], input="cache"),
        coreml.operation("add", [coreml.tensor("sum", FLOAT, 2)], x="old", y="x"),
        coreml.operation("write_state", [], input="cache", data="sum"),
        coreml.operation("read_state", [coreml.tensor("new", FLOAT, 2)], input="cache"),
        coreml.operation("mul", [coreml.tensor("y", FLOAT, 2)], x="new", y="old"),
    ]
    made = coreml.program(operations, [coreml.tensor("x", FLOAT, 2), _state(coreml, 2)], ["y"])
    found = coreml.results(made, {"x": [1, 2], "cache": [10, 20]})
    assert {name: data.tolist() for name, data in found.items()} == {"y": [110, 440], "cache.next": [11, 22]}
    graph, _ = from_coreml(made.SerializeToString())
    assert {after.name: before.name for after, before in graph.aliases.items()} == {"cache.next": "cache"}


def test_state_that_is_not_written_has_no_next_value(coreml):
    read = coreml.operation("read_state", [coreml.tensor("y", FLOAT, 2)], input="cache")
    graph, _ = from_coreml(coreml.program([read], [_state(coreml, 2)], ["y"]).SerializeToString())
    assert ([v.name for v in graph.outputs], graph.aliases) == (["y"], {})


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (
            ("write_state", {"input": "cache", "data": "x"}),
            r"state 'cache' is float32\[2\], but float32\[3\]",
        ),
        (("write_state", {"input": "x", "data": "x"}), r"operation '' \(write_state\): expected a state and its data"),
        (("read_state", {"x": "cache"}), r"operation 'y' \(read_state\): expected a state and its data"),
    ],
)
def test_state_that_does_not_fit_is_refused(coreml, operation, message):
    kind, arguments = operation
    made = [coreml.operation(kind, [coreml.tensor("y", FLOAT, 2)] * (kind == "read_state"), **arguments)]
    made.append(coreml.operation("relu", [coreml.tensor("z", FLOAT, 3)], x="x"))
    with pytest.raises(FrontendError, match=message):
        from_coreml(coreml.program(made, [coreml.tensor("x", FLOAT, 3), _state(coreml, 2)], ["z"]).SerializeToString())


def test_a_part_of_a_tensor_is_exchanged(coreml):
    def update(begin, end, stride, shape):
        numbers = {"begin": begin, "end": end, "stride": stride}
        given = {name: coreml.value(value, INT) for name, value in numbers.items()}
        operation = coreml.operation("slice_update", [coreml.tensor("y", FLOAT, 3, 4)], x="x", update="u", **given)
        return coreml.program([operation], [coreml.tensor("x", FLOAT, 3, 4), coreml.tensor("u", FLOAT, *shape)], ["y"])

    for begin, end, stride, part in (
        ([1, 0], [3, 4], [1, 1], np.s_[1:3]), ([0, 1], [3, 4], [2, 2], np.s_[::2, 1::2]),
        ([0, 0], [3, 4], [1, 1], np.s_[:]), ([2, 0], [0, 4], [-1, 1], np.s_[2:0:-1]),
    ):  # fmt: skip
        expected = _X.copy()
        expected[part] = -1
        shape = expected[part].shape
        found = coreml.results(update(begin, end, stride, shape), {"x": _X, "u": np.full(shape, -1)})["y"]
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("classes", [["cat", "dog"], [3, 5]])
@pytest.mark.parametrize("is_named", [True, False])
def test_labels_of_a_classifier_are_kept(coreml, classes, is_named):
    made = schema.Value()
    made.type.listType.SetInParent()
    for label in classes:
        tensor = made.immediateValue.list.values.add().immediateValue.tensor
        (tensor.strings if isinstance(label, str) else tensor.longInts).values.append(label)
    results = [coreml.tensor("label", TEXT), schema.NamedValueType(name="probabilities")]
    results[1].type.dictionaryType.SetInParent()
    listed = coreml.operation("const", [schema.NamedValueType(name="classes")])
    listed.attributes["val"].CopyFrom(made)
    classify = coreml.operation("classify", results, probabilities="x", classes="classes" if is_named else made)
    program = coreml.program([listed, classify], [coreml.tensor("x", FLOAT, 1, 2)], ["label", "probabilities"])
    graph, _ = from_coreml(program.SerializeToString())
    assert graph.labels == {"probabilities": tuple(map(str, classes))}


def test_the_page_names_each_operation_once():
    page = Path(__file__).parents[4].joinpath("docs/formats/coreml.md").read_text(encoding="utf-8")
    table = page.split("## Operations of ML programs")[1].split("##")[0]
    rows = [row.split(" | ")[0] for row in table.splitlines() if row.startswith("| `")]
    assert sorted(name for row in rows for name in re.findall(r"`(\w+)`", row)) == sorted(
        {**CONVERTERS, **COMPRESSION, **CONTROL_FLOW}
    )
