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

for name, size in {
    "alexnet": 224,
    "densenet121": 224,
    "inceptionv3": 299,
    "mobilenet0_25": 64,
    "mobilenetv2_0_25": 64,
    "resnet18_v1": 64,
    "resnet18_v2": 64,
    "resnet50_v1": 64,
    "squeezenet1_0": 224,
    "squeezenet1_1": 224,
    "vgg11": 64,
    "vgg11_bn": 64,
}.items():
    model = name.replace("0_25", "0.25").replace("squeezenet1_", "squeezenet1.")
    NETWORKS[f"zoo_{name}"] = exported(lambda model=model: vision.get_model(model, classes=50), (1, 3, size, size))
