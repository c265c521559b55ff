"""Functions of numbers, each one value: types, meaning, derivative, formulas, spelling per emitter."""

from sateen.tensor_ir.functions.function import LIBRARY, Lack, MathFunction
from sateen.tensor_ir.functions.table import FUNCTIONS, function_of, library_function

__all__ = ["FUNCTIONS", "LIBRARY", "Lack", "MathFunction", "function_of", "library_function"]
