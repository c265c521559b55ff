"""Networks whose layers form a chain."""

from __future__ import annotations

from sateen.graph_ir.ir import Graph
from sateen.graph_ir.ops import Softmax, Tanh
from sateen.graph_ir.workloads.network import Network

_VGG_DEPTHS = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}


def mlp(
    batch: int = 1, features: int = 784, hidden: tuple[int, ...] = (128, 64), classes: int = 10, seed: int = 0
) -> Graph:
    """data [batch, features] to probabilities [batch, classes].

    A perceptron of several layers, as for MNIST.
    """
    n = Network("mlp", seed)
    x = n.input("data", "float32", (batch, features))
    for units in hidden:
        x = n.relu(n.dense(x, units))
    return n.classify(x, classes)


def alexnet(batch: int = 1, image: int = 224, classes: int = 1000, seed: int = 0) -> Graph:
    """data [batch, 3, image, image] to probabilities [batch, classes].

    AlexNet: Krizhevsky, ImageNet Classification with Deep Convolutional Neural Networks (2012), in one column (2014).
    """
    n = Network("alexnet", seed)
    x = n.input("data", "float32", (batch, 3, image, image))
    x = n.max_pool(n.conv_relu(x, 64, 11, stride=4, pad=2), 3, 2)
    x = n.max_pool(n.conv_relu(x, 192, 5, pad=2), 3, 2)
    for channels in (384, 256, 256):
        x = n.conv_relu(x, channels, 3, pad=1)
    x = n.flatten(n.max_pool(x, 3, 2))
    for _ in range(2):
        x = n.relu(n.dense(x, 4096))
    return n.classify(x, classes)


def vgg(layers: int = 16, batch: int = 1, image: int = 224, classes: int = 1000, seed: int = 0) -> Graph:
    """data [batch, 3, image, image] to probabilities [batch, classes], for 11, 13, 16 or 19 layers.

    VGG: Simonyan and Zisserman, Very Deep Convolutional Networks for Large-Scale Image Recognition (2014).
    """
    n = Network(f"vgg{layers}", seed)
    x = n.input("data", "float32", (batch, 3, image, image))
    for depth, channels in zip(_VGG_DEPTHS[layers], (64, 128, 256, 512, 512), strict=True):
        for _ in range(depth):
            x = n.conv_relu(x, channels, 3, pad=1)
        x = n.max_pool(x, 2, 2)
    x = n.flatten(x)
    for _ in range(2):
        x = n.relu(n.dense(x, 4096))
    return n.classify(x, classes)


def nin(batch: int = 1, image: int = 224, classes: int = 1000, seed: int = 0) -> Graph:
    """data [batch, 3, image, image] to probabilities [batch, classes].

    Network in network: Lin, Chen and Yan (2013), as for ImageNet.
    """
    n = Network("nin", seed)
    x = n.input("data", "float32", (batch, 3, image, image))
    for channels, kernel, stride, pad in ((96, 11, 4, 0), (256, 5, 1, 2), (384, 3, 1, 1)):
        x = n.conv_relu(x, channels, kernel, stride, pad)
        x = n.conv_relu(n.conv_relu(x, channels, 1), channels, 1)
        x = n.max_pool(x, 3, 2)
    x = n.conv_relu(n.conv_relu(n.conv_relu(x, 1024, 3, pad=1), 1024, 1), classes, 1)
    return n.end(n.add(Softmax(axis=1), n.global_average(x), name="probabilities"))


def dqn(batch: int = 1, actions: int = 18, seed: int = 0) -> Graph:
    """data [batch, 4, 84, 84], the last four frames, to the values of the actions [batch, actions].

    The deep Q network: Mnih et al., Human-level control through deep reinforcement learning (2015).
    """
    n = Network("dqn", seed)
    x = n.input("data", "float32", (batch, 4, 84, 84))
    for channels, kernel, stride in ((32, 8, 4), (64, 4, 2), (64, 3, 1)):
        x = n.conv_relu(x, channels, kernel, stride)
    return n.end(n.dense(n.relu(n.dense(n.flatten(x), 512)), actions))


def dcgan(batch: int = 1, code: int = 100, width: int = 128, colours: int = 3, seed: int = 0) -> Graph:
    """data [batch, code] to image [batch, colours, 64, 64].

    The generator of DCGAN: Radford, Metz and Chintala (2015).
    """
    n = Network("dcgan", seed)
    x = n.input("data", "float32", (batch, code))
    x = n.reshape(n.dense(x, 8 * width * 16), batch, 8 * width, 4, 4)
    x = n.relu(n.norm(x))
    for channels in (4 * width, 2 * width, width):
        x = n.relu(n.norm(n.conv_transpose(x, channels, 4, 2, 1)))
    return n.end(n.add(Tanh(), n.conv_transpose(x, colours, 4, 2, 1), name="image"))
