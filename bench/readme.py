"""The table of networks in README.md, from docs/benchmarks.md: `nox -s bench -- readme`.

It has the times of one thread and our errors, on the machine that README speaks of. `bench/models.py` writes it, too,
when it has measured there.
"""

from __future__ import annotations

from pathlib import Path

from page import read_table, table

README = Path(__file__).parent.parent / "README.md"
MACHINE = "Zen 5"
"""The generation of processors in the table; the text around it names the machine."""
MARK = "<!-- speed -->"
NETWORKS = {
    "resnet18_v1": "ResNet-18",
    "resnet50_v1": "ResNet-50",
    "vgg16": "VGG-16",
    "inceptionv3": "Inception v3",
    "densenet121": "DenseNet-121",
    "squeezenet1.1": "SqueezeNet 1.1",
    "mobilenet1.0": "MobileNet v1",
    "mobilenetv2_1.0": "MobileNet v2",
    "efficientnet_b0": "EfficientNet-B0",
    "convnext_tiny": "ConvNeXt-Tiny",
    "swin_tiny": "Swin-Tiny",
    "vit_b16": "ViT-B/16",
    "bert_base_128": "BERT base, 128 tokens",
    "gpt2_64": "GPT-2, 64 tokens",
    "lstm_2x512_64": "LSTM, 2 layers of 512, 64 steps",
}
"""What README calls the files of models."""
ENGINES = {"sateen": "sateen", "onnxruntime": "onnxruntime", "openvino": "OpenVINO", "ncnn": "ncnn"}
"""What README calls the engines."""


def speed_table() -> str:
    """The table: milliseconds of each engine, and our error relative to the largest element."""
    times = {r["network"]: r for r in read_table("network times") if (r["machine"], r["threads"]) == (MACHINE, "1")}
    errors = {r["network"]: r["error"] for r in read_table("network costs") if r["machine"] == MACHINE}

    def row(name: str) -> list[str]:
        milliseconds = [_brief(times[name][f"{engine} ms"]) for engine in ENGINES]
        return [NETWORKS[name], *milliseconds, errors[name].partition(",")[0]]

    head, _, *body = table(["network", *ENGINES.values(), "error"], [row(name) for name in NETWORKS])
    return "\n".join([head, "|---|--:|--:|--:|--:|--:|", *body])


def write() -> None:
    """Replace README's table."""
    before, _, after = README.read_text(encoding="utf-8").split(MARK)
    README.write_text(f"{before}{MARK}\n{speed_table()}\n{MARK}{after}", encoding="utf-8")


def _brief(milliseconds: str) -> str:
    """Three digits of a time; nothing for an engine without one."""
    try:
        return f"{float(milliseconds):#.3g}".rstrip(".")
    except ValueError:
        return ""


if __name__ == "__main__":
    write()
