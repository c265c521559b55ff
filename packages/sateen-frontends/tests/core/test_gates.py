"""Gates of recurrent layers in the graph's order."""

import numpy as np
import pytest

from sateen.frontends.core.gates import GRU, LSTM, gates_in_order
from sateen.runtime.errors import FrontendError


def test_blocks_move_as_their_letters_do():
    weights = np.repeat(np.arange(4), 2)  # two rows for each of i, f, c, o
    assert gates_in_order(weights, "ifco", LSTM).tolist() == [0, 0, 3, 3, 1, 1, 2, 2]
    columns = np.arange(3)[None]
    assert gates_in_order(columns, "rzh", GRU, axis=1).tolist() == [[1, 0, 2]]


def test_weights_of_other_blocks_are_refused():
    with pytest.raises(FrontendError, match=r"expected weights of 4 gates along axis 0, found \[6\]"):
        gates_in_order(np.zeros(6), "ifco", LSTM)
