"""Writes programs of whole architectures of torchvision and timm with seeded weights, and what torch computes.

    python architectures.py FOLDER [NAME …]

This needs torchvision and timm, which the suite of operators does not.
"""

from __future__ import annotations

import copy
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

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
    "beit_base_patch16_224": 224, "cait_xxs24_224": 224, "convmixer_768_32": 64, "crossvit_tiny_240": 240,
    "darknet53": 64, "deit_tiny_patch16_224": 224, "edgenext_xx_small": 64, "efficientformer_l1": 224,
    "ghostnet_050": 64,
    "gmixer_24_224": 224, "hrnet_w18_small": 64, "levit_128s": 224, "mixer_s32_224": 224, "mobilevit_xxs": 64,
    "nfnet_f0": 64, "pit_ti_224": 224, "poolformer_s12": 64, "repvgg_a0": 64, "resmlp_12_224": 224, "tinynet_e": 64,
    "xcit_nano_12_p16_224": 224,
}  # fmt: skip


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
        picture = torch.randn(1, 3, side, side)
        with torch.no_grad():  # statistics that keep the size of activations
            _calibrate(module, picture)
        try:
            write(root / name, module, (picture,), core=False, tolerance=_tolerance(module, picture))
        except Exception as error:  # noqa: BLE001  # what torch can't export is no case
            print(f"not exported: {name}: {str(error).splitlines()[0]}")  # noqa: T201


def _torchvision(name: str) -> torch.nn.Module:
    options = {"weights_backbone": None} if name.startswith(("deeplab", "fcn")) else {}
    extra = {"init_weights": True} if name in {"googlenet", "inception_v3"} else {}
    found: torch.nn.Module = torchvision.models.get_model(name, weights=None, **options, **extra)
    return found


def _tolerance(module: torch.nn.Module, picture: torch.Tensor) -> float:
    """The usual tolerance, or ten times how far torch's float32 is from its float64: depths of random weights magnify
    every rounding."""
    with torch.no_grad():
        single, double = (
            torch.cat([leaf.double().ravel() for leaf in pytree.tree_leaves(one(given))])
            for one, given in ((module, picture), (copy.deepcopy(module).double(), picture.double()))
        )
    largest = float(double.abs().max())
    return max(1e-4, 10 * float((single - double).abs().max()) / largest) if largest else 1e-4


def _calibrate(module: torch.nn.Module, picture: torch.Tensor) -> None:
    """Let batch normalisation take the statistics of some pictures, as training would."""
    for norm in module.modules():
        if isinstance(norm, torch.nn.modules.batchnorm._BatchNorm):
            norm.train()
            norm.momentum = 1.0
    module(torch.cat([picture, torch.randn(7, *picture.shape[1:])]))
    module.eval()


if __name__ == "__main__":
    main()
