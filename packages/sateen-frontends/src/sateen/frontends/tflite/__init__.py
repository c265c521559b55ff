"""TensorFlow Lite models (.tflite, now LiteRT), float and quantised."""

from sateen.frontends.tflite.reader import TFLITE, from_tflite

__all__ = ["TFLITE", "from_tflite"]
