"""From schedules to loop IR."""

from weft.tensor_ir.lower.lower import PASSES, lower

__all__ = ["PASSES", "lower"]
