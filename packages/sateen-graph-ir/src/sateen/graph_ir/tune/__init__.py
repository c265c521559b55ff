"""Methods measured on a machine: what to measure, the processes that measure, and the records."""

from sateen.graph_ir.records import (
    BEGUN,
    Attempt,
    Comparison,
    Record,
    Records,
    ShippedRecords,
    installed_versions,
    machine_text,
    merged,
    pack,
)
from sateen.graph_ir.tune.allocation import Allocation
from sateen.graph_ir.tune.evolution import EvolutionarySearch
from sateen.graph_ir.tune.fleet import measure_all
from sateen.graph_ir.tune.gain import Gain
from sateen.graph_ir.tune.learnt import ModelSearch
from sateen.graph_ir.tune.log import TuningLog, is_log
from sateen.graph_ir.tune.measuring import Measurer, Timing
from sateen.graph_ir.tune.search import EstimateSearch, RandomSearch, Search
from sateen.graph_ir.tune.session_measurer import SessionMeasurer
from sateen.graph_ir.tune.tuning import Tuning, problems_of, tunings_of
from sateen.graph_ir.tune.verification import challenger, keep_what_gains, verified

__all__ = [
    "BEGUN",
    "Allocation",
    "Attempt",
    "Comparison",
    "EstimateSearch",
    "EvolutionarySearch",
    "Gain",
    "Measurer",
    "ModelSearch",
    "RandomSearch",
    "Record",
    "Records",
    "Search",
    "SessionMeasurer",
    "ShippedRecords",
    "Timing",
    "Tuning",
    "TuningLog",
    "challenger",
    "installed_versions",
    "is_log",
    "keep_what_gains",
    "machine_text",
    "measure_all",
    "merged",
    "pack",
    "problems_of",
    "tunings_of",
    "verified",
]
