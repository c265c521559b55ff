"""Lets Keras 3 and Keras 2 (tf_keras) make a model for each layer and option, with seeded weights, and run it.

    python make.py FOLDER [--only TEXT]

Each case of the tables in layers_cases.py and network_cases.py is saved in the formats of the versions that have its
layers: `.keras` and `.h5` of Keras 3, `.h5` of Keras 2, and an architecture with weights.
"""

from __future__ import annotations

import argparse
import json
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.update(
    KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3", TF_USE_LEGACY_KERAS="1", CUDA_VISIBLE_DEVICES=""
)

import keras
import numpy as np
import tf_keras
from architectures import ARCHITECTURES, calibrate, in_double, pictures
from cases import BOTH, NEW, OLD, Case

Save = Callable[[Any, Path], dict[str, str]]


def _keras(model: Any, folder: Path) -> dict[str, str]:
    model.save(folder / "model.keras")
    return {"model": "model.keras"}


def _h5(model: Any, folder: Path) -> dict[str, str]:
    model.save(folder / "model.h5")
    return {"model": "model.h5"}


def _pair(model: Any, folder: Path) -> dict[str, str]:
    (folder / "model.json").write_text(model.to_json(), encoding="utf-8")
    name = "model.weights.h5"
    model.save_weights(folder / name)
    return {"model": "model.json", "weights": name}


def variants() -> Iterator[tuple[str, Case, Any, Save]]:
    """Each case with the package that makes it, and how it is saved."""
    for name, case in {**BOTH, **NEW}.items():
        yield f"k3-{name}", case, keras, _keras
        if zlib.crc32(name.encode()) % 4 == 0:
            yield f"k3-h5-{name}", case, keras, _h5
        if zlib.crc32(name.encode()) % 12 == 1:
            yield f"k3-pair-{name}", case, keras, _pair
    for name, case in {**BOTH, **OLD}.items():
        yield f"k2-{name}", case, tf_keras, _h5
        if zlib.crc32(name.encode()) % 6 == 0:
            yield f"k2-keras-{name}", case, tf_keras, _keras
        if zlib.crc32(name.encode()) % 12 == 2:
            yield f"k2-pair-{name}", case, tf_keras, _pair
    for name, case in ARCHITECTURES.items():
        yield f"app-{name}", case, keras, _keras


def _spread(name: str, shape: tuple[int, ...], is_deep: bool) -> float:
    """The standard deviation of a variable."""
    if len(shape) < 2 or not is_deep:
        return 0.1 if is_deep else 0.3 if len(shape) < 3 else 1 / np.sqrt(np.prod(shape[:-1]))
    return np.sqrt(2 / np.prod(shape[:2] if "depthwise" in name else shape[:-1]))


def _randomised(model: Any, random: np.random.Generator) -> None:
    """Gives a model weights that show mistakes: no zeros and ones, variances above zero, and signals that neither grow
    nor vanish from layer to layer."""
    is_deep = len(model.layers) > 20
    values = []
    for variable, value in zip(model.weights, model.get_weights(), strict=True):
        if not np.issubdtype(value.dtype, np.floating):
            values.append(value)
        elif "variance" in variable.name:
            values.append(random.uniform(0.5, 1.5, value.shape).astype(value.dtype))
        elif "gamma" in variable.name and is_deep:
            values.append(random.uniform(0.8, 1.2, value.shape).astype(value.dtype))
        else:
            drawn = random.standard_normal(value.shape) * _spread(variable.name, value.shape, is_deep)
            values.append((drawn + (0 if is_deep else 0.05)).astype(value.dtype))
    model.set_weights(values)


def _write(folder: Path, case: Case, package: Any, save: Save) -> None:
    package.backend.clear_session()
    package.utils.set_random_seed(0)
    random = np.random.default_rng(zlib.crc32(folder.name.encode()))
    model = case.build(package)
    if case.is_randomised:
        _randomised(model, random)
    given = case.inputs(random)
    if case.is_architecture:
        several = pictures(case.shapes[0][1], random, case.low, case.high)
        calibrate(model, several, random)
        given = [several[:1]]
    found = model(given if len(given) > 1 else given[0], training=False)
    outputs = (
        list(found.values()) if isinstance(found, dict) else found if isinstance(found, (list, tuple)) else [found]
    )
    arrays = {f"in/{i}": array for i, array in enumerate(given)}
    arrays |= {f"out/{i}": np.asarray(one) for i, one in enumerate(outputs)}
    if case.is_architecture:
        arrays["exact/0"] = in_double(model, case, package, given[0])
    folder.mkdir(parents=True)
    np.savez(folder / "io.npz", **arrays)
    names = [tensor._keras_history[0].name for tensor in model.inputs]
    shapes = {name: list(array.shape) for name, array in zip(names, given, strict=True)}
    options = {"shapes": shapes, **case.options}
    origin = {"package": f"{package.__name__} {package.__version__}", "format": "Keras"} if case.is_architecture else {}
    text = json.dumps({**save(model, folder), "options": options, **case.judged, **origin})
    (folder / "case.json").write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    for name, case, package, save in variants():
        if given.only in name and not (given.folder / name).exists():
            try:
                _write(given.folder / name, case, package, save)
            except Exception as error:
                error.add_note(f"in case {name}")
                raise


if __name__ == "__main__":
    main()
