"""Readers of trained models: each gives a Graph and the data of its parameters."""

from sateen.frontends.caffe import from_caffe
from sateen.frontends.caffe2 import from_caffe2
from sateen.frontends.core.report import Gap, Report
from sateen.frontends.coreml import from_coreml
from sateen.frontends.darknet import from_darknet
from sateen.frontends.keras import from_keras
from sateen.frontends.mxnet import from_mxnet
from sateen.frontends.onnx import check_onnx, from_onnx
from sateen.frontends.readers import check, load
from sateen.frontends.tensorflow import from_tensorflow
from sateen.frontends.tflite import from_tflite
from sateen.frontends.torch import from_torch
from sateen.frontends.version import __version__

__all__ = [
    "Gap",
    "Report",
    "__version__",
    "check",
    "check_onnx",
    "from_caffe",
    "from_caffe2",
    "from_coreml",
    "from_darknet",
    "from_keras",
    "from_mxnet",
    "from_onnx",
    "from_tensorflow",
    "from_tflite",
    "from_torch",
    "load",
]
