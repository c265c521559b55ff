"""Classic networks, built by hand: for tests, measurements and as examples of the builder."""

from weft.graph_ir.workloads.alexnet import alexnet
from weft.graph_ir.workloads.dcgan import dcgan
from weft.graph_ir.workloads.densenet import densenet
from weft.graph_ir.workloads.dqn import dqn
from weft.graph_ir.workloads.googlenet import googlenet
from weft.graph_ir.workloads.inception import inception_v3
from weft.graph_ir.workloads.lstm import lstm
from weft.graph_ir.workloads.mlp import mlp
from weft.graph_ir.workloads.mobilenet import mobilenet, mobilenet_v2
from weft.graph_ir.workloads.nin import nin
from weft.graph_ir.workloads.resnet import resnet
from weft.graph_ir.workloads.squeezenet import squeezenet
from weft.graph_ir.workloads.transformer import transformer
from weft.graph_ir.workloads.vgg import vgg

__all__ = [
    "alexnet",
    "dcgan",
    "densenet",
    "dqn",
    "googlenet",
    "inception_v3",
    "lstm",
    "mlp",
    "mobilenet",
    "mobilenet_v2",
    "nin",
    "resnet",
    "squeezenet",
    "transformer",
    "vgg",
]
