"""The passes that `build` runs before fusion."""

from __future__ import annotations

from functools import partial

from sateen.graph_ir.passes.choose_layouts import choose_layouts
from sateen.graph_ir.passes.choose_methods import Known, choose_methods, nothing_known
from sateen.graph_ir.passes.fold_constants import fold_constants
from sateen.graph_ir.passes.fold_scale_axis import fold_scale_axis
from sateen.graph_ir.passes.fuse_attention import fuse_attention
from sateen.graph_ir.passes.fuse_normalizations import fuse_normalizations
from sateen.graph_ir.passes.infer_types import infer_types
from sateen.graph_ir.passes.join_moves import join_moves
from sateen.graph_ir.passes.move_pools_up import move_pools_up
from sateen.graph_ir.passes.move_reshapes_up import move_reshapes_up
from sateen.graph_ir.passes.move_strides_up import move_strides_up
from sateen.graph_ir.passes.optimise_bodies import optimise_bodies
from sateen.graph_ir.passes.pool_in_convolutions import pool_in_convolutions
from sateen.graph_ir.passes.precompute_parameters import precompute_parameters
from sateen.graph_ir.passes.remove_dead_nodes import remove_dead_nodes
from sateen.graph_ir.passes.reorder_parameters import reorder_parameters
from sateen.graph_ir.passes.runner import Pass, Pipeline
from sateen.graph_ir.passes.separate_concat_inputs import separate_concat_inputs
from sateen.graph_ir.passes.share_equal_nodes import share_equal_nodes
from sateen.graph_ir.passes.share_parameters import share_parameters
from sateen.graph_ir.passes.simplify import simplify
from sateen.graph_ir.passes.simplify_inference import simplify_inference
from sateen.graph_ir.passes.sink_transposes import sink_transposes
from sateen.graph_ir.passes.split_products import split_products
from sateen.graph_ir.passes.widen_short_floats import widen_short_floats
from sateen.runtime import ArgumentError, Target
from sateen.tensor_ir import Machine
from sateen.topi.methods import NUMERICS


def default_pipeline(
    target: Target,
    numerics: str = "default",
    known: Known = nothing_known,
    target_host: Target | None = None,
    machine: Machine | None = None,
    parameters: str = "packed",
) -> Pipeline:
    """The passes that `build` runs before fusion, for a device with parts of the network on a host.

    `known` gives the measured methods (Records.best); `machine` is what estimates ask, by default that of the target.
    `parameters` trained leaves nodes that give parameters a form of more bytes; those in bodies of control nodes are
    evaluated anyway. Raises ArgumentError for unknown numerics.
    """
    machine = Machine.of(target, target_host) if machine is None else machine
    before: Pipeline = (
        *_before_methods(numerics, machine),
        partial(choose_methods, machine=machine, numerics=numerics, known=known),
        pool_in_convolutions,
    )

    def after(*store: Pass) -> Pipeline:
        return (partial(choose_layouts, machine=machine), *store, remove_dead_nodes, separate_concat_inputs)

    bodies = partial(optimise_bodies, before=before, after=after(precompute_parameters))
    stored = (share_parameters, reorder_parameters) if parameters == "trained" else (precompute_parameters,)
    return (*before, bodies, *after(*stored))


def preparation(machine: Machine, numerics: str = "default") -> Pipeline:
    """The passes that run before the choice of methods, also in bodies of control nodes."""
    before = _before_methods(numerics, machine)
    return (*before, partial(optimise_bodies, before=before, after=()))


def _before_methods(numerics: str, machine: Machine) -> Pipeline:
    if numerics not in NUMERICS:
        raise ArgumentError(f"expected numerics {', '.join(NUMERICS[:-1])} or {NUMERICS[-1]}, found {numerics!r}")
    return (
        infer_types,
        simplify_inference,
        fold_constants,
        sink_transposes,
        simplify,
        remove_dead_nodes,
        fold_scale_axis,
        move_strides_up,
        move_reshapes_up,
        split_products,
        join_moves,
        *(() if numerics == "strict" else (move_pools_up,)),
        share_equal_nodes,
        *(() if numerics == "strict" else (fuse_normalizations, fuse_attention)),
        remove_dead_nodes,
        *(() if numerics == "strict" else (partial(widen_short_floats, machine=machine),)),
    )
