"""Methods measured on a machine: what to measure, the processes that measure, and the records."""

from sateen.graph_ir.records import Record, Records
from sateen.graph_ir.tune.fleet import measure_all
from sateen.graph_ir.tune.measuring import Measurer, Timing
from sateen.graph_ir.tune.session_measurer import SessionMeasurer
from sateen.graph_ir.tune.tuning import Tuning, problems_of, tuning_of

__all__ = [
    "Measurer",
    "Record",
    "Records",
    "SessionMeasurer",
    "Timing",
    "Tuning",
    "measure_all",
    "problems_of",
    "tuning_of",
]
