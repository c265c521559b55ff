"""Models of MXNet 1.9, one per layer and option, with seeded weights, and what MXNet computes with them.

    python make.py FOLDER [--only TEXT]

runs where MXNet is installed. tests/suites/judge.py tells what FOLDER holds.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

np.bool = np.bool_  # MXNet 1.9 names types that NumPy dropped

import mxnet as mx  # noqa: E402
from cases import CASES  # noqa: E402
from networks import NETWORKS  # noqa: E402

CPU = mx.cpu()


def weights_of(symbol, inputs, random):
    """Random data of the arguments and auxiliary states that are not inputs."""
    shapes, _, states = symbol.infer_shape(**{name: data.shape for name, data in inputs.items()})
    types, _, _ = symbol.infer_type(**{name: data.dtype for name, data in inputs.items()})
    arguments = {
        name: filled(name, shape, random, dtype)
        for name, shape, dtype in zip(symbol.list_arguments(), shapes, types, strict=True)
        if name not in inputs and not name.endswith("label")
    }
    names = symbol.list_auxiliary_states()
    return arguments, {name: filled(name, shape, random, np.float32) for name, shape in zip(names, states, strict=True)}


def filled(name, shape, random, dtype):
    """Variances and factors are about 1, others small."""
    data = random.normal(0, 0.5, shape)
    near_one = name.endswith(("var", "gamma"))
    return mx.nd.array(np.abs(data) + 0.5 if near_one else data, dtype=dtype)


def run(symbol, inputs, arguments, states):
    given = {name: mx.nd.array(data, dtype=data.dtype) for name, data in inputs.items()}
    for name in symbol.list_arguments():
        if name.endswith("label") and name not in given:  # of a loss: inference does not read it
            given[name] = mx.nd.zeros(1)
    partial, _, _ = symbol.infer_shape_partial(**{name: data.shape for name, data in inputs.items()})
    shapes = dict(zip(symbol.list_arguments(), partial, strict=True))
    for name in [name for name in given if name not in inputs]:
        given[name] = mx.nd.zeros(shapes[name])
    executor = symbol.bind(CPU, {**given, **arguments}, aux_states=states, grad_req="null")
    return [output.asnumpy() for output in executor.forward(is_train=False)]


def write(folder, symbol, inputs, arguments, states):
    folder.mkdir(parents=True)
    outputs = run(symbol, inputs, arguments, states)
    symbol.save(str(folder / "net-symbol.json"))
    case = {"model": "net-symbol.json", "options": {"shapes": {name: list(d.shape) for name, d in inputs.items()}}}
    if arguments or states:
        data = {f"arg:{name}": value for name, value in arguments.items()}
        data.update({f"aux:{name}": value for name, value in states.items()})
        mx.nd.save(str(folder / "net-0000.params"), data)
        case["weights"] = "net-0000.params"
    arrays = {f"in/{name}": data for name, data in inputs.items()}
    arrays.update({f"out/{name}": data for name, data in zip(symbol.list_outputs(), outputs, strict=True)})
    np.savez(folder / "io.npz", **arrays)
    (folder / "case.json").write_text(json.dumps(case))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="make cases with this text in their names")
    options = parser.parse_args()
    failed = 0
    for name, build in {**CASES, **NETWORKS}.items():
        if options.only not in name:
            continue
        mx.random.seed(1)
        random = np.random.RandomState(len(name))
        try:
            with mx.name.NameManager(), mx.util.np_shape(name.startswith("np_")):  # shapes may be ()
                symbol, inputs, *given = build(random)
                arguments, states = given[0] if given else weights_of(symbol, inputs, random)
                write(options.folder / name, symbol, inputs, arguments, states)
        except Exception as error:  # noqa: BLE001  # MXNet's own, of a case that it can't run
            failed += 1
            sys.stdout.write(f"not made: {name}: {str(error).splitlines()[0][:160]}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
