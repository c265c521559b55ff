"""Reads ONNX models, of every operator set from 1 to the newest that the installed onnx package describes."""

from sateen.frontends.onnx.reader import ONNX, check_onnx, from_onnx

__all__ = ["ONNX", "check_onnx", "from_onnx"]
