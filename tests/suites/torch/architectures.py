"""Writes programs of whole architectures of torchvision and timm with seeded weights, and what torch computes.

    python architectures.py FOLDER [NAME …]

This needs the packages of `architectures.txt`, which the suite of operators does not. Outputs are written in float32,
which a network is compared with, and as torch computes them in float64, from which both are as far as they round.
"""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import timm
import torch
import torchvision
from cases import write
from torch.utils import _pytree as pytree

TORCHVISION = {
    "alexnet": 96, "convnext_tiny": 64, "deeplabv3_mobilenet_v3_large": 96, "densenet121": 64, "efficientnet_b0": 64,
    "efficientnet_v2_s": 64, "fcn_resnet50": 64, "googlenet": 96, "inception_v3": 96, "maxvit_t": 224, "mnasnet0_5": 64,
    "mobilenet_v2": 64, "mobilenet_v3_small": 64, "regnet_y_400mf": 64, "resnet18": 64, "resnet50": 64,
    "resnext50_32x4d": 64, "shufflenet_v2_x0_5": 64, "squeezenet1_1": 64, "swin_t": 64, "vgg11_bn": 64, "vit_b_32": 224,
}  # fmt: skip
"""The side of the picture of each."""
TIMM = {
    "beit_base_patch16_224": 224, "cait_xxs24_224": 224, "convmixer_1024_20_ks9_p14": 224, "crossvit_tiny_240": 240,
    "darknet53": 64, "deit_tiny_patch16_224": 224, "edgenext_xx_small": 64, "efficientformer_l1": 224,
    "ghostnet_050": 64,
    "gmixer_24_224": 224, "hrnet_w18_small": 64, "levit_128s": 224, "mixer_s32_224": 224, "mobilevit_xxs": 64,
    "nfnet_f0": 64, "pit_ti_224": 224, "poolformer_s12": 64, "repvgg_a0": 64, "resmlp_12_224": 224, "tinynet_e": 64,
    "xcit_nano_12_p16_224": 224,
}  # fmt: skip
PICTURES = 8
"""How many seeded pictures batch normalisation takes its statistics from."""


def main() -> None:
    warnings.simplefilter("ignore")
    root, wanted = Path(sys.argv[1]), set(sys.argv[2:])
    makers: dict[str, tuple[Callable[[], torch.nn.Module], int]] = {
        **{f"torchvision.{name}": (lambda n=name: _torchvision(n), side) for name, side in TORCHVISION.items()},
        **{f"timm.{name}": (lambda n=name: timm.create_model(n), side) for name, side in TIMM.items()},
    }
    for name, (make, side) in makers.items():
        if wanted and name not in wanted:
            continue
        torch.manual_seed(0)
        module = make().eval()
        pictures = seeded_pictures(side)
        with torch.no_grad():
            draw(module)
            calibrate(module, pictures)
        try:
            write(root / name, module, (pictures[:1],), core=False)
        except Exception as error:  # noqa: BLE001  # what torch can't export is no case
            print(f"not exported: {name}: {str(error).splitlines()[0]}")  # noqa: T201
            continue
        _add_exact(root / name, module, pictures[:1])


def seeded_pictures(side: int) -> torch.Tensor:
    """Pictures with colours, large shapes and some noise.

    Pictures of noise alone look the same after a few layers, so that normalisation would divide by next to nothing.
    """
    shapes = torch.nn.functional.interpolate(torch.randn(PICTURES, 3, 5, 5), (side, side), mode="bicubic")
    return shapes + torch.randn(PICTURES, 3, 1, 1) + 0.2 * torch.randn(PICTURES, 3, side, side)


def _torchvision(name: str) -> torch.nn.Module:
    options = {"weights_backbone": None} if name.startswith(("deeplab", "fcn")) else {}
    extra = {"init_weights": True} if name in {"googlenet", "inception_v3"} else {}
    found: torch.nn.Module = torchvision.models.get_model(name, weights=None, **options, **extra)
    return found


def draw(module: torch.nn.Module) -> None:
    """Give values to parameters that begin as a constant: classifiers and gains of residual branches that are zero,
    scales of layers near zero, which would hide what their branches compute, and scales and offsets of norms.

    Offsets of norms are positive, as most are in trained networks: without them a random network is chaotic, and
    magnifies each rounding by a fifth per layer (Yang et al., A mean field theory of batch normalization, 2019).
    """
    norms = {
        parameter
        for part in module.modules()
        if isinstance(part, torch.nn.modules.batchnorm._BatchNorm)
        for parameter in part.parameters(recurse=False)
    }
    for name, parameter in module.named_parameters():
        if parameter.numel() > 1 and parameter.min() != parameter.max():
            continue
        if name.endswith("bias"):
            low, high = (0.0, 1.0) if parameter in norms else (-0.1, 0.1)
            parameter.uniform_(low, high)
        elif parameter.dim() > 1 and parameter.numel() > max(parameter.shape):
            parameter.normal_(std=1 / math.sqrt(parameter[0].numel()))
        else:
            parameter.uniform_(0.5, 1.0)


def calibrate(module: torch.nn.Module, pictures: torch.Tensor) -> None:
    """Let batch normalisation take the statistics of some pictures, as training would, so that activations keep their
    size. The channels of a random network that hardly vary are not scaled up to the others, which would magnify
    rounding."""
    norms = [part for part in module.modules() if isinstance(part, torch.nn.modules.batchnorm._BatchNorm)]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # an average, not one that forgets
        norm.train()
    module(pictures)
    for norm in norms:
        norm.running_var.clamp_(min=float(norm.running_var.mean()) / 10)
    module.eval()


def _add_exact(folder: Path, module: torch.nn.Module, picture: torch.Tensor) -> None:
    """Add the outputs of the module in float64, which it then is, to a case, and say what it is."""
    with torch.no_grad():
        outputs = pytree.tree_leaves(module.double()(picture.double()))
    with np.load(folder / "io.npz") as arrays:
        kept = dict(arrays)
    np.savez(folder / "io.npz", **kept, **{f"exact/{i}": value.numpy() for i, value in enumerate(outputs)})
    package = timm if folder.name.startswith("timm") else torchvision
    case = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    case |= {"package": f"{package.__name__} {package.__version__}", "format": "torch.export"}
    (folder / "case.json").write_text(json.dumps(case), encoding="utf-8")


if __name__ == "__main__":
    main()
