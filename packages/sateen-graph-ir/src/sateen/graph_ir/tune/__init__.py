"""Methods measured on a machine: what to measure, the processes that measure, and the records."""

from sateen.graph_ir.tune.measuring import Measurer, MeasuringProcess, Timing
from sateen.graph_ir.tune.records import Record, Records
from sateen.graph_ir.tune.tuning import Tuning, problems_of, tuning_of

__all__ = [
    "Measurer",
    "MeasuringProcess",
    "Record",
    "Records",
    "Timing",
    "Tuning",
    "problems_of",
    "tuning_of",
]
