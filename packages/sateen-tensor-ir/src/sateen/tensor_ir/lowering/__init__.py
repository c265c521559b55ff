"""From schedules to loop IR."""

from sateen.tensor_ir.lowering.from_schedule import lower
from sateen.tensor_ir.lowering.inline_stages import Inliner
from sateen.tensor_ir.lowering.pipelines import PASSES
from sateen.tensor_ir.lowering.serial_loops import serialize_loops
from sateen.tensor_ir.lowering.storage import is_on_stack

__all__ = ["PASSES", "Inliner", "is_on_stack", "lower", "serialize_loops"]
