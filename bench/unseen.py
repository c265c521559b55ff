"""Networks that nothing was fitted to beside every opponent: `nox -s bench -- unseen [--models FOLDER] [--only NAME]`.

torchvision, timm and transformers make the networks, with seeded weights and a batch of one, and torch writes them as
ONNX (tests/suites/torch/unseen.py), in an environment of their own. `--models` names a folder of files that are
written already. They are measured as `bench -- models` measures networks; docs/benchmarks.md has tables for them alone.
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from models import measure

from sateen.frontends.onnx.peers import PEERS

WRITER = Path(__file__).parent.parent / "tests" / "suites" / "torch" / "unseen.py"


def main() -> None:
    """Write the networks and measure them."""
    parser = argparse.ArgumentParser(description=__doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--models", type=Path, metavar="FOLDER", help="where the ONNX files are")
    source.add_argument("--framework", metavar="PYTHON", help="an interpreter with torch, which writes them")
    parser.add_argument("--only", nargs="+", metavar="NAME", default=[], help="measure these; the default is all")
    parser.add_argument("--samples", type=int, default=10, help="of each engine in each run")
    given = parser.parse_args()
    for peer in PEERS:
        PEERS[peer].require()
    with TemporaryDirectory() as written:
        folder = given.models or Path(written)
        if given.framework:
            subprocess.run([given.framework, WRITER, folder, *given.only], check=True)
        files = {path.stem: path for path in sorted(folder.glob("*.onnx"))}
        names = given.only or list(files)
        if unknown := [name for name in names if name not in files]:
            parser.error(f"expected some of {', '.join(files)}; found {', '.join(unknown)}")
        measure([files[name] for name in names], given.samples, "default", "unseen")


if __name__ == "__main__":
    main()
