"""Reads darknet models: a network of sections (.cfg) and its weights (.weights)."""

from sateen.frontends.darknet.reader import DARKNET, from_darknet

__all__ = ["DARKNET", "from_darknet"]
