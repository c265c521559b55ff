"""How each operator of torch becomes operators of sateen: a table per family.

A key is the name of an operator of ATen, perhaps with an overload, which then takes precedence; those of other
namespaces have theirs in front.
"""

from sateen.frontends.torch.converters.activations import ACTIVATION
from sateen.frontends.torch.converters.arithmetic import ARITHMETIC
from sateen.frontends.torch.converters.attention import ATTENTION
from sateen.frontends.torch.converters.blocks import BLOCKS
from sateen.frontends.torch.converters.creation import CREATION
from sateen.frontends.torch.converters.detection import DETECTION
from sateen.frontends.torch.converters.diagonals import DIAGONALS
from sateen.frontends.torch.converters.element_wise import ELEMENT_WISE
from sateen.frontends.torch.converters.gather import GATHER
from sateen.frontends.torch.converters.joins import JOINS
from sateen.frontends.torch.converters.logic import LOGIC
from sateen.frontends.torch.converters.losses import LOSSES
from sateen.frontends.torch.converters.normalization import NORMALIZATION
from sateen.frontends.torch.converters.numbers import NUMBERS
from sateen.frontends.torch.converters.pads import PADS
from sateen.frontends.torch.converters.permutation import PERMUTATION
from sateen.frontends.torch.converters.pooling import POOLING
from sateen.frontends.torch.converters.products import PRODUCTS
from sateen.frontends.torch.converters.quantization import QUANTIZATION
from sateen.frontends.torch.converters.recurrent import RECURRENT
from sateen.frontends.torch.converters.reductions import REDUCTIONS
from sateen.frontends.torch.converters.repetition import REPETITION
from sateen.frontends.torch.converters.resizing import RESIZING
from sateen.frontends.torch.converters.scatter import SCATTER
from sateen.frontends.torch.converters.shape import SHAPE
from sateen.frontends.torch.converters.slices import SLICES
from sateen.frontends.torch.converters.sorting import SORTING
from sateen.frontends.torch.converters.splits import SPLITS
from sateen.frontends.torch.converters.windows import WINDOWS
from sateen.frontends.torch.node import Converter

CONVERTERS: dict[str, Converter] = (
    ACTIVATION
    | ARITHMETIC
    | ATTENTION
    | BLOCKS
    | CREATION
    | DETECTION
    | DIAGONALS
    | ELEMENT_WISE
    | GATHER
    | JOINS
    | LOGIC
    | LOSSES
    | NORMALIZATION
    | NUMBERS
    | PADS
    | PERMUTATION
    | POOLING
    | PRODUCTS
    | QUANTIZATION
    | RECURRENT
    | REDUCTIONS
    | REPETITION
    | RESIZING
    | SCATTER
    | SHAPE
    | SLICES
    | SORTING
    | SPLITS
    | WINDOWS
)


def key_of(target: str) -> str | None:
    """The key of an operator such as `aten.add.Tensor`; None if there is no converter. In-place operators compute what
    the others do."""
    name = target.removeprefix("aten.").removesuffix(".default")
    operator, dot, overload = name.partition(".")
    for found in (name, operator, f"{operator.rstrip('_')}{dot}{overload}", operator.rstrip("_")):
        if found in CONVERTERS:
            return found
    return None
