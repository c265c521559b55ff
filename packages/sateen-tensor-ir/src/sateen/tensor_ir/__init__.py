"""The tensor compiler of sateen: tensor expressions, schedules, loop IR, code generators.

`te` says what to compute, as do scripts of `hybrid`; a schedule says how. `lower` shows the loops, `build` compiles
them.
"""

from sateen.tensor_ir import hybrid, te
from sateen.tensor_ir.codegen.object_cache import ObjectCache
from sateen.tensor_ir.compile import build, build_functions
from sateen.tensor_ir.compiled_module import CompiledModule
from sateen.tensor_ir.explanation import Explanation, explain
from sateen.tensor_ir.lowering import PASSES, lower
from sateen.tensor_ir.lowering.expand_calls import DEFAULT_RULES, IntrinsicRules
from sateen.tensor_ir.machine_meter import MachineMeter, MeasuredMachine
from sateen.tensor_ir.peak import PeakMeter
from sateen.tensor_ir.targets import Machine
from sateen.tensor_ir.te.json_reader import load_json
from sateen.tensor_ir.te.json_writer import save_json
from sateen.tensor_ir.version import __version__

__all__ = [
    "DEFAULT_RULES",
    "PASSES",
    "CompiledModule",
    "Explanation",
    "IntrinsicRules",
    "Machine",
    "MachineMeter",
    "MeasuredMachine",
    "ObjectCache",
    "PeakMeter",
    "__version__",
    "build",
    "build_functions",
    "explain",
    "hybrid",
    "load_json",
    "lower",
    "save_json",
    "te",
]
