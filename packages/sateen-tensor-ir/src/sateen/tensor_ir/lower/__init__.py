"""From schedules to loop IR."""

from sateen.tensor_ir.lower.lower import PASSES, lower

__all__ = ["PASSES", "lower"]
