"""Reads Caffe2 models: a net of operators (predict net) and the net that fills its weights (init net)."""

from sateen.frontends.caffe2.reader import CAFFE2, from_caffe2

__all__ = ["CAFFE2", "from_caffe2"]
