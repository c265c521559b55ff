"""Weights in every form that the format has."""

import numpy as np
import pytest

from sateen.frontends.coreml.network.weights import array_of
from sateen.frontends.coreml.schemas import coreml_pb2 as schema
from sateen.runtime.errors import FrontendError

_NUMBERS = [0.5, -1.0, 2.0, 0.25, 4.0, -8.0]


def test_floats_of_both_widths():
    assert array_of(schema.Weights(floatValue=_NUMBERS), (2, 3), "w").tolist() == [_NUMBERS[:3], _NUMBERS[3:]]
    half = schema.Weights(float16Value=np.array(_NUMBERS, "<f2").tobytes())
    assert array_of(half, (6,), "w").tolist() == _NUMBERS


def test_codes_have_their_bits_from_the_highest_on_without_gaps():
    weights = schema.Weights(rawValue=bytes([0b00101001, 0b11001010]))  # 001 010 011 100 101 and a bit of padding
    weights.quantization.numberOfBits = 3
    weights.quantization.linearQuantization.scale.append(0.5)
    weights.quantization.linearQuantization.bias.append(1.0)
    assert array_of(weights, (5,), "w").tolist() == [1.5, 2.0, 2.5, 3.0, 3.5]


def test_scales_lie_along_the_channels():
    weights = schema.Weights(rawValue=bytes([1, 2, 3, 4]))
    weights.quantization.numberOfBits = 8
    weights.quantization.linearQuantization.scale.extend([1.0, 10.0])
    assert array_of(weights, (2, 2), "w").tolist() == [[1, 2], [30, 40]]
    assert array_of(weights, (2, 2), "w", channel_axis=1).tolist() == [[1, 20], [3, 40]]


def test_codes_are_places_in_a_table():
    weights = schema.Weights(rawValue=bytes([0b01101100]))
    weights.quantization.numberOfBits = 2
    weights.quantization.lookupTableQuantization.floatValue.extend([0, 1, 2, 7])
    assert array_of(weights, (2, 2), "w").tolist() == [[1, 2], [7, 0]]


def _raw(bits: int, data: bytes) -> schema.Weights:
    weights = schema.Weights(rawValue=data)
    weights.quantization.numberOfBits = bits
    weights.quantization.lookupTableQuantization.floatValue.extend([0.0] * 3)
    return weights


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (schema.Weights(), "w: expected data of shape [4] in one field, found none"),
        (
            schema.Weights(floatValue=_NUMBERS, float16Value=b"1234"),
            "w: expected data of shape [4] in one field, found floatValue and float16Value",
        ),
        (schema.Weights(floatValue=_NUMBERS), "w: expected 4 numbers, found 6"),
        (schema.Weights(float16Value=b"1234"), "w: expected 8 bytes, found 4"),
        (schema.Weights(rawValue=b"1234"), "w: expected 1 to 8 bits per number, found 0"),
        (_raw(9, b"1234"), "w: expected 1 to 8 bits per number, found 9"),
        (_raw(2, b"12"), "w: expected 1 bytes, found 2"),
        (_raw(2, b"1"), "w: expected a table of 4 numbers, found 3"),
    ],
)
def test_other_data_is_refused(weights, message):
    with pytest.raises(FrontendError) as caught:
        array_of(weights, (4,), "w")
    assert str(caught.value) == message


def test_a_huge_shape_takes_no_memory():
    with pytest.raises(FrontendError, match="expected 1208925819614629174706176 numbers, found 6"):
        array_of(schema.Weights(floatValue=_NUMBERS), (1 << 40, 1 << 40), "w")
