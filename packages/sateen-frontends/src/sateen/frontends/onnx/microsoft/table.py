"""The table of onnxruntime's operators."""

from sateen.frontends.onnx.microsoft.activations import ACTIVATIONS
from sateen.frontends.onnx.microsoft.attention import ATTENTION
from sateen.frontends.onnx.microsoft.description import Description
from sateen.frontends.onnx.microsoft.normalization import NORMALIZATION, STANDARD
from sateen.frontends.onnx.microsoft.products import PRODUCTS
from sateen.frontends.onnx.microsoft.quantized import QUANTIZED
from sateen.frontends.onnx.microsoft.rotary import ROTARY
from sateen.frontends.onnx.microsoft.shapes import SHAPES
from sateen.frontends.onnx.microsoft.windows import WINDOWS

DOMAIN = "com.microsoft"
DESCRIPTIONS: dict[tuple[str, str], Description] = {
    **{
        (DOMAIN, name): description
        for table in (ACTIVATIONS, ATTENTION, NORMALIZATION, PRODUCTS, QUANTIZED, ROTARY, SHAPES, WINDOWS)
        for name, description in table.items()
    },
    **{("", name): description for name, description in STANDARD.items()},
}
"""The operators by domain and name."""
