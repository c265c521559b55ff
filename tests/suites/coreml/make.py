"""Builds a CoreML model per layer, operation and option with coremltools, and computes what the specification says.

    python make.py FOLDER

Core ML runs on Apple's systems only, so that NumPy and PyTorch judge, by the formulas of NeuralNetwork.proto and of the
operations' documentation in coremltools.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import estimators
import networks
import numpy as np
import programs


def main() -> None:
    cases = [case for family in (*estimators.FAMILIES, *networks.FAMILIES, *programs.FAMILIES) for case in family.CASES]
    for case in cases:
        folder = Path(sys.argv[1]) / case.name
        folder.mkdir(parents=True)
        model = case.save(folder)
        arrays = {f"in/{name}": data for name, data in case.inputs.items()}
        arrays |= {f"out/{i}": np.asarray(data) for i, data in enumerate(case.expected)}
        np.savez(folder / "io.npz", **arrays)
        (folder / "case.json").write_text(json.dumps({"model": model, **case.settings}), encoding="utf-8")
    sys.stdout.write(f"{len(cases)} cases\n")


if __name__ == "__main__":
    main()
