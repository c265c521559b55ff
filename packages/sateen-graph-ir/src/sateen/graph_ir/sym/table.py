"""All functions of networks."""

from sateen.graph_ir.sym import detection, elements, layers, shapes
from sateen.graph_ir.sym.function import Function

FUNCTIONS: dict[str, Function] = {
    function.name: function
    for function in (*layers.FUNCTIONS, *elements.FUNCTIONS, *shapes.FUNCTIONS, *detection.FUNCTIONS)
}
"""By the name that nodes and JSON have."""
