"""The schedule of devices for computations without one of their own: a thread for each element."""

from __future__ import annotations

from sateen.tensor_ir import Machine, te


def schedule_by_element(s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
    """Fuse the data axes of each stage into one parallel loop; a thread computes an element and its whole reduction.

    Lowering of networks for devices spreads parallel loops over threads. Bodies of loops are as they are.
    """
    del output, machine
    for stage in s.stages:
        axes = [leaf for leaf in stage.leaves if leaf in set(stage.axes)]
        if stage.op.body and not stage.inlined and stage.attach is None and axes:
            stage.parallel(stage.fuse(*axes))
