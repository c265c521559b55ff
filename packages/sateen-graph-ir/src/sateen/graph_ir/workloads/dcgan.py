"""The generator of DCGAN: Radford, Metz and Chintala (2015)."""

from __future__ import annotations

from sateen.graph_ir.ir import Graph
from sateen.graph_ir.ops import Tanh
from sateen.graph_ir.workloads.network import Network


def dcgan(batch: int = 1, code: int = 100, width: int = 128, colours: int = 3, seed: int = 0) -> Graph:
    """data [batch, code] to image [batch, colours, 64, 64]."""
    n = Network("dcgan", seed)
    x = n.input("data", "float32", (batch, code))
    x = n.reshape(n.dense(x, 8 * width * 16), batch, 8 * width, 4, 4)
    x = n.relu(n.norm(x))
    for channels in (4 * width, 2 * width, width):
        x = n.relu(n.norm(n.conv_transpose(x, channels, 4, 2, 1)))
    return n.end(n.add(Tanh(), n.conv_transpose(x, colours, 4, 2, 1), name="image"))
