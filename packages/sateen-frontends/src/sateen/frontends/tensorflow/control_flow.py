"""Loops and choices: those that are decided while the network runs become operators whose bodies are graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sateen.frontends.core.bodies import Bodies
from sateen.frontends.core.operands import Operand
from sateen.frontends.tensorflow.node import TensorflowNode
from sateen.frontends.tensorflow.operation import Operation

CONTROL_FLOW: Mapping[str, Callable[[TensorflowNode, Bodies[Operation]], Sequence[Operand] | None]] = {}
