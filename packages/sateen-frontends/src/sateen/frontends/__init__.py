"""Readers of trained models: each gives a Graph and the data of its parameters."""

from sateen.frontends.onnx import Gap, Report, check_onnx, from_onnx

__all__ = ["Gap", "Report", "check_onnx", "from_onnx"]
