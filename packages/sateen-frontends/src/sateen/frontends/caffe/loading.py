"""Loads the text of a network within limits."""

from __future__ import annotations

from sateen.frontends.caffe.network import Network, network_of
from sateen.frontends.caffe.text_format import parsed
from sateen.frontends.core.source import Limits, Source
from sateen.runtime.errors import FrontendError

MOST_TEXT_BYTES = 1 << 26
"""The most bytes of a text; networks of a thousand layers have less than one in a hundred of them."""


def load_network(source: Source, limits: Limits) -> Network:
    """The network of a text. Raises FrontendError, which names the file, for any other."""
    if len(source.data) > MOST_TEXT_BYTES:
        raise FrontendError(
            f"{source.place}: expected at most {MOST_TEXT_BYTES} bytes of text, found {len(source.data)}"
        )
    try:
        return network_of(parsed(source.data.decode("utf-8-sig"), limits.nesting), limits)
    except UnicodeDecodeError as error:
        raise FrontendError(f"{source.place}: expected text in UTF-8, found byte {error.start} that is not") from None
    except FrontendError as error:
        raise FrontendError(f"{source.place}: {error}") from None
