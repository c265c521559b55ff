"""Reads ONNX models, of every operator set from 1 to the newest that the installed onnx package describes."""

from sateen.frontends.onnx.importer import check_onnx, from_onnx
from sateen.frontends.onnx.report import Gap, Report

__all__ = ["Gap", "Report", "check_onnx", "from_onnx"]
