"""Whole networks: cells of the symbol API, blocks of Gluon, and its model zoo with seeded weights."""

import tempfile
from pathlib import Path

import mxnet as mx
import numpy as np
from mxnet.gluon import nn, rnn
from mxnet.gluon.model_zoo import vision

NETWORKS = {}


def exported(block, shape):
    """What gives the symbol, input and weights of a block with random weights."""

    def build(random):
        net = block()
        net.initialize(mx.init.Xavier())
        net.hybridize()
        data = random.normal(0, 1, shape).astype(np.float32)
        net(mx.nd.array(data))
        for parameter in net.collect_params().values():  # running statistics that are not 0 and 1
            if parameter.name.endswith(("running_mean", "running_var")):
                parameter.set_data(mx.nd.array(random.uniform(0.5, 1.5, parameter.shape)))
        net(mx.nd.array(data))
        with tempfile.TemporaryDirectory() as folder:
            net.export(str(Path(folder) / "net"))
            symbol, arguments, states = mx.model.load_checkpoint(str(Path(folder) / "net"), 0)
        return symbol, {"data": data}, (arguments, states)

    return build


def stacked(*blocks):
    def block():
        net = nn.HybridSequential()
        net.add(*(make() for make in blocks))
        return net

    return block


def unrolled(cell):
    """A cell of the symbol API over five steps, whose first states are zeros of unknown batch."""

    def build(random):
        outputs, _ = cell().unroll(5, mx.sym.Variable("data"), layout="NTC", merge_outputs=True)
        data = random.normal(size=(3, 5, 4)).astype(np.float32)
        shapes, _, _ = outputs.infer_shape(data=data.shape)
        names = outputs.list_arguments()
        arguments = {
            n: mx.nd.array(random.normal(0, 0.5, s)) for n, s in zip(names, shapes, strict=True) if n != "data"
        }
        return outputs, {"data": data}, (arguments, {})

    return build


for name, cell in {
    "lstm": lambda: mx.rnn.LSTMCell(6),
    "gru": lambda: mx.rnn.GRUCell(6),
    "rnn": lambda: mx.rnn.RNNCell(6),
    "lstm_fused": lambda: mx.rnn.FusedRNNCell(6, num_layers=2, mode="lstm"),
    "bidirectional": lambda: mx.rnn.BidirectionalCell(mx.rnn.LSTMCell(6, prefix="l_"), mx.rnn.LSTMCell(6, prefix="r_")),
}.items():
    NETWORKS[f"cell_{name}"] = unrolled(cell)

for name, layer in {"lstm": rnn.LSTM, "gru": rnn.GRU, "rnn": rnn.RNN}.items():
    NETWORKS[f"gluon_{name}"] = exported(stacked(lambda layer=layer: layer(6, num_layers=2, layout="NTC")), (3, 5, 4))
    NETWORKS[f"gluon_{name}_both"] = exported(stacked(lambda layer=layer: layer(6, bidirectional=True)), (5, 3, 4))

for name, (blocks, shape) in {
    "prelu": ([lambda: nn.Conv2D(4, 3), nn.PReLU], (1, 3, 8, 8)),
    "swish": ([lambda: nn.Conv2D(4, 3), nn.Swish, nn.GELU, nn.SELU], (1, 3, 8, 8)),
    "reflection_pad": ([lambda: nn.ReflectionPad2D(2), lambda: nn.Conv2D(4, 3)], (1, 3, 8, 8)),
    "transposed": ([lambda: nn.Conv2DTranspose(4, 3, strides=2, output_padding=1)], (1, 3, 8, 8)),
    "pools": (
        [lambda: nn.MaxPool2D(3, 2, ceil_mode=True), lambda: nn.AvgPool2D(2, count_include_pad=False)],
        (1, 3, 11, 9),
    ),
    "norms": ([lambda: nn.Conv2D(4, 3), nn.InstanceNorm, lambda: nn.GroupNorm(2), nn.LayerNorm], (1, 3, 8, 8)),
    "dense": ([nn.Flatten, lambda: nn.Dense(9, "relu"), lambda: nn.Dropout(0.5), nn.BatchNorm], (2, 3, 4, 4)),
    "conv1d": ([lambda: nn.Conv1D(4, 3), nn.BatchNorm, nn.GlobalAvgPool1D], (2, 3, 9)),
    "conv3d": ([lambda: nn.Conv3D(4, 3), nn.GlobalMaxPool3D], (1, 3, 5, 5, 5)),
    "embedding": ([lambda: nn.Embedding(20, 5), lambda: nn.Dense(3, flatten=False)], (2, 7)),
}.items():
    NETWORKS[f"gluon_{name}"] = exported(stacked(*blocks), shape)


