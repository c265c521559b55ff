"""Writes ONNX files of architectures that nothing in sateen was fitted to, with seeded weights.

    python unseen.py FOLDER [NAME …]

This needs the packages of `unseen.txt`. `nox -s bench -- unseen` measures the files beside other engines.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import timm
import torch
import torchvision
import transformers
from architectures import calibrate, draw, seeded_pictures

TORCHVISION = ("efficientnet_v2_s", "mnasnet1_0", "mobilenet_v3_large", "regnet_x_800mf", "shufflenet_v2_x1_0")
TIMM = (
    "convnextv2_atto", "deit3_small_patch16_224", "dla34", "ghostnet_100", "hrnet_w18_small",
    "mobilevit_s", "poolformer_s12", "res2net50_26w_4s", "resnext50_32x4d", "swinv2_tiny_window8_256",
    "vit_tiny_patch16_224", "xception41",
)  # fmt: skip
SIDES = {"mobilevit_s": 256, "swinv2_tiny_window8_256": 256, "xception41": 299}
"""The sides of pictures that are not of 224 pixels."""
TOKENS = 128
"""The length of a text."""
OPSET = 18


def main() -> None:
    warnings.simplefilter("ignore")
    folder, wanted = Path(sys.argv[1]), set(sys.argv[2:])
    folder.mkdir(parents=True, exist_ok=True)
    makers: dict[str, Callable[[], tuple[torch.nn.Module, tuple[torch.Tensor, ...]]]] = {
        **{name: lambda n=name: _of_pictures(torchvision.models.get_model(n, weights=None), n) for name in TORCHVISION},
        **{name: lambda n=name: _of_pictures(timm.create_model(n), n) for name in TIMM},
        "distilbert": _distilbert, "minilm_l6": _minilm, "t5_small_encoder": _t5, "whisper_tiny_encoder": _whisper,
    }  # fmt: skip
    if unknown := wanted - set(makers):
        raise SystemExit(f"expected some of {', '.join(makers)}; found {', '.join(sorted(unknown))}")
    for name, make in makers.items():
        if not wanted or name in wanted:
            torch.manual_seed(0)
            module, inputs = make()
            with torch.no_grad():
                torch.onnx.export(
                    module, inputs, str(folder / f"{name}.onnx"), opset_version=OPSET, dynamo=True,
                    external_data=False, verbose=False,
                )  # fmt: skip


def _of_pictures(module: torch.nn.Module, name: str) -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    """A classifier of pictures, whose layers keep the size of activations."""
    module.eval()
    pictures = seeded_pictures(SIDES.get(name, 224))
    with torch.no_grad():
        draw(module)
        calibrate(module, pictures)
    return module, (pictures[:1],)


class _Encoder(torch.nn.Module):
    """The last hidden state of an encoder, which takes tokens or features alone."""

    def __init__(self, encoder: torch.nn.Module) -> None:
        super().__init__()
        self.encoder = encoder.eval()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.encoder(x)[0]


def _text(encoder: torch.nn.Module) -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    return _Encoder(encoder), (torch.randint(1, 1000, (1, TOKENS)),)


def _distilbert() -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    return _text(transformers.DistilBertModel(transformers.DistilBertConfig(attn_implementation="eager")))


def _minilm() -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    """The sizes of all-MiniLM-L6-v2."""
    config = transformers.BertConfig(
        hidden_size=384, num_hidden_layers=6, intermediate_size=1536, attn_implementation="eager"
    )
    return _text(transformers.BertModel(config, add_pooling_layer=False))


def _t5() -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    return _text(transformers.T5EncoderModel(transformers.T5Config()))


def _whisper() -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    """The sizes of whisper-tiny, on ten seconds of sound."""
    config = transformers.WhisperConfig(
        d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536, max_source_positions=500,
        decoder_layers=1, attn_implementation="eager",
    )  # fmt: skip
    encoder = transformers.WhisperModel(config).get_encoder()
    return _Encoder(encoder), (torch.randn(1, config.num_mel_bins, 1000),)


if __name__ == "__main__":
    main()
