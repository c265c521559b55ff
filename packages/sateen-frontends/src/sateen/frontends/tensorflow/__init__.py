"""Reads TensorFlow's frozen graphs, graphs with checkpoints, and SavedModels of TensorFlow 1 and 2, without
TensorFlow."""

from sateen.frontends.tensorflow.reader import TENSORFLOW, from_tensorflow

__all__ = ["TENSORFLOW", "from_tensorflow"]
