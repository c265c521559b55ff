"""Bilinear resizing: the positions in the input that CoreML's sampling modes name."""

from __future__ import annotations

from collections.abc import Sequence

from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim
from sateen.runtime.errors import FrontendError


def bilinear_resize(shape: Sequence[Dim], spatial: tuple[int, int], mode: str) -> ops.Resize:
    """Images [N, C, H, W] resized to [N, C, *spatial].

    Of X elements, N positions are numpy.linspace(start, end, N), limited to X - 1 (NeuralNetwork.proto, SamplingMode):

        STRICT_ALIGN_CORNERS  0 to X - 1
        ALIGN_CORNERS         the same, but the centre (X - 1) / 2 if N is 1
        UPSAMPLE              0 to X - X / N
        ROI_ALIGN             0.5 s to (N - 0.5) s, where s is max(1, X - 1) / N
        HALF_PIXEL            (i + 0.5) X / N - 0.5, also limited to 0
    """
    sizes = (*shape[:2], *spatial)
    match mode:
        case "STRICT_ALIGN_CORNERS":
            return ops.Resize(sizes, "linear", "align_corners")
        case "ALIGN_CORNERS":
            return ops.Resize(sizes, "linear", "tf_crop_and_resize", roi=(0, 0, 0, 0, 1, 1, 1, 1))
        case "UPSAMPLE":
            return ops.Resize(sizes, "linear", "asymmetric")
        case "ROI_ALIGN":
            begins = [0.5 / count for count in spatial]
            roi = (0.0, 0.0, *begins, 1.0, 1.0, *(1 - begin for begin in begins))
            return ops.Resize(sizes, "linear", "tf_crop_and_resize", roi=roi)
        case "HALF_PIXEL":
            return ops.Resize(sizes, "linear", "half_pixel")
    raise FrontendError(f"expected a known sampling mode, found {mode!r}")