class Encoder(nn.HybridBlock):
    """A layer as BERT has it: embedded words, self-attention over the valid ones, and a network at each place."""

    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.words, self.places = nn.Embedding(30, 16), nn.Embedding(8, 16)
            self.queries = nn.Dense(48, flatten=False)
            self.joined, self.norm = nn.Dense(16, flatten=False), nn.LayerNorm()
            self.inner, self.gelu, self.outer = nn.Dense(32, flatten=False), nn.GELU(), nn.Dense(16, flatten=False)
            self.last = nn.LayerNorm()

    def hybrid_forward(self, F, data):
        data = F.broadcast_add(self.words(data), self.places(F.contrib.arange_like(data, axis=1)))
        data = F.swapaxes(data, 0, 1)
        three = self.queries(data)
        scores = F.softmax(F.contrib.interleaved_matmul_selfatt_qk(three, heads=4))
        attended = F.contrib.interleaved_matmul_selfatt_valatt(three, scores, heads=4)
        data = self.norm(data + self.joined(attended))
        return F.swapaxes(self.last(data + self.outer(self.gelu(self.inner(data)))), 0, 1)


def encoder(random):
    symbol, inputs, weights = exported(Encoder, (2, 6))(random)
    return symbol, {"data": np.abs(inputs["data"] * 10).astype(np.float32)}, weights


def single_shot(random):
    """A detector of two scales: anchors, classes and boxes of each, decoded and suppressed."""
    S = mx.sym
    body = S.Variable("data")
    anchors, classes, places = [], [], []
    for filters in (8, 12):
        body = S.Activation(
            S.Convolution(body, kernel=(3, 3), stride=(2, 2), pad=(1, 1), num_filter=filters), act_type="relu"
        )
        anchors.append(S.contrib.MultiBoxPrior(body, sizes=(0.4, 0.3), ratios=(1, 2)))
        for found, channels in ((classes, 3 * 4), (places, 3 * 4)):
            head = S.Convolution(body, kernel=(3, 3), pad=(1, 1), num_filter=channels)
            found.append(S.Flatten(S.transpose(head, axes=(0, 2, 3, 1))))
    scores = S.Reshape(S.Concat(*classes, dim=1), shape=(0, -1, 4))
    scores = S.softmax(S.transpose(scores, axes=(0, 2, 1)), axis=1)
    found = S.contrib.MultiBoxDetection(
        scores, S.Concat(*places, dim=1), S.Concat(*anchors, dim=1), nms_threshold=0.4, threshold=0.3
    )
    return found, {"data": random.normal(size=(1, 3, 16, 16)).astype(np.float32)}


def pyramid(random):
    """A detector that decodes its boxes itself, from a map and one twice as coarse, as YOLO does."""
    S = mx.sym
    fine = S.LeakyReLU(S.Convolution(S.Variable("data"), kernel=(3, 3), pad=(1, 1), num_filter=8), slope=0.1)
    coarse = S.Convolution(fine, kernel=(3, 3), stride=(2, 2), pad=(1, 1), num_filter=8)
    joined = S.Concat(
        fine, S.slice_like(S.UpSampling(coarse, scale=2, sample_type="nearest"), fine, axes=(2, 3)), dim=1
    )
    head = S.Convolution(joined, kernel=(1, 1), num_filter=7)
    rows = S.transpose(S.Reshape(head, shape=(0, 0, -1)), axes=(0, 2, 1))
    grid = S.reshape(S.arange(0, 49), shape=(1, 49, 1))
    x, y = grid % 7, S.floor(grid / 7)
    middle = S.broadcast_add(S.sigmoid(S.slice_axis(rows, axis=-1, begin=0, end=2)), S.Concat(x, y, dim=2)) / 7
    extent = S.exp(S.slice_axis(rows, axis=-1, begin=2, end=4)) * 0.1
    boxes = S.Concat(middle - extent / 2, middle + extent / 2, dim=-1)
    score = S.sigmoid(S.slice_axis(rows, axis=-1, begin=4, end=5))
    kind = S.argmax(S.slice_axis(rows, axis=-1, begin=5, end=None), axis=-1, keepdims=True)
    records = S.Concat(kind, score, boxes, dim=-1)
    kept = S.contrib.box_nms(records, overlap_thresh=0.45, valid_thresh=0.2, topk=20, id_index=0)
    return S.slice_axis(kept, axis=1, begin=0, end=10), {"data": random.normal(size=(2, 3, 7, 7)).astype(np.float32)}


NETWORKS.update(encoder=encoder, single_shot=single_shot, pyramid=pyramid)

for name, size in {
    "alexnet": 224,
    "densenet121": 224,
    "inceptionv3": 299,
    "mobilenet0_25": 64,
    "mobilenet1_0": 96,
    "mobilenetv2_0_25": 64,
    "resnet18_v1": 64,
    "resnet18_v2": 64,
    "resnet34_v1": 64,
    "resnet50_v1": 64,
    "resnet50_v2": 64,
    "squeezenet1_0": 224,
    "squeezenet1_1": 224,
    "vgg11": 64,
    "vgg11_bn": 64,
}.items():
    model = name.replace("0_25", "0.25").replace("1_0", "1.0").replace("1_1", "1.1")
    NETWORKS[f"zoo_{name}"] = exported(lambda model=model: vision.get_model(model, classes=50), (1, 3, size, size))
