"""From a graph to an artifact: `build`, and its single steps."""

from sateen.graph_ir.compile.device_meter import DeviceMeter
from sateen.graph_ir.compile.driver import PARAMETER_FORMS, build, lowered, network_target
from sateen.graph_ir.compile.lowered_network import LoweredNetwork, lower_network
from sateen.graph_ir.compile.parameters import bind_parameters
from sateen.graph_ir.compile.placement import NOWHERE, host_of, placing
from sateen.graph_ir.compile.steps import steps_of

__all__ = [
    "NOWHERE",
    "PARAMETER_FORMS",
    "DeviceMeter",
    "LoweredNetwork",
    "bind_parameters",
    "build",
    "host_of",
    "lower_network",
    "lowered",
    "network_target",
    "placing",
    "steps_of",
]
