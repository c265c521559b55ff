"""From schedules to loop IR."""

from sateen.tensor_ir.lower.inline_stages import Inliner
from sateen.tensor_ir.lower.lower import lower
from sateen.tensor_ir.lower.pipelines import PASSES

__all__ = ["PASSES", "Inliner", "lower"]
