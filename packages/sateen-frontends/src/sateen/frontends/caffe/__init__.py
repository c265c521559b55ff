"""Reads Caffe models: a network as text (.prototxt) and its weights (.caffemodel)."""

from sateen.frontends.caffe.reader import CAFFE, from_caffe

__all__ = ["CAFFE", "from_caffe"]
