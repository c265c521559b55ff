"""Recurrent layers: LSTM, GRU and the simple RNN, as ONNX defines them.

One matrix product computes the part of the input in all time steps. The recurrence is a loop over time with a product
of the batch's states and the recurrent weights, and each cell's update, in vectors along the hidden dimension.
"""

from sateen.topi.computations.recurrent.activations import ACTIVATIONS, Activation
from sateen.topi.computations.recurrent.cells import gru, lstm, rnn
from sateen.topi.computations.recurrent.methods import GateTiles, recurrent_candidates
from sateen.topi.computations.recurrent.operands import Inputs, Settings, weight_layout

__all__ = [
    "ACTIVATIONS",
    "Activation",
    "GateTiles",
    "Inputs",
    "Settings",
    "gru",
    "lstm",
    "recurrent_candidates",
    "rnn",
    "weight_layout",
]
