"""Classic networks, built by hand: for tests, measurements and as examples of the builder."""

from sateen.graph_ir.workloads.alexnet import alexnet
from sateen.graph_ir.workloads.channels_last import channels_last
from sateen.graph_ir.workloads.dcgan import dcgan
from sateen.graph_ir.workloads.densenet import densenet
from sateen.graph_ir.workloads.dqn import dqn
from sateen.graph_ir.workloads.googlenet import googlenet
from sateen.graph_ir.workloads.inception import inception_v3
from sateen.graph_ir.workloads.lstm import lstm
from sateen.graph_ir.workloads.mlp import mlp
from sateen.graph_ir.workloads.mobilenet import mobilenet, mobilenet_v2
from sateen.graph_ir.workloads.nin import nin
from sateen.graph_ir.workloads.resnet import resnet
from sateen.graph_ir.workloads.squeezenet import squeezenet
from sateen.graph_ir.workloads.transformer import transformer
from sateen.graph_ir.workloads.vgg import vgg

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
