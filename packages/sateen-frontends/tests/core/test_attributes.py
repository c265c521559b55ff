"""Attributes are read as the types that a converter asks for."""

import pytest

from sateen.frontends.core.attributes import Attributes
from sateen.runtime.errors import FrontendError

GIVEN = Attributes({"axis": 1, "alpha": 0.5, "mode": "edge", "flag": True, "pads": [1, 2], "none": None})


def test_attributes_have_their_types():
    assert (GIVEN.integer("axis"), GIVEN.number("axis"), GIVEN.number("alpha")) == (1, 1.0, 0.5)
    assert (GIVEN.text("mode"), GIVEN.flag("flag"), GIVEN.flag("absent")) == ("edge", True, False)
    assert (GIVEN.integers("pads"), GIVEN.optional_integers("none")) == ((1, 2), None)


@pytest.mark.parametrize(
    ("read", "name", "message"),
    [
        (Attributes.integer, "alpha", "expected an integer as attribute 'alpha', found 0.5"),
        (Attributes.integer, "absent", "expected attribute 'absent', found none"),
        (Attributes.number, "mode", "expected a number as attribute 'mode', found 'edge'"),
        (Attributes.text, "axis", "expected text as attribute 'mode'".replace("mode", "axis")),
        (Attributes.flag, "alpha", "expected 0 or 1 as attribute 'alpha', found 0.5"),
        (Attributes.integers, "mode", "expected integers as attribute 'mode', found 'edge'"),
    ],
)
def test_another_type_is_refused(read, name, message):
    with pytest.raises(FrontendError, match=message):
        read(GIVEN, name)
