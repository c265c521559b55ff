"""Cases of ML programs, a file per family."""

from programs import (
    functions,
    normalization,
    places,
    products,
    recurrent,
    reductions,
    resizing,
    shapes,
    systems,
    weights,
    windows,
)

FAMILIES = (
    functions, normalization, places, products, recurrent, reductions, resizing, shapes, systems, weights, windows,
)  # fmt: skip
