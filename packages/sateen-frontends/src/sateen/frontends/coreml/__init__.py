"""Reads CoreML models: neural networks of .mlmodel files, pipelines of them, and ML programs of .mlpackage folders."""

from sateen.frontends.coreml.reader import COREML, from_coreml

__all__ = ["COREML", "from_coreml"]
