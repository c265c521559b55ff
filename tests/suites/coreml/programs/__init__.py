"""Cases of ML programs, a file per family."""

from programs import (
    control,
    detection,
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
    control, detection, functions, normalization, places, products, recurrent, reductions, resizing,
    shapes, systems, weights, windows,
)  # fmt: skip
