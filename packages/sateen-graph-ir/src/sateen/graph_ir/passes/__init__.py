"""Passes over graphs, a file each, by the name of its function; here are what runs them and the lists of them."""

from sateen.graph_ir.passes.choose_layouts import first_layouts
from sateen.graph_ir.passes.choose_methods import MOST_LOSS, Known, chosen_method, constant_of, nothing_known
from sateen.graph_ir.passes.fold_constants import choose_folded
from sateen.graph_ir.passes.fuse import separations
from sateen.graph_ir.passes.pipelines import default_pipeline, preparation
from sateen.graph_ir.passes.place_devices import Placed
from sateen.graph_ir.passes.precompute_parameters import is_worth_reading
from sateen.graph_ir.passes.runner import Observer, Pass, PassRun, Pipeline, pass_name, run_pipeline

__all__ = [
    "MOST_LOSS",
    "Known",
    "Observer",
    "Pass",
    "PassRun",
    "Pipeline",
    "Placed",
    "choose_folded",
    "chosen_method",
    "constant_of",
    "default_pipeline",
    "first_layouts",
    "is_worth_reading",
    "nothing_known",
    "pass_name",
    "preparation",
    "run_pipeline",
    "separations",
]
