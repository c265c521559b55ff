"""SavedModels and checkpoints: signatures, variables, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from sateen.frontends import check, from_tensorflow, load
from sateen.frontends.core.source import LIMITS
from sateen.frontends.tensorflow import checkpoint, sorted_table
from sateen.frontends.tensorflow.checkpoint import checkpoint_in
from sateen.frontends.tensorflow.crc32c import crc32c, masked_crc32c
from sateen.frontends.tensorflow.sorted_table import entries_of, unpacked
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

FLOAT = DType.of("float32")
WEIGHT = np.array([[1, -2], [3, 4]], np.float32)
X = np.array([[1, 10]], np.float32)


def info(make, name, *extents):
    return make.pb.TensorInfo(name=name, dtype=1, tensor_shape=make.shape(extents))


def variable_graph(make, *extra):
    """serving_x · w, in a function that reads w by a handle, and what restores w from the checkpoint as `layer/w`."""
    body = [
        make.node("w", "ReadVariableOp", "handle", dtype=FLOAT),
        make.node("product", "MatMul", "x", "w:value:0", T=FLOAT),
        *extra,
    ]
    names = make.pb.AttrValue(tensor=make.pb.TensorProto(dtype=7, string_val=[b"layer/w"]))
    return make.graph(
        make.placeholder("serving_x", -1, 2),
        make.node("w_handle", "VarHandleOp", shared_name="weights", dtype=FLOAT),
        make.node("call", "StatefulPartitionedCall", "serving_x", "w_handle", f=make.pb.NameAttrList(name="f")),
        make.node("file", "Placeholder", dtype=FLOAT),
        make.node("names", "Const", value=names),
        make.node("restore", "RestoreV2", "file", "names", "names"),
        make.node("assign", "AssignVariableOp", "w_handle", "restore"),
        functions=[make.function("f", ["x", "handle"], body, {"y": "product:product:0"})],
    )


@pytest.fixture
def saved(make, tmp_path):
    """saved(graph): the folder of a SavedModel with signatures serving_default and again."""

    def write(graph, variables=None, objects=None) -> Path:
        folder = tmp_path / "saved"
        folder.mkdir(exist_ok=True)
        signature = make.pb.SignatureDef(
            inputs={"x": info(make, "serving_x:0", -1, 2)}, outputs={"scores": info(make, "call:0", -1, 2)}
        )
        meta = make.pb.MetaGraphDef(
            meta_info_def=make.pb.MetaGraphDef.MetaInfoDef(tags=["serve"]),
            graph_def=graph,
            signature_def={"serving_default": signature, "again": signature},
            object_graph_def=objects,
        )
        model = make.pb.SavedModel(saved_model_schema_version=1, meta_graphs=[meta])
        (folder / "saved_model.pb").write_bytes(model.SerializeToString())
        make.checkpoint(folder / "variables" / "variables", {"layer/w": WEIGHT} if variables is None else variables)
        return folder

    return write


@pytest.mark.parametrize("name", ["", "saved_model.pb"])
def test_a_saved_model_has_the_names_of_its_signature(make, saved, run, name):
    path = saved(variable_graph(make)) / name
    network, parameters = load(path)
    assert [str(value.type) for value in network.inputs] == ["float32[?x.0, 2]"]
    assert list(parameters) == ["w_handle"]
    np.testing.assert_array_equal(parameters["w_handle"], WEIGHT)
    np.testing.assert_array_equal(run(path, {"x": X}, shapes={"x": (1, 2)})["scores"], X @ WEIGHT)


def test_another_signature_can_be_asked_for(make, saved):
    folder = saved(variable_graph(make))
    network, _ = from_tensorflow(folder, signature="again")
    assert [value.name for value in network.outputs] == ["scores"]
    with pytest.raises(FrontendError, match="expected signature 'agian'; its signatures are again, serving_default"):
        from_tensorflow(folder, signature="agian")


def test_variables_are_found_by_the_objects_that_hold_them(make, saved):
    """Two variables have one name, and the graph restores copies of them, as Keras 3 writes."""
    pb = make.pb
    body = [
        make.node("read", "ReadVariableOp", "handle", dtype=FLOAT),
        make.node("product", "MatMul", "x", "read:value:0", T=FLOAT),
    ]
    graph = make.graph(
        make.placeholder("serving_x", -1, 2),
        make.node("w", "VarHandleOp", shared_name="w", dtype=FLOAT),
        make.node("w_1", "VarHandleOp", shared_name="w", dtype=FLOAT),
        make.node("call", "StatefulPartitionedCall", "serving_x", "w_1:0", "^w", f=pb.NameAttrList(name="f")),
        functions=[make.function("f", ["x", "handle"], body, {"y": "product:product:0"})],
    )
    child = pb.SavedObject.ObjectReference
    objects = pb.SavedObjectGraph(
        nodes=[
            pb.SavedObject(children=[child(node_id=1, local_name="_layers"), child(node_id=9, local_name="lost")]),
            pb.SavedObject(children=[child(node_id=2, local_name="a/b."), child(node_id=3, local_name="w")]),
            pb.SavedObject(),
            pb.SavedObject(),
        ],
        concrete_functions={"f": pb.SavedConcreteFunction(bound_inputs=[2])},
    )
    variables = {"_layers/a.Sb../": WEIGHT, "_layers/w/": -WEIGHT, "lost/w/": -WEIGHT, "w/": -WEIGHT}
    stored = {f"{path}.ATTRIBUTES/VARIABLE_VALUE": data for path, data in variables.items()}
    _, parameters = load(saved(graph, stored, objects))
    assert list(parameters) == ["w_1"]
    np.testing.assert_array_equal(parameters["w_1"], WEIGHT)


def test_a_variable_that_the_network_writes_is_refused(make, saved):
    count = make.node("count", "AssignVariableOp", "handle", "product:product:0")
    with pytest.raises(FrontendError, match="the network writes this variable while it runs"):
        load(saved(variable_graph(make, count)))


def test_what_writes_behind_the_outputs_does_not_count(make):
    """A graph of training writes its variables in the optimizer, which a network that ends before does not run."""
    graph = make.graph(
        make.placeholder("x", 1, 2),
        make.node("w", "VarHandleOp", shared_name="w", dtype=FLOAT),
        make.node("read", "ReadVariableOp", "w", dtype=FLOAT),
        make.node("probs", "MatMul", "x", "read", T=FLOAT),
        make.node("train", "AssignVariableOp", "w", "probs", dtype=FLOAT),
    ).SerializeToString()
    with pytest.raises(FrontendError, match="its data is in a checkpoint, and none was found"):
        load(graph, outputs=["probs"])


def test_a_variable_that_the_checkpoint_lacks_is_a_gap(make, saved):
    with pytest.raises(FrontendError, match="checkpoint 'variables/variables' does not have it"):
        load(saved(variable_graph(make), {"other": WEIGHT}))


def test_a_saved_model_without_its_variables_is_refused(make, saved):
    folder = saved(variable_graph(make))
    with pytest.raises(FrontendError, match="its data is in a checkpoint, and none was found"):
        load((folder / "saved_model.pb").read_bytes())


def test_missing_variables_are_the_only_gaps(make):
    """What reads them is checked with the shapes that they have."""
    noted = make.pb.AttrValue(list=make.pb.AttrValue.ListValue(shape=[make.shape(())]))
    graph = make.graph(
        make.placeholder("x", 1, 2),
        make.node("w", "VarHandleOp", shared_name="w", dtype=FLOAT, shape=(2, 3), _output_shapes=noted),
        make.node("read", "ReadVariableOp", "w", dtype=FLOAT),
        make.node("probs", "MatMul", "x", "read", T=FLOAT),
    )
    report = check(graph.SerializeToString())
    assert ([gap.node for gap in report.gaps], report.unchecked) == (["w"], 0)


def test_variables_are_read_in_the_folder_of_the_model_alone(make, saved, tmp_path):
    folder = saved(variable_graph(make))
    data = folder / "variables" / "variables.data-00000-of-00001"
    data.rename(tmp_path / "elsewhere")
    data.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FrontendError, match="can't open 'variables/variables"):
        load(folder)


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("variables.data-00000-of-00001", lambda data: b"\1" + data[1:], "its checksum differs"),
        ("variables.data-00000-of-00001", lambda data: data[:-1], "lies at 0 to 16 of"),
        ("variables.index", lambda data: data[:9] + b"\1" + data[10:], "the checksum of a block at 0 differs"),
        ("variables.index", lambda data: data[:-1], "expected a table of a checkpoint, found other data"),
    ],
)
def test_damaged_checkpoints_are_told(make, saved, name, damage, message):
    folder = saved(variable_graph(make))
    path = folder / "variables" / name
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(FrontendError) as refusal:
        load(folder)
    assert message in str(refusal.value)


@pytest.mark.parametrize("inner", ["x", "y", "z"])
def test_signatures_may_name_tensors_as_others_are_called(make, tmp_path, run, inner):
    """x and y are the names of the signature; the graph computes -relu(x)."""
    first, second = {"x": ("y", "z"), "y": ("given", "y"), "z": ("y", "x")}[inner]
    graph = make.graph(
        make.placeholder(first, 1, 2),
        make.node("relu", "Relu", first, T=FLOAT),
        make.node(second, "Neg", "relu", T=FLOAT),
    )
    signature = make.pb.SignatureDef(
        inputs={"x": info(make, f"{first}:0", 1, 2)}, outputs={"y": info(make, f"{second}:0", 1, 2)}
    )
    meta = make.pb.MetaGraphDef(graph_def=graph, signature_def={"serving_default": signature})
    model = make.pb.SavedModel(saved_model_schema_version=1, meta_graphs=[meta])
    (tmp_path / "saved_model.pb").write_bytes(model.SerializeToString())
    assert run(tmp_path, {"x": np.array([[-1, 2]], np.float32)})["y"].tolist() == [[0, -2]]


@pytest.fixture
def old(make, tmp_path):
    """The files of a graph of TensorFlow 1 with a checkpoint: net.meta, net.index and its data."""
    graph = make.graph(
        make.placeholder("x", 1, 2),
        make.node("w", "VariableV2", dtype=FLOAT, shape=(2, 2)),
        make.node("w/read", "Identity", "w", T=FLOAT),
        make.node("y", "MatMul", "x", "w/read", T=FLOAT),
    )
    meta = make.pb.MetaGraphDef(meta_info_def=make.pb.MetaGraphDef.MetaInfoDef(tags=["train"]), graph_def=graph)
    (tmp_path / "net.meta").write_bytes(meta.SerializeToString())
    make.checkpoint(tmp_path / "net", {"w": WEIGHT})
    (tmp_path / "graph.pb").write_bytes(graph.SerializeToString())
    return tmp_path


def test_a_graph_and_its_checkpoint_are_found_by_either(old, run):
    for given in ("net.meta", "net.index"):
        np.testing.assert_array_equal(run(old / given, {"x": X})["y"], X @ WEIGHT)


def test_a_graph_takes_the_checkpoint_that_is_given(old):
    _, parameters = load(old / "graph.pb", old / "net.index")
    np.testing.assert_array_equal(parameters["w"], WEIGHT)


def test_a_missing_checkpoint_is_told(old):
    (old / "net.index").unlink()
    with pytest.raises(FrontendError, match="expected the index of a TensorFlow checkpoint beside it"):
        load(old / "net.meta")


def test_ragged_tensors_are_refused(make, saved):
    folder = saved(variable_graph(make, make.node("ragged", "RaggedTensorToSparse", "product:product:0")))
    path = folder / "saved_model.pb"
    model = make.pb.SavedModel.FromString(path.read_bytes())
    function = model.meta_graphs[0].graph_def.library.function[0]
    function.ret["y"] = "ragged:sparse_indices:0"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(FrontendError, match=r"its rows differ in length, .*\n.*\n.*to_tensor\(shape="):
        load(folder)
    model.meta_graphs[0].signature_def["serving_default"].outputs["scores"].name = ""
    path.write_bytes(model.SerializeToString())
    with pytest.raises(FrontendError, match="expected a signature of dense tensors, found sparse or ragged ones; save"):
        load(folder)


def test_files_of_a_checkpoint_are_told_from_models(old):
    (old / "checkpoint").write_text('model_checkpoint_path: "net"\n')
    for path, found in {
        old / "checkpoint": "found the list of checkpoints of TensorFlow; a network is in a .meta",
        old / "net.data-00000-of-00001": "found the data of a TensorFlow checkpoint; a network is in a .meta",
        old: "found a folder with a checkpoint of TensorFlow; a network is in a .meta",
    }.items():
        with pytest.raises(FrontendError) as refusal:
            load(path)
        assert found in str(refusal.value)


def test_the_variables_of_a_saved_model_are_no_model(make, saved):
    folder = saved(variable_graph(make)) / "variables"
    with pytest.raises(FrontendError, match="found the variables of a TensorFlow SavedModel; give the folder around"):
        load(folder)
    for name in ("variables.index", "variables.data-00000-of-00001"):
        with pytest.raises(
            FrontendError, match=r"give the folder of the SavedModel, .*saved$|SavedModel; give the fol"
        ):
            load(folder / name)


def test_a_checkpoint_without_a_network_is_told(old):
    for name in ("net.meta", "graph.pb"):
        (old / name).unlink()
    with pytest.raises(FrontendError) as refusal:
        load(old / "net.index")
    assert "which has variables and no network, beside a TensorFlow graph" in str(refusal.value)
    assert "tf.saved_model.save(model, folder)" in str(refusal.value)


def test_tables_are_read_in_order(make):
    data = make.table([(b"a", b"1"), (b"b", b"22")])
    assert list(entries_of(data, "it")) == [(b"a", b"1"), (b"b", b"22")]
    with pytest.raises(FrontendError, match="expected keys in order"):
        list(entries_of(make.table([(b"b", b""), (b"a", b"")]), "it"))


def test_blocks_may_be_packed_by_snappy():
    assert unpacked(b"\x0a\x0cabcd\x01\x04\x04ef") == b"abcdabcdef"
    assert unpacked(b"\x0b\x04ab\x15\x02") == b"ab" * 5 + b"a"  # a copy that reads what it wrote


def test_the_checksum_of_a_region_is_computed_once(make, tmp_path, monkeypatch):
    make.checkpoint(tmp_path / "net", {"a": np.ones(3, np.float32)})
    found = checkpoint_in(tmp_path, "net", LIMITS)
    sums = []
    monkeypatch.setattr(checkpoint, "masked_crc32c", lambda data: sums.append(len(data)) or masked_crc32c(data))
    one, other = (found.read("a", 100) for _ in range(2))
    assert np.shares_memory(one, other)
    assert sums == [12]


def test_a_block_is_named_once(make):
    with pytest.raises(FrontendError, match="it: expected blocks in order, found one at 0 before"):
        list(entries_of(make.table([(b"a", b"1")], times=2), "it"))


def test_blocks_and_keys_are_bounded_before_they_are_unpacked(make, monkeypatch):
    monkeypatch.setattr(sorted_table, "unpacked", None)
    message = "it: expected at most 268435456 bytes of blocks and keys, found more"
    with pytest.raises(FrontendError, match=message):
        list(entries_of(make.table([(b"a", b"")], packed=make.varint((1 << 28) + 1)), "it"))
    # keys of a megabyte, each stored as the one before with a byte behind it
    first = make.varint(0) + make.varint(1 << 20) + make.varint(0) + bytes(1 << 20)
    others = b"".join(make.varint((1 << 20) + i) + make.varint(1) + make.varint(0) + b"a" for i in range(300))
    block = first + others + bytes(4) + (1).to_bytes(4, "little")
    monkeypatch.setattr(sorted_table, "unpacked", lambda _: block)
    with pytest.raises(FrontendError, match=message):
        assert max(len(key) for key, _ in entries_of(make.table([(b"a", b"")], packed=b"\1\0a"), "it")) < 1 << 20


def test_checksums_are_those_of_the_standard():
    data = bytes(range(256)) * 40
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(data) == crc32c(memoryview(data))
    assert crc32c(b"\0" * 32) == 0x8A9136AA  # RFC 3720, B.4
    state = 0xFFFFFFFF
    for byte in data:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ 0x82F63B78 * (state & 1)
    assert crc32c(data) == state ^ 0xFFFFFFFF
