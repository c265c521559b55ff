"""Loads the text of a network within limits."""

from __future__ import annotations

from sateen.frontends.core.source import Limits, Source
from sateen.frontends.darknet.config import sections_of
from sateen.frontends.darknet.network import Network, network_of
from sateen.runtime.errors import FrontendError


def load_network(source: Source, limits: Limits) -> Network:
    """The network of a text. Raises FrontendError, which names file and layer, for any other."""
    try:
        return network_of(sections_of(source, limits), source.place)
    except FrontendError as error:
        raise FrontendError(f"{source.place}: {error}") from None
