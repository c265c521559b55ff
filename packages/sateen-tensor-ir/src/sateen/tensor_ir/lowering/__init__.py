"""From schedules to loop IR."""

from sateen.tensor_ir.lowering.from_schedule import lower
from sateen.tensor_ir.lowering.inline_stages import Inliner
from sateen.tensor_ir.lowering.pipelines import PASSES
from sateen.tensor_ir.lowering.serial_loops import serialize_loops
from sateen.tensor_ir.lowering.split_host_device import DeviceProgram
from sateen.tensor_ir.lowering.storage import is_on_stack
from sateen.tensor_ir.lowering.thread_loops import spread_over_threads

__all__ = ["PASSES", "DeviceProgram", "Inliner", "is_on_stack", "lower", "serialize_loops", "spread_over_threads"]
