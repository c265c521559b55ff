"""Readers of trained models: each gives a Graph and the data of its parameters."""

from sateen.frontends.onnx import Gap, Report, check_onnx, from_onnx
from sateen.frontends.version import __version__

__all__ = ["Gap", "Report", "__version__", "check_onnx", "from_onnx"]
