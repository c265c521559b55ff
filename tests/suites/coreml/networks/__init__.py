"""Cases of neural networks, a file per family."""

from networks import (
    blobs,
    borders,
    functions,
    normalization,
    places,
    products,
    recurrent,
    reductions,
    resizing,
    shapes,
    windows,
)

FAMILIES = (
    blobs, borders, functions, normalization, places, products, recurrent, reductions, resizing, shapes, windows,
)  # fmt: skip
