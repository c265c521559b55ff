"""Cases of neural networks, a file per family."""

from networks import (
    blobs,
    borders,
    detection,
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
    blobs, borders, detection, functions, normalization, places, products, recurrent, reductions, resizing,
    shapes, windows,
)  # fmt: skip
