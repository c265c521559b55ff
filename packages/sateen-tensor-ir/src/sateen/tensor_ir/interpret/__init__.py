"""The oracles: `evaluate` gives tensors from their definition, and `run` executes loop IR with every access checked."""

from sateen.tensor_ir.interpret.loop_oracle import run
from sateen.tensor_ir.interpret.te_oracle import evaluate

__all__ = ["evaluate", "run"]
