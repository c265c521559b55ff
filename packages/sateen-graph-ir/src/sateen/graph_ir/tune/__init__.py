"""Methods measured on a machine: what is to be measured, by whom, and the records that remain."""

from sateen.graph_ir.tune.measuring import Comparison, Measurer, MeasuringProcess
from sateen.graph_ir.tune.records import Record, Records
from sateen.graph_ir.tune.tuning import Tuning, problems_of, tuning_of

__all__ = [
    "Comparison",
    "Measurer",
    "MeasuringProcess",
    "Record",
    "Records",
    "Tuning",
    "problems_of",
    "tuning_of",
]
