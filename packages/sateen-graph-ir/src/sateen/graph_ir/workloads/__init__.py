"""Classic networks, built by hand: for tests, measurements and as examples of the builder."""

from sateen.graph_ir.workloads.branching import densenet, googlenet, inception_v3, squeezenet
from sateen.graph_ir.workloads.channel_order import channels_last
from sateen.graph_ir.workloads.plain import alexnet, dcgan, dqn, mlp, nin, vgg
from sateen.graph_ir.workloads.residual import mobilenet, mobilenet_v2, resnet
from sateen.graph_ir.workloads.sequential import lstm, transformer

__all__ = [
    "alexnet",
    "channels_last",
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
