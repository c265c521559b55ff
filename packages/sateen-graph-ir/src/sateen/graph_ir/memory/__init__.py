"""The places of values: which are parts of others, which may overwrite others, and a plan of bytes for the rest."""

from sateen.graph_ir.memory.aliases import copy_early_outputs
from sateen.graph_ir.memory.overwriting import allow_overwriting
from sateen.graph_ir.memory.plan import HOST_ALIGNMENT, MemoryPlan, plan_memory
from sateen.graph_ir.memory.scratch import hoist_scratch
from sateen.graph_ir.memory.views import DEVICE_ALIGNMENT, Location, find_pieces, find_views, views_of

__all__ = [
    "DEVICE_ALIGNMENT",
    "HOST_ALIGNMENT",
    "Location",
    "MemoryPlan",
    "allow_overwriting",
    "copy_early_outputs",
    "find_pieces",
    "find_views",
    "hoist_scratch",
    "plan_memory",
    "views_of",
]
