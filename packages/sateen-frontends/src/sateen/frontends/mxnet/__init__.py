"""Reads MXNet models: a symbol, and the arrays of its parameters."""

from sateen.frontends.mxnet.reader import MXNET, from_mxnet

__all__ = ["MXNET", "from_mxnet"]
