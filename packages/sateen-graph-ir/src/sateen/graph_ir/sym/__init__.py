"""Networks written as formulas, layer by layer, whose shapes follow later: the way of 2017.

    data = sym.Variable("data")
    net = sym.relu(sym.conv2d(data, channels=8, kernel_size=(3, 3), padding=(1, 1), name="conv1"))
    net = sym.softmax(sym.dense(sym.flatten(net), units=10))
    graph = sym.to_graph(net, {"data": (1, 3, 32, 32)})

Every function of `FUNCTIONS` is a name of this room: `sym.conv2d`. docs/operators-table.md lists them.
"""

from sateen.graph_ir.sym.conversion import to_graph
from sateen.graph_ir.sym.function import Function
from sateen.graph_ir.sym.json_form import load_json, save_json
from sateen.graph_ir.sym.net import Group, Net, Variable
from sateen.graph_ir.sym.table import FUNCTIONS

__all__ = ["FUNCTIONS", "Function", "Group", "Net", "Variable", "load_json", "save_json", "to_graph"]


def __getattr__(name: str) -> Function:
    """The function of networks of that name."""
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *FUNCTIONS})
