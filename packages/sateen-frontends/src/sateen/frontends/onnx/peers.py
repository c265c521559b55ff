"""The engines that run ONNX models, by name."""

from __future__ import annotations

from sateen.frontends.core.peers import Peer
from sateen.frontends.core.reader import Deferred

FILE = "network.onnx"
"""The name of a file for peers, which recognise the format by its suffix."""
_ENGINES = "sateen.frontends.onnx.engines"
_WRITE = Deferred(_ENGINES, "write_for_peers")

ONNXRUNTIME = Peer(("onnxruntime",), "pip install onnxruntime", FILE, _WRITE, Deferred(_ENGINES, "open_onnxruntime"))
OPENVINO = Peer(("openvino",), "pip install openvino", FILE, _WRITE, Deferred(_ENGINES, "open_openvino"))
OPENVINO_DEFAULT = Peer(
    ("openvino",), "pip install openvino", FILE, _WRITE, Deferred(_ENGINES, "open_openvino_default")
)
# pnnx names torch as a dependency, some GB on Linux; its converter, which is all we use, is a program without it
NCNN = Peer(
    ("ncnn", "pnnx"), "pip install ncnn && pip install --no-deps pnnx", FILE, _WRITE, Deferred(_ENGINES, "open_ncnn")
)
PEERS = {"onnxruntime": ONNXRUNTIME, "openvino": OPENVINO, "ncnn": NCNN, "openvino-default": OPENVINO_DEFAULT}
